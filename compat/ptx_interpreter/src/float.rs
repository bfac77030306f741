//! Floating-point instructions of 32 and 64 bits; `soft_float` has the narrow types and the directed roundings.

use crate::soft_float;
use crate::types::{Compare, Kind, Rounding, Type};

/// A floating-point operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatOp {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Min,
    Max,
    Sqrt,
    Rcp,
    Rsqrt,
    Abs,
    Neg,
    Copysign,
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
    /// `rcp.approx.ftz.f64`, `rsqrt.approx.ftz.f64`: only the high 32 bits of the operand and the result.
    RcpHigh,
    RsqrtHigh,
    Test(FloatTest),
}

/// What `testp` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatTest {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// The modifiers of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatMode {
    pub rounding: Rounding,
    /// Subnormal operands and results become zero.
    pub ftz: bool,
    /// The result is held between 0 and 1.
    pub sat: bool,
    /// `min` and `max` give NaN for one.
    pub nan: bool,
    /// `min` and `max` of magnitudes, with the sign of the product.
    pub xorsign: bool,
    /// Negative results and, differing from `sat`, no NaN become zero.
    pub relu: bool,
}

impl FloatMode {
    pub const PLAIN: Self = Self {
        rounding: Rounding::Nearest,
        ftz: false,
        sat: false,
        nan: false,
        xorsign: false,
        relu: false,
    };
}

/// What every NaN that an instruction of single precision returns looks like.
pub(crate) const NAN_F32: u32 = 0x7fff_ffff;

/// Runs an operation on the bits of its operands; operations of fewer operands ignore the rest.
pub(crate) fn compute(op: FloatOp, ty: Type, mode: FloatMode, a: u64, b: u64, c: u64) -> u64 {
    if ty.packed {
        let half = Type { packed: false, ..ty };
        let part = |shift: u32| soft_float::compute(op, half, mode, a >> shift, b >> shift, c >> shift) & 0xffff;
        return part(0) | part(16) << 16;
    }
    match ty.bits {
        32 => single(op, mode, a as u32, b as u32, c as u32),
        64 => double(op, mode, a, b, c),
        _ => soft_float::compute(op, ty, mode, a, b, c),
    }
}

#[inline(always)]
pub(crate) fn flush_f32(ftz: bool, value: f32) -> f32 {
    if ftz && value.is_subnormal() {
        0f32.copysign(value)
    } else {
        value
    }
}

fn single(op: FloatOp, mode: FloatMode, a: u32, b: u32, c: u32) -> u64 {
    let [x, y, z] = [a, b, c].map(|bits| flush_f32(mode.ftz, f32::from_bits(bits)));
    let exact = mode.rounding == Rounding::Nearest;
    let soft = || {
        let [x, y, z] = [x, y, z].map(|value| u64::from(value.to_bits()));
        f32::from_bits(soft_float::compute(op, Type::new(Kind::Float, 32), mode, x, y, z) as u32)
    };
    let wide = |function: fn(f64) -> f64| function(f64::from(x)) as f32;
    let result = match op {
        // These change bits and keep NaN as it is.
        FloatOp::Copysign => return u64::from(b & !(1 << 31) | a & (1 << 31)),
        FloatOp::Test(test) => return tested(test, f64::from(x), f32::from_bits(a).classify()).into(),
        FloatOp::Add if exact => x + y,
        FloatOp::Sub if exact => x - y,
        FloatOp::Mul if exact => x * y,
        FloatOp::Fma if exact => x.mul_add(y, z),
        FloatOp::Div if exact => x / y,
        FloatOp::Rcp if exact => 1.0 / x,
        FloatOp::Sqrt if exact => x.sqrt(),
        FloatOp::Add | FloatOp::Sub | FloatOp::Mul | FloatOp::Fma | FloatOp::Div | FloatOp::Rcp => soft(),
        FloatOp::Sqrt => soft(),
        FloatOp::Min | FloatOp::Max => {
            let bits = min_max(op == FloatOp::Max, mode, x.into(), y.into());
            bits as f32
        }
        FloatOp::Abs => x.abs(),
        FloatOp::Neg => -x,
        FloatOp::Rsqrt => wide(|x| 1.0 / x.sqrt()),
        FloatOp::Ex2 => wide(f64::exp2),
        FloatOp::Lg2 => wide(f64::log2),
        FloatOp::Sin => wide(f64::sin),
        FloatOp::Cos => wide(f64::cos),
        FloatOp::Tanh => wide(f64::tanh),
        FloatOp::RcpHigh | FloatOp::RsqrtHigh => unreachable!("only of double precision"),
    };
    let result = flush_f32(mode.ftz, result);
    let result = match mode.sat {
        true if result.is_nan() => 0.0,
        // Adding zero turns -0 into 0.
        true => result.clamp(0.0, 1.0) + 0.0,
        false => result,
    };
    if result.is_nan() {
        NAN_F32.into()
    } else {
        result.to_bits().into()
    }
}

fn double(op: FloatOp, mode: FloatMode, a: u64, b: u64, c: u64) -> u64 {
    let [x, y, z] = [a, b, c].map(f64::from_bits);
    let exact = mode.rounding == Rounding::Nearest;
    let high = |value: f64| f64::from_bits(value.to_bits() & !0xffff_ffff);
    let result = match op {
        FloatOp::Copysign => return b & !(1 << 63) | a & (1 << 63),
        FloatOp::Test(test) => return tested(test, x, x.classify()).into(),
        FloatOp::Add if exact => x + y,
        FloatOp::Sub if exact => x - y,
        FloatOp::Mul if exact => x * y,
        FloatOp::Fma if exact => x.mul_add(y, z),
        FloatOp::Div if exact => x / y,
        FloatOp::Rcp if exact => 1.0 / x,
        FloatOp::Sqrt if exact => x.sqrt(),
        FloatOp::Min | FloatOp::Max => min_max(op == FloatOp::Max, mode, x, y),
        FloatOp::Abs => x.abs(),
        FloatOp::Neg => -x,
        FloatOp::Rsqrt => 1.0 / x.sqrt(),
        FloatOp::RcpHigh => high(1.0 / high(x)),
        FloatOp::RsqrtHigh => high(1.0 / high(x).sqrt()),
        FloatOp::Ex2 => x.exp2(),
        FloatOp::Lg2 => x.log2(),
        FloatOp::Sin => x.sin(),
        FloatOp::Cos => x.cos(),
        FloatOp::Tanh => x.tanh(),
        _ => f64::from_bits(soft_float::compute(op, Type::new(Kind::Float, 64), mode, a, b, c)),
    };
    let result = match mode.sat {
        true if result.is_nan() => 0.0,
        true => result.clamp(0.0, 1.0) + 0.0,
        false => result,
    };
    result.to_bits()
}

/// Also of narrower types, which `f64` holds exactly. -0 is less than 0.
pub(crate) fn min_max(max: bool, mode: FloatMode, x: f64, y: f64) -> f64 {
    if mode.nan && (x.is_nan() || y.is_nan()) {
        return f64::NAN;
    }
    let negative = x.is_sign_negative() != y.is_sign_negative();
    let (x, y) = if mode.xorsign { (x.abs(), y.abs()) } else { (x, y) };
    let result = match (x.is_nan(), y.is_nan()) {
        (true, _) => y,
        (_, true) => x,
        _ if (x.total_cmp(&y).is_gt()) == max => x,
        _ => y,
    };
    if mode.xorsign && negative { -result } else { result }
}

pub(crate) fn tested(test: FloatTest, value: f64, class: std::num::FpCategory) -> bool {
    match test {
        FloatTest::Finite => value.is_finite(),
        FloatTest::Infinite => value.is_infinite(),
        FloatTest::Number => !value.is_nan(),
        FloatTest::NotANumber => value.is_nan(),
        // Zero counts as normal.
        FloatTest::Normal => value.is_finite() && class != std::num::FpCategory::Subnormal,
        FloatTest::Subnormal => class == std::num::FpCategory::Subnormal,
    }
}

/// Comparisons of any floating-point type.
#[inline(always)]
pub(crate) fn compare(compare: Compare, ty: Type, ftz: bool, a: u64, b: u64) -> bool {
    let value = |bits: u64| match ty.bits {
        64 => f64::from_bits(bits),
        32 => flush_f32(ftz, f32::from_bits(bits as u32)).into(),
        _ => soft_float::to_f64(ty, bits),
    };
    let (x, y) = (value(a), value(b));
    let (less, equal, greater) = (x < y, x == y, x > y);
    let unordered = x.is_nan() || y.is_nan();
    match compare {
        Compare::Eq => equal,
        Compare::Ne => less || greater,
        Compare::Lt => less,
        Compare::Le => less || equal,
        Compare::Gt => greater,
        Compare::Ge => greater || equal,
        Compare::Number => !unordered,
        Compare::Nan => unordered,
        Compare::Equ => equal || unordered,
        Compare::Neu => !equal,
        Compare::Ltu => less || unordered,
        Compare::Leu => !greater,
        Compare::Gtu => greater || unordered,
        Compare::Geu => !less,
    }
}
