//! `ex2.approx` and `rcp.approx` (PTX ISA, "Floating Point Instructions: ex2, rcp"): one instruction each, on the host
//! the accurate function in their place.

/// `ex2.approx.ftz.f32`: 2 to the power of `x`, wrong by at most 2 units in the last place. A subnormal result is 0.
#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let power: f32;
        // SAFETY: reads one register, writes one register.
        unsafe {
            core::arch::asm!(
                "ex2.approx.ftz.f32 {}, {};",
                out(reg32) power,
                in(reg32) x,
                options(pure, nomem, nostack),
            );
        }
        power
    }
    #[cfg(not(target_arch = "nvptx64"))]
    cuda_std::GpuFloat::exp2(x)
}

/// `rcp.approx.ftz.f32`: `1 / x`, wrong by at most 1 unit in the last place. A subnormal result is 0, an infinity's,
/// too.
#[inline(always)]
pub fn reciprocal(x: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let quotient: f32;
        // SAFETY: reads one register, writes one register.
        unsafe {
            core::arch::asm!(
                "rcp.approx.ftz.f32 {}, {};",
                out(reg32) quotient,
                in(reg32) x,
                options(pure, nomem, nostack),
            );
        }
        quotient
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        1.0 / x
    }
}
