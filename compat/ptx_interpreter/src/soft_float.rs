//! Floating point in software: types of 16 bits, and directed rounding of all types.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use crate::float::{FloatMode, FloatOp, min_max, tested};
use crate::types::{Kind, Rounding, Type};

pub(crate) fn round(rounding: Rounding) -> Round {
    match rounding {
        Rounding::Nearest => Round::NearestTiesToEven,
        Rounding::NearestAway => Round::NearestTiesToAway,
        Rounding::Zero => Round::TowardZero,
        Rounding::Down => Round::TowardNegative,
        Rounding::Up => Round::TowardPositive,
    }
}

/// Runs an operation on the bits of its operands, which may have bits of others above them.
pub(crate) fn compute(op: FloatOp, ty: Type, mode: FloatMode, a: u64, b: u64, c: u64) -> u64 {
    match (ty.kind, ty.bits) {
        (Kind::Brain, _) => typed::<BFloat>(op, ty, mode, [a, b, c]),
        (_, 16) => typed::<Half>(op, ty, mode, [a, b, c]),
        (_, 32) => typed::<Single>(op, ty, mode, [a, b, c]),
        _ => typed::<Double>(op, ty, mode, [a, b, c]),
    }
}

fn typed<F>(op: FloatOp, ty: Type, mode: FloatMode, operands: [u64; 3]) -> u64
where
    F: Float + FloatConvert<Double>,
    Double: FloatConvert<F>,
{
    let mask = u64::MAX >> (64 - ty.bits);
    let [a, b, _] = operands.map(|bits| bits & mask);
    let flush = |value: F| {
        if mode.ftz && value.is_denormal() {
            F::ZERO.copy_sign(value)
        } else {
            value
        }
    };
    let [x, y, z] = operands.map(|bits| flush(F::from_bits((bits & mask).into())));
    let direction = round(mode.rounding);
    let wide = |function: fn(f64) -> f64| -> F { from_f64(function(as_f64(x)), Rounding::Nearest) };
    let sign = 1u64 << (ty.bits - 1);
    let result = match op {
        FloatOp::Copysign => return b & !sign | a & sign,
        FloatOp::Test(test) => {
            let class = match x.is_denormal() {
                true => std::num::FpCategory::Subnormal,
                false => as_f64(x).classify(),
            };
            return tested(test, as_f64(x), class).into();
        }
        FloatOp::Add => x.add_r(y, direction).value,
        FloatOp::Sub => x.sub_r(y, direction).value,
        FloatOp::Mul => x.mul_r(y, direction).value,
        FloatOp::Fma => x.mul_add_r(y, z, direction).value,
        FloatOp::Div => x.div_r(y, direction).value,
        FloatOp::Rcp => from_f64::<F>(1.0, Rounding::Nearest).div_r(x, direction).value,
        FloatOp::Sqrt => square_root(x, mode.rounding),
        FloatOp::Min | FloatOp::Max => from_f64(
            min_max(op == FloatOp::Max, mode, as_f64(x), as_f64(y)),
            Rounding::Nearest,
        ),
        FloatOp::Abs => x.abs(),
        FloatOp::Neg => -x,
        FloatOp::Rsqrt | FloatOp::RsqrtHigh => wide(|x| 1.0 / x.sqrt()),
        FloatOp::RcpHigh => wide(f64::recip),
        FloatOp::Ex2 => wide(f64::exp2),
        FloatOp::Lg2 => wide(f64::log2),
        FloatOp::Sin => wide(f64::sin),
        FloatOp::Cos => wide(f64::cos),
        FloatOp::Tanh => wide(f64::tanh),
    };
    let result = flush(result);
    if result.is_nan() {
        return match (mode.sat, ty.bits) {
            (true, _) => 0,
            (_, 64) => result.to_bits() as u64,
            // The canonical NaN of the narrow types: all ones but the sign.
            _ => mask >> 1,
        };
    }
    let bits = result.to_bits() as u64;
    let negative = bits & sign != 0;
    if (mode.sat || mode.relu) && negative {
        return 0;
    }
    match mode.sat && as_f64(result) > 1.0 {
        true => from_f64::<F>(1.0, Rounding::Nearest).to_bits() as u64,
        false => bits,
    }
}

fn as_f64<F: FloatConvert<Double>>(value: F) -> f64 {
    f64::from_bits(value.convert(&mut false).value.to_bits() as u64)
}

fn from_f64<F: Float>(value: f64, rounding: Rounding) -> F
where
    Double: FloatConvert<F>,
{
    let double = Double::from_bits(value.to_bits().into());
    double.convert_r(round(rounding), &mut false).value
}

/// A square root in any rounding: the nearest double, corrected by the sign of what it is off.
fn square_root<F>(x: F, rounding: Rounding) -> F
where
    F: Float + FloatConvert<Double>,
    Double: FloatConvert<F>,
{
    let value = as_f64(x);
    let nearest = value.sqrt();
    if !nearest.is_normal() || rounding == Rounding::Nearest {
        return from_f64(nearest, rounding);
    }
    // By an even power of two into the middle of the range, where nothing underflows.
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let even = exponent & !1;
    let (scaled, root) = match value.is_subnormal() {
        true => (value * 2f64.powi(600), nearest * 2f64.powi(300)),
        false => {
            let (half, other) = (even / 2, even - even / 2);
            (value * 2f64.powi(-half) * 2f64.powi(-other), nearest * 2f64.powi(-half))
        }
    };
    // Exactly what the square exceeds `x` by, up to its sign.
    let excess = root.mul_add(root, -scaled);
    let bits = nearest.to_bits();
    let (below, above) = match excess {
        0.0 => (nearest, nearest),
        excess if excess > 0.0 => (f64::from_bits(bits - 1), nearest),
        _ => (nearest, f64::from_bits(bits + 1)),
    };
    match rounding {
        Rounding::Up => from_f64(above, rounding),
        _ => from_f64(below, rounding),
    }
}

/// The number that the bits of a type of 16, 32 or 64 bits are.
pub(crate) fn to_f64(ty: Type, bits: u64) -> f64 {
    match (ty.kind, ty.bits) {
        (_, 64) => f64::from_bits(bits),
        (_, 32) => f32::from_bits(bits as u32).into(),
        (Kind::Brain, _) => f32::from_bits((bits as u32 & 0xffff) << 16).into(),
        _ => as_f64(Half::from_bits(u128::from(bits) & 0xffff)),
    }
}

/// The bits of a number in a type, rounded once. NaN becomes the type's canonical one.
pub(crate) fn round_to(ty: Type, value: f64, rounding: Rounding) -> u64 {
    if value.is_nan() && ty.bits != 64 {
        return (1 << (ty.bits - 1)) - 1;
    }
    let bits = match (ty.kind, ty.bits) {
        (_, 64) => return value.to_bits(),
        (_, 32) if rounding == Rounding::Nearest => return (value as f32).to_bits().into(),
        (_, 32) => from_f64::<Single>(value, rounding).to_bits(),
        (Kind::Brain, _) => from_f64::<BFloat>(value, rounding).to_bits(),
        _ => from_f64::<Half>(value, rounding).to_bits(),
    };
    bits as u64
}

/// The bits of an integer in a type, rounded once.
pub(crate) fn from_integer(ty: Type, value: i128, rounding: Rounding) -> u64 {
    let direction = round(rounding);
    let nearest = rounding == Rounding::Nearest;
    let bits = match (ty.kind, ty.bits) {
        (_, 64) if nearest => return (value as f64).to_bits(),
        (_, 32) if nearest => return (value as f32).to_bits().into(),
        (_, 64) => Double::from_i128_r(value, direction).value.to_bits(),
        (_, 32) => Single::from_i128_r(value, direction).value.to_bits(),
        (Kind::Brain, _) => BFloat::from_i128_r(value, direction).value.to_bits(),
        _ => Half::from_i128_r(value, direction).value.to_bits(),
    };
    bits as u64
}
