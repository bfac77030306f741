//! `fma` (PTX ISA, "Floating Point Instructions: fma").

/// `sum += a * b`, rounded once, to nearest.
///
/// Where the products of a tile are many, their order decides the speed: `ptxas` allocates registers and keeps operands
/// in the reuse cache along the order that it finds, and LLVM would change that order. An `asm` that is not `pure`
/// stays where it stands.
#[inline(always)]
pub fn fma(sum: &mut f32, a: f32, b: f32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: reads three registers, writes one.
    unsafe {
        core::arch::asm!(
            "fma.rn.f32 {sum}, {a}, {b}, {sum};",
            sum = inout(reg32) *sum,
            a = in(reg32) a,
            b = in(reg32) b,
            options(nomem, nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        *sum = cuda_std::GpuFloat::mul_add(a, b, *sum);
    }
}
