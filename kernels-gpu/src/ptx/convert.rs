//! `cvt` between binary32 and binary16 or bfloat16 (PTX ISA, "Data Movement and Conversion Instructions: cvt").

use half::{bf16, f16};

/// `cvt.f32.f16`: exact.
#[inline(always)]
pub fn f16_to_f32(value: f16) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let widened: f32;
        // SAFETY: reads one register, writes one register.
        unsafe {
            core::arch::asm!(
                "cvt.f32.f16 {}, {};",
                out(reg32) widened,
                in(reg16) value.to_bits(),
                options(pure, nomem, nostack),
            );
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

/// `cvt.rn.f16x2.f32`: two numbers as by [`f32_to_f16`], in one instruction. Exists from `sm_80` on.
#[inline(always)]
pub fn f32_to_f16x2([first, second]: [f32; 2]) -> [f16; 2] {
    #[cfg(target_arch = "nvptx64")]
    {
        let bits: u32;
        // SAFETY: reads two registers, writes one register.
        unsafe {
            core::arch::asm!(
                "cvt.rn.f16x2.f32 {}, {}, {};",
                out(reg32) bits,
                in(reg32) second,
                in(reg32) first,
                options(pure, nomem, nostack),
            );
        }
        [bits as u16, (bits >> 16) as u16].map(f16::from_bits)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    [first, second].map(f16::from_f32)
}

/// `cvt.rn.bf16x2.f32`: two numbers to nearest, ties to even, in one instruction. Exists from `sm_80` on.
#[inline(always)]
pub fn f32_to_bf16x2([first, second]: [f32; 2]) -> [bf16; 2] {
    #[cfg(target_arch = "nvptx64")]
    {
        let bits: u32;
        // SAFETY: reads two registers, writes one register.
        unsafe {
            core::arch::asm!(
                "cvt.rn.bf16x2.f32 {}, {}, {};",
                out(reg32) bits,
                in(reg32) second,
                in(reg32) first,
                options(pure, nomem, nostack),
            );
        }
        [bits as u16, (bits >> 16) as u16].map(bf16::from_bits)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    [first, second].map(bf16::from_f32)
}
