//! Values that LLVM cannot see through and `ptxas` can (PTX ISA, "Data Movement and Conversion Instructions: mov").

/// 0. An address that it is added to loses what LLVM knows of its alignment.
///
/// LLVM joins neighbouring loads into one vector load wherever the alignment allows. `ptxas` does so too, but after it
/// has scheduled the scalar loads, which can be the better order (see `tiled_dynamic`).
#[inline(always)]
pub fn zero() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let zero: u32;
        // SAFETY: writes one register.
        unsafe { core::arch::asm!("mov.b32 {}, 0;", out(reg32) zero, options(pure, nomem, nostack)) };
        zero
    }
    #[cfg(not(target_arch = "nvptx64"))]
    0
}

/// `value`, of which LLVM knows nothing, and something else at each call: what is computed from it is not moved out of
/// a loop that has the call.
#[inline(always)]
pub fn hidden(value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let hidden: u32;
        // SAFETY: copies one register.
        unsafe { core::arch::asm!("mov.b32 {}, {};", out(reg32) hidden, in(reg32) value, options(nomem, nostack)) };
        hidden
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value
}
