//! Arithmetic and conversions rounded in a given direction, for the host: exact to the bit, by software
//! ([`rustc_apfloat`]).

use rustc_apfloat::ieee::{Double, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round as SoftRound};

/// How a result between two numbers is rounded.
#[derive(Clone, Copy, PartialEq)]
pub enum Round {
    /// To the nearer, from halfway to the even one.
    Nearest,
    /// To the one nearer to 0.
    TowardZero,
    /// To the lower.
    Down,
    /// To the higher.
    Up,
}

impl From<Round> for SoftRound {
    fn from(round: Round) -> Self {
        match round {
            Round::Nearest => Self::NearestTiesToEven,
            Round::TowardZero => Self::TowardZero,
            Round::Down => Self::TowardNegative,
            Round::Up => Self::TowardPositive,
        }
    }
}

/// A floating-point type of the hardware, with its equivalent in software.
pub trait Hardware: Copy {
    /// The equivalent.
    type Soft: Float + FloatConvert<Quad>;
    /// Whether PTX converts a NaN of this type to an integer of the width to 0 (PTX 9.7.9.22).
    const NAN_IS_ZERO_IN_32_BITS: bool;
    /// The same number in software.
    fn soft(self) -> Self::Soft;
    /// The same number in hardware.
    fn hard(soft: Self::Soft) -> Self;
    /// The square root, rounded to the nearest number.
    fn nearest_sqrt(self) -> Self;
    /// The next higher number.
    fn next_up(self) -> Self;
    /// The next lower number.
    fn next_down(self) -> Self;
}

macro_rules! hardware {
    ($($float:ident as $soft:ident, $nan_is_zero:literal;)*) => {$(
        impl Hardware for $float {
            type Soft = $soft;
            const NAN_IS_ZERO_IN_32_BITS: bool = $nan_is_zero;
            fn soft(self) -> $soft {
                $soft::from_bits(self.to_bits().into())
            }
            fn hard(soft: $soft) -> Self {
                // The bits of a type are never more than its own.
                $float::from_bits(soft.to_bits() as _)
            }
            fn nearest_sqrt(self) -> Self {
                self.sqrt()
            }
            fn next_up(self) -> Self {
                self.next_up()
            }
            fn next_down(self) -> Self {
                self.next_down()
            }
        }
    )*};
}

hardware! {
    f32 as Single, true;
    f64 as Double, false;
}

/// `x + y`.
pub fn add<F: Hardware>(x: F, y: F, round: Round) -> F {
    F::hard(x.soft().add_r(y.soft(), round.into()).value)
}

/// `x - y`.
pub fn sub<F: Hardware>(x: F, y: F, round: Round) -> F {
    F::hard(x.soft().sub_r(y.soft(), round.into()).value)
}

/// `x * y`.
pub fn mul<F: Hardware>(x: F, y: F, round: Round) -> F {
    F::hard(x.soft().mul_r(y.soft(), round.into()).value)
}

/// `x / y`.
pub fn div<F: Hardware>(x: F, y: F, round: Round) -> F {
    F::hard(x.soft().div_r(y.soft(), round.into()).value)
}

/// `x * y + z`, rounded once.
pub fn mul_add<F: Hardware>(x: F, y: F, z: F, round: Round) -> F {
    F::hard(x.soft().mul_add_r(y.soft(), z.soft(), round.into()).value)
}

/// `1 / x`.
pub fn recip<F: Hardware>(x: F, round: Round) -> F {
    let one = F::Soft::from_u128(1).value;
    F::hard(one.div_r(x.soft(), round.into()).value)
}

/// The square root.
pub fn sqrt<F: Hardware>(x: F, round: Round) -> F {
    let root = x.nearest_sqrt();
    // The square of a number fits twice its digits, so it is exact in four times the precision of an f32.
    let wide = |number: F| number.soft().convert(&mut false).value;
    let square: Quad = (wide(root) * wide(root)).value;
    match (square.partial_cmp(&wide(x)), round) {
        (Some(core::cmp::Ordering::Greater), Round::Down | Round::TowardZero) => root.next_down(),
        (Some(core::cmp::Ordering::Less), Round::Up) => root.next_up(),
        _ => root,
    }
}

/// An `f64` as an `f32`.
pub fn narrow(x: f64, round: Round) -> f32 {
    let soft: Single = x.soft().convert_r(round.into(), &mut false).value;
    f32::hard(soft)
}

/// Conversions to integers, which end at the least and the greatest integer, and from them. Unsigned ones are handed
/// over in the signed type.
macro_rules! integers {
    ($($to:ident $from:ident: $integer:ident as $passed:ident, $to_wide:ident $from_wide:ident;)*) => {$(
        #[doc = concat!("The number as an `", stringify!($integer), "`.")]
        pub fn $to<F: Hardware>(x: F, round: Round) -> $passed {
            let soft = x.soft();
            if soft.is_nan() {
                let is_zero = F::NAN_IS_ZERO_IN_32_BITS && $integer::BITS == 32;
                return if is_zero { 0 } else { $passed::MIN };
            }
            soft.$to_wide($integer::BITS as usize, round.into(), &mut false).value as $passed
        }

        #[doc = concat!("The number of an `", stringify!($integer), "`.")]
        pub fn $from<F: Hardware>(x: $passed, round: Round) -> F {
            F::hard(F::Soft::$from_wide((x as $integer).into(), round.into()).value)
        }
    )*};
}

integers! {
    to_i32 from_i32: i32 as i32, to_i128_r from_i128_r;
    to_u32 from_u32: u32 as i32, to_u128_r from_u128_r;
    to_i64 from_i64: i64 as i64, to_i128_r from_i128_r;
    to_u64 from_u64: u64 as i64, to_u128_r from_u128_r;
}

/// `x / y` where the GPU's approximation has a result; from a divisor above 2^126 it gives 0, or NaN of an infinity
/// (PTX 9.7.3.8, `div.approx`).
pub fn approximate_quotient(x: f32, y: f32) -> f32 {
    let too_large = y.is_finite() && y.abs() > 2.0f32.powi(126);
    match too_large {
        true if x.is_infinite() => f32::NAN,
        true => 0.0,
        false => x / y,
    }
}

#[cfg(test)]
mod tests {
    use super::Round::*;
    use super::*;

    /// All four directions.
    fn every<T>(function: impl Fn(Round) -> T) -> [T; 4] {
        [Nearest, TowardZero, Down, Up].map(function)
    }

    #[test]
    fn directions_enclose_the_exact_result() {
        // 1 + 2^-60 lies just above 1, 1 - 2^-60 just below.
        let (tiny, next) = (2.0f64.powi(-60), 1.0 + f64::EPSILON);
        std::assert_eq!(every(|r| add(1.0, tiny, r)), [1.0, 1.0, 1.0, next]);
        std::assert_eq!(every(|r| sub(-1.0, tiny, r)), [-1.0, -1.0, -next, -1.0]);
        let third = 1.0f32 / 3.0;
        // Of 1/3 the nearest f32 lies above it.
        std::assert_eq!(
            every(|r| div(1.0f32, 3.0, r)),
            [third, third.next_down(), third.next_down(), third]
        );
        std::assert_eq!(every(|r| recip(3.0f32, r)), every(|r| div(1.0f32, 3.0, r)));
        std::assert_eq!(every(|r| mul(0.5f64, 3.0, r)), [1.5; 4]);
        // Exactly 2^-46 off 1, which a product that is rounded before the sum loses.
        let x = 1.0f32 + f32::EPSILON;
        std::assert_eq!(mul_add(x, x, -(1.0 + 2.0 * f32::EPSILON), Nearest), 2.0f32.powi(-46));
        std::assert_eq!(mul(f32::MAX, 2.0, Down), f32::MAX);
        std::assert_eq!(mul(f32::MIN_POSITIVE, 2.0f32.powi(-30), Up), f32::from_bits(1));
    }

    #[test]
    fn square_roots_are_rounded_from_the_exact_root() {
        let root = 2.0f64.sqrt();
        // The nearest f64 to the root of 2 lies above it, that of 3 below.
        std::assert_eq!(
            every(|r| sqrt(2.0f64, r)),
            [root, root.next_down(), root.next_down(), root]
        );
        let root = 3.0f64.sqrt();
        std::assert_eq!(every(|r| sqrt(3.0f64, r)), [root, root, root, root.next_up()]);
        std::assert_eq!(every(|r| sqrt(6.25f32, r)), [2.5; 4]);
        std::assert_eq!(every(|r| sqrt(0.0f32, r)), [0.0; 4]);
        std::assert_eq!(sqrt(f32::INFINITY, Down), f32::INFINITY);
        std::assert!(sqrt(-1.0f64, Up).is_nan());
        let subnormal = f64::from_bits(3);
        let [down, up] = [Down, Up].map(|r| sqrt(subnormal, r));
        std::assert!(down.next_up() == up && down < up);
    }

    #[test]
    fn conversions_round_and_end_at_the_limits() {
        std::assert_eq!(every(|r| to_i32(-2.5f32, r)), [-2, -2, -3, -2]);
        std::assert_eq!(every(|r| to_u32(2.5f64, r)), [2, 2, 2, 3]);
        std::assert_eq!(
            (to_i32(1e10f32, Nearest), to_i32(-1e10f64, Nearest)),
            (i32::MAX, i32::MIN)
        );
        std::assert_eq!((to_u32(-1.0f32, Down), to_u32(1e10f32, Up)), (0, -1));
        std::assert_eq!((to_u64(1e30f64, Up), to_i64(f64::NEG_INFINITY, Up)), (-1, i64::MIN));
        // What PTX makes of NaN depends on the types.
        std::assert_eq!((to_i32(f32::NAN, Up), to_u32(f32::NAN, Up)), (0, 0));
        std::assert_eq!((to_i32(f64::NAN, Up), to_i64(f32::NAN, Up)), (i32::MIN, i64::MIN));

        let just_above = (1 << 24) + 1;
        let (low, high) = (16_777_216.0f32, 16_777_218.0f32);
        std::assert_eq!(every(|r| from_i32::<f32>(just_above, r)), [low, low, low, high]);
        std::assert_eq!(
            every(|r| from_i64::<f32>(-i64::from(just_above), r)),
            [-low, -low, -high, -low]
        );
        std::assert_eq!(
            (from_u32::<f32>(-1, Down), from_u64::<f64>(-1, Up)),
            (4_294_967_040.0, 18_446_744_073_709_551_616.0)
        );
        std::assert_eq!(
            every(|r| narrow(0.1f64, r)),
            [0.1f32, 0.1f32.next_down(), 0.1f32.next_down(), 0.1f32]
        );
    }

    #[test]
    fn an_approximate_quotient_has_a_limited_divisor() {
        std::assert_eq!(approximate_quotient(1.0, 4.0), 0.25);
        std::assert_eq!(approximate_quotient(1e38, 3e38), 0.0);
        std::assert!(approximate_quotient(f32::INFINITY, -3e38).is_nan());
        std::assert_eq!(approximate_quotient(1.0, f32::INFINITY), 0.0);
    }
}
