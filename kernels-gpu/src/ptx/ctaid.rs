//! The CTA's place in the grid (PTX ISA, "Special Registers: %ctaid"), read where it is used.

/// The CTA's index along y, read from its special register at each call. The compiler would read it once, and keep it
/// from the start of a kernel to its end in a register of which the loop in between is short.
#[inline(always)]
pub fn y() -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let y: u32;
        // SAFETY: reads a register. Not `pure`: two calls are not made one.
        unsafe { core::arch::asm!("mov.u32 {}, %ctaid.y;", out(reg32) y, options(nomem, nostack, preserves_flags)) };
        y
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_std::thread::block_idx_y()
}
