//! `cvt` between binary32 and binary16, bfloat16 or FP8 (PTX ISA, "Data Movement and Conversion Instructions: cvt").

use half::{bf16, f16};
use tilewright_contract::Fp8;

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
        [f16::from_bits(bits as u16), f16::from_bits((bits >> 16) as u16)]
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
        [bf16::from_bits(bits as u16), bf16::from_bits((bits >> 16) as u16)]
    }
    #[cfg(not(target_arch = "nvptx64"))]
    [first, second].map(bf16::from_f32)
}

/// `cvt.rn.satfinite.e4m3x2.f32` or its like for e5m2: two numbers to nearest, ties to even; those beyond the largest
/// of the format to that one, an infinity too; NaN stays NaN. The first is in the lower byte, the upper 16 bits are 0.
/// Exists from `sm_89` on.
#[inline(always)]
pub fn f32_to_fp8x2(format: Fp8, [first, second]: [f32; 2]) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        macro_rules! cvt {
            ($format:literal) => {{
                let bits: u16;
                // SAFETY: reads two registers, writes one register.
                unsafe {
                    core::arch::asm!(
                        concat!("cvt.rn.satfinite.", $format, "x2.f32 {}, {}, {};"),
                        out(reg16) bits,
                        in(reg32) second,
                        in(reg32) first,
                        options(pure, nomem, nostack),
                    );
                }
                u32::from(bits)
            }};
        }
        match format {
            Fp8::E4m3 => cvt!("e4m3"),
            Fp8::E5m2 => cvt!("e5m2"),
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let [first, second] = [first, second].map(|value| u32::from(nearest_fp8(format, value)));
        first | second << 8
    }
}

/// The bits of the nearest element of a format, as the instruction rounds.
#[cfg(not(target_arch = "nvptx64"))]
fn nearest_fp8(format: Fp8, value: f32) -> u8 {
    let (fraction_bits, bias) = match format {
        Fp8::E4m3 => (3, 7),
        Fp8::E5m2 => (2, 15),
    };
    if value.is_nan() {
        return 0x7f;
    }
    let magnitude = value.abs().min(format.largest());
    // A subnormal number has the smallest exponent.
    let exponent = ((magnitude.to_bits() >> 23) as i32 - 127).max(1 - bias);
    // Units in the last place: both factors and the product are exact.
    let unit = f64::from_bits(((1023 + fraction_bits - exponent) as u64) << 52);
    let units = f64::from(magnitude) * unit;
    let (below, rest) = (units as u32, units - f64::from(units as u32));
    let nearest = below + u32::from(rest > 0.5 || rest == 0.5 && below % 2 == 1);
    // The leading bit of a normal number adds 1 to the exponent's field, as a carry does.
    let bits = (((exponent + bias - 1) as u32) << fraction_bits) + nearest;
    bits as u8 | (value.to_bits() >> 24) as u8 & 0x80
}
