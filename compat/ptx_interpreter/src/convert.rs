//! `cvt` between all types.

use crate::float::flush_f32;
use crate::soft_float;
use crate::types::{Rounding, Type};

/// A conversion with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conversion {
    pub to: Type,
    pub from: Type,
    pub rounding: Rounding,
    /// `.rni` and its like: to an integer, or to an integral number.
    pub integral: bool,
    pub ftz: bool,
    pub sat: bool,
    pub relu: bool,
}

/// Converts the bits of a value.
pub(crate) fn convert(conversion: Conversion, bits: u64) -> u64 {
    let Conversion { to, from, .. } = conversion;
    match (from.is_float(), to.is_float()) {
        (false, false) => between_integers(conversion, bits),
        (false, true) => {
            let value = from.extend(bits);
            let value = if from.is_signed() {
                i128::from(value as i64)
            } else {
                i128::from(value)
            };
            let result = soft_float::from_integer(to, value, conversion.rounding);
            saturate_float(conversion, result)
        }
        (true, false) => to_integer(conversion, bits),
        (true, true) => between_floats(conversion, bits),
    }
}

fn between_integers(conversion: Conversion, bits: u64) -> u64 {
    let Conversion { to, from, sat, .. } = conversion;
    let value = from.extend(bits);
    if !sat {
        return to.extend(value);
    }
    let value = if from.is_signed() {
        i128::from(value as i64)
    } else {
        i128::from(value)
    };
    let (least, greatest) = range(to);
    value.clamp(least, greatest) as u64
}

/// The least and the greatest number of an integer type.
fn range(ty: Type) -> (i128, i128) {
    match ty.is_signed() {
        true => (-1 << (ty.bits - 1), (1 << (ty.bits - 1)) - 1),
        false => (0, (1 << ty.bits) - 1),
    }
}

fn to_integer(conversion: Conversion, bits: u64) -> u64 {
    let Conversion { to, from, .. } = conversion;
    let value = flushed(conversion, bits);
    if value.is_nan() {
        return match from.bits == 64 || to.bits == 64 {
            true => 1 << (to.bits - 1),
            false => 0,
        };
    }
    let (least, greatest) = range(to);
    // `as` holds what is beyond its range at the limits.
    (integral(conversion.rounding, value) as i128).clamp(least, greatest) as u64
}

fn integral(rounding: Rounding, value: f64) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::NearestAway => value.round(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

fn flushed(conversion: Conversion, bits: u64) -> f64 {
    match conversion.from.bits {
        32 => flush_f32(conversion.ftz, f32::from_bits(bits as u32)).into(),
        _ => soft_float::to_f64(conversion.from, bits),
    }
}

fn between_floats(conversion: Conversion, bits: u64) -> u64 {
    let value = flushed(conversion, bits);
    let value = if conversion.integral {
        integral(conversion.rounding, value)
    } else {
        value
    };
    let mut result = soft_float::round_to(conversion.to, value, conversion.rounding);
    if conversion.ftz && conversion.to.bits == 32 {
        result = flush_f32(true, f32::from_bits(result as u32)).to_bits().into();
    }
    saturate_float(conversion, result)
}

fn saturate_float(conversion: Conversion, bits: u64) -> u64 {
    let Conversion { to, sat, relu, .. } = conversion;
    if !sat && !relu {
        return bits;
    }
    let value = soft_float::to_f64(to, bits);
    if value.is_nan() {
        return if sat { 0 } else { bits };
    }
    if value.is_sign_negative() {
        return 0;
    }
    match sat && value > 1.0 {
        true => soft_float::round_to(to, 1.0, Rounding::Nearest),
        false => bits,
    }
}
