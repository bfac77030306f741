//! `cvt` between binary16 and binary32 (PTX ISA, "Data Movement and Conversion Instructions: cvt").

use half::f16;

/// `cvt.f32.f16`: exact.
#[inline(always)]
pub fn f16_to_f32(value: f16) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let widened: f32;
        // SAFETY: reads one register, writes one register.
        unsafe {
            core::arch::asm!("cvt.f32.f16 {}, {};", out(reg32) widened, in(reg16) value.to_bits(), options(pure, nomem, nostack));
        }
        widened
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value.to_f32()
}

/// `cvt.rn.f16.f32`: to nearest, ties to even; beyond 65504 (by half a unit) to infinity.
#[inline(always)]
pub fn f32_to_f16(value: f32) -> f16 {
    #[cfg(target_arch = "nvptx64")]
    {
        let bits: u16;
        // SAFETY: reads one register, writes one register.
        unsafe {
            core::arch::asm!("cvt.rn.f16.f32 {}, {};", out(reg16) bits, in(reg32) value, options(pure, nomem, nostack));
        }
        f16::from_bits(bits)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    f16::from_f32(value)
}
