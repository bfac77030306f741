//! Sine, cosine and tangent of `f32` without `f64`, the same on GPU and host.
//!
//! An angle x is reduced to a quadrant q and a rest r with x = q π/2 + r and |r| up to about π/4:
//!
//! - |x| < 2^16: Cody and Waite's reduction. q is x · 2/π rounded, and q π/2 is subtracted in three parts by fused
//!   multiply-adds, of which the first is exact.
//! - else: Payne and Hanek's reduction. Of 2/π only the bits count that a quadrant or the rest depends on, and their
//!   product with the mantissa is an integer.
//!
//! Sine and cosine of the rest are polynomials. Their coefficients minimize the largest relative error over |r| <=
//! 0.79: Remez's exchange algorithm in 40 digits; each coefficient in turn was rounded to `f32` and those of higher
//! powers were calculated again. Every multiplication that an addition follows is written as a fused one, so that
//! results do not depend on what the compiler contracts.
//!
//! The largest errors found, at every seventh `f32` (300 million of all exponents) against results in `f64`: 1.55 ulp
//! (units in the last place) of [`sin`] and [`cos`], 1.94 of [`tan`], 1.54 of [`sinpi`] and [`cospi`].
//!
//! Sources: W. Cody, W. Waite, "Software Manual for the Elementary Functions" (1980); M. Payne, R. Hanek, "Radian
//! reduction for trigonometric functions" (1983); J.-M. Muller, "Elementary Functions" (2016), chapters 3 and 11.

use crate::float::hardware;
use core::f32::consts::{FRAC_2_PI, PI};

/// From here on the fast reduction's quotient would have too many bits.
const LARGE: f32 = 65536.0;

/// π/2 in three parts. None is negative, so that a zero keeps its sign.
const HALF_PI: [f32; 3] = [
    f32::from_bits(0x3fc9_0fda),
    f32::from_bits(0x33a2_2168),
    f32::from_bits(0x27c2_34c5),
];

/// What π lacks as an `f32`.
const PI_LOW: f32 = -8.742_278e-8;

/// The bits of 2/π after nine zeros, so that the window for the smallest large angle starts at bit 0.
static TWO_OVER_PI: [u32; 7] = [
    0x0051_7cc1,
    0xb727_220a,
    0x94fe_13ab,
    0xe8fa_9a6e,
    0xe06d_b14a,
    0xcc9e_21c8,
    0x20ff_28b1,
];

/// Coefficients of sin r = r + r³ P(r²), lowest power first; relative error 4.2e-9.
const SIN: [f32; 3] = [-0.166_666_54, 0.008_332_106, -0.000_195_078_83];
/// Coefficients of cos r = 1 + r² P(r²), lowest power first; relative error 1.3e-10.
const COS: [f32; 4] = [-0.5, 0.041_666_646, -0.001_388_730_4, 2.443_120_1e-5];
/// Coefficients of tan r = r + r³ P(r²), lowest power first; relative error 2.0e-8.
const TAN: [f32; 6] = [
    0.333_331_4,
    0.133_392_28,
    0.053_375_31,
    0.024_560_206,
    0.002_908_806_8,
    0.009_511_7,
];

#[inline]
pub(crate) fn sin(x: f32) -> f32 {
    let (quadrant, rest) = reduce(x);
    sine(quadrant, rest)
}

#[inline]
pub(crate) fn cos(x: f32) -> f32 {
    let (quadrant, rest) = reduce(x);
    sine(quadrant.wrapping_add(1), rest)
}

#[inline]
pub(crate) fn sin_cos(x: f32) -> (f32, f32) {
    let (quadrant, rest) = reduce(x);
    sine_and_cosine(quadrant, rest)
}

#[inline]
pub(crate) fn tan(x: f32) -> f32 {
    let (quadrant, rest, low) = reduce_to_two_parts(x);
    let square = rest * rest;
    // The derivative 1 + tan² brings in the low part; the square is near enough to tan².
    let above = mul_add(low, square, low);
    let tangent = rest + mul_add(polynomial(&TAN, square), square * rest, above);
    // Zeros keep their sign.
    let tangent = tangent.copysign(rest);
    if quadrant & 1 == 0 { tangent } else { -1.0 / tangent }
}

#[inline]
pub(crate) fn sinpi(x: f32) -> f32 {
    // Zeros have the sign of the angle (IEEE 754, 9.2.1), and infinities give NaN.
    if x == hardware::f32::trunc(x) {
        return x * 0.0;
    }
    let (quadrant, rest) = reduce_turns(x);
    sine(quadrant, rest)
}

#[inline]
pub(crate) fn cospi(x: f32) -> f32 {
    let (quadrant, rest) = reduce_turns(x);
    // No zero is negative.
    sine(quadrant.wrapping_add(1), rest) + 0.0
}

fn mul_add(a: f32, b: f32, c: f32) -> f32 {
    hardware::f32::mul_add(a, b, c)
}

/// The nearest integer, as a number and in the low bits of a word, for |x| < 2^22.
#[inline]
fn nearest(x: f32, factor: f32) -> (f32, u32) {
    // At this magnitude the last place of the sum is 1, and its mantissa ends with the integer in two's complement.
    const SHIFT: f32 = 12_582_912.0;
    let sum = mul_add(x, factor, SHIFT);
    (sum - SHIFT, sum.to_bits())
}

/// Quadrant (in its low two bits) and rest of an angle.
#[inline]
fn reduce(x: f32) -> (u32, f32) {
    if x.abs() >= LARGE {
        let (quadrant, rest, _) = reduce_large(x);
        return (quadrant, rest);
    }
    // NaN comes here too.
    let (quotient, quadrant) = nearest(x, FRAC_2_PI);
    let rest = HALF_PI.iter().fold(x, |rest, &part| mul_add(-quotient, part, rest));
    (quadrant, rest)
}

/// Quadrant and rest of an angle, and what the rest lacks as an `f32`.
#[inline]
fn reduce_to_two_parts(x: f32) -> (u32, f32, f32) {
    if x.abs() >= LARGE {
        return reduce_large(x);
    }
    let (quotient, quadrant) = nearest(x, FRAC_2_PI);
    let first = mul_add(-quotient, HALF_PI[0], x);
    // A plain product might be contracted with the difference, and its error would be another one.
    let second = mul_add(quotient, HALF_PI[1], 0.0);
    let third = mul_add(quotient, HALF_PI[2], mul_add(quotient, HALF_PI[1], -second));
    let high = first - second;
    let excess = third + (second - (first - high));
    let rest = high - excess;
    (quadrant, rest, (high - rest) - excess)
}

/// Quadrant and rest of an angle of magnitude 2^16 or more, and what the rest lacks as an `f32`.
///
/// The angle is m · 2^(e - 23) with an integer m of 24 bits, so bit k of 2/π (the first after the point is bit 1) adds
/// a multiple of 2^(e - 23 - k) quadrants. The bits before k = e - 24 add whole turns and are left out. The product of
/// m and the 96 bits from there on, without what exceeds 96 bits, has the quadrant in its two highest bits and the rest
/// below.
#[cold]
fn reduce_large(x: f32) -> (u32, f32, f32) {
    const EXPONENT_OF_LARGE: u32 = LARGE.to_bits() >> 23;
    if !x.is_finite() {
        return (0, f32::NAN, 0.0);
    }
    let magnitude = x.abs().to_bits();
    let mantissa = u64::from(magnitude & 0x007f_ffff | 0x0080_0000);
    let start = (magnitude >> 23) - EXPONENT_OF_LARGE;
    // The exponents end before a fourth word could be the first.
    let first = (start >> 5 & 3) as usize;
    let word = |n: usize| {
        let pair = u64::from(TWO_OVER_PI[first + n]) << 32 | u64::from(TWO_OVER_PI[first + n + 1]);
        (pair << (start & 31)) >> 32
    };
    // The product's upper 64 bits: the last one is a few units off, 2^-60 quadrants.
    let product = ((mantissa * word(0)) << 32)
        .wrapping_add(mantissa * word(1))
        .wrapping_add((mantissa * word(2)) >> 32);
    let quadrant = product.wrapping_add(1 << 61) >> 62;
    let rest = (product << 2) as i64;

    // To radians, with 32 significant bits. No `f32` is so near a multiple of π/2 that fewer were left.
    let zeros = rest.unsigned_abs().leading_zeros();
    let significant = (rest.unsigned_abs() << zeros) >> 32;
    /// π/2 · 2^31
    const HALF_PI_BITS: u64 = 0xc90f_daa2;
    let radians = ((significant * HALF_PI_BITS) >> 32) as u32;
    let rounded = radians as f32;
    let lack = radians.wrapping_sub(rounded as u32) as i32 as f32;
    // 2^-64 of the rest, 2^32 of its significant bits, 2^-31 of π/2, 2^32 of the product.
    let scale = f32::from_bits((127 - 31 - zeros) << 23).copysign(if rest < 0 { -x } else { x });
    let quadrant = quadrant as u32;
    let quadrant = if x < 0.0 { quadrant.wrapping_neg() } else { quadrant };
    (quadrant, rounded * scale, lack * scale)
}

/// Quadrant and rest of an angle in multiples of π. All steps but the last are exact.
#[inline]
fn reduce_turns(x: f32) -> (u32, f32) {
    let turn = mul_add(hardware::f32::round_ties_even(0.5 * x), -2.0, x);
    let (quotient, quadrant) = nearest(turn, 2.0);
    let rest = mul_add(quotient, -0.5, turn);
    (quadrant, mul_add(rest, PI, rest * PI_LOW))
}

/// The sine of q π/2 + r.
#[inline]
fn sine(quadrant: u32, rest: f32) -> f32 {
    let magnitude = if quadrant & 1 == 0 {
        sine_of_rest(rest)
    } else {
        cosine_of_rest(rest)
    };
    with_sign_flipped(magnitude, quadrant)
}

/// Sine and cosine of q π/2 + r.
#[inline]
fn sine_and_cosine(quadrant: u32, rest: f32) -> (f32, f32) {
    let (sine, cosine) = (sine_of_rest(rest), cosine_of_rest(rest));
    let (sine, cosine) = if quadrant & 1 == 0 {
        (sine, cosine)
    } else {
        (cosine, sine)
    };
    (
        with_sign_flipped(sine, quadrant),
        with_sign_flipped(cosine, quadrant.wrapping_add(1)),
    )
}

#[inline]
fn sine_of_rest(rest: f32) -> f32 {
    let square = rest * rest;
    // Zeros keep their sign.
    mul_add(polynomial(&SIN, square), square * rest, rest).copysign(rest)
}

#[inline]
fn cosine_of_rest(rest: f32) -> f32 {
    let square = rest * rest;
    mul_add(polynomial(&COS, square), square, 1.0)
}

/// A polynomial by Horner's rule.
#[inline]
fn polynomial(coefficients: &[f32], x: f32) -> f32 {
    let (highest, others) = coefficients.split_last().expect("a polynomial has coefficients");
    others
        .iter()
        .rev()
        .fold(*highest, |sum, &coefficient| mul_add(sum, x, coefficient))
}

/// The negative value in quadrants 2 and 3.
#[inline]
fn with_sign_flipped(x: f32, quadrant: u32) -> f32 {
    f32::from_bits(x.to_bits() ^ (quadrant & 2) << 30)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of a result in units in the last place of the `f32` nearest to the exact one.
    fn error(exact: f64, result: f32) -> f64 {
        let exponent = (exact.abs() as f32).to_bits() >> 23;
        (f64::from(result) - exact).abs() / 2f64.powi(exponent.max(1) as i32 - 150)
    }

    /// Compares at every 4099th positive number below `end` and at its negative one.
    fn within_two_ulp(name: &str, function: fn(f32) -> f32, exact: fn(f64) -> f64, end: f32) {
        for x in (0..end.to_bits())
            .step_by(4099)
            .map(f32::from_bits)
            .flat_map(|x| [x, -x])
        {
            let (result, exact) = (function(x), exact(x.into()));
            std::assert!(
                error(exact, result) <= 2.0,
                "{name}({x:e}) is {result:e}, not {exact:e}"
            );
        }
    }

    #[test]
    fn errors_are_small_at_every_magnitude() {
        within_two_ulp("sin", sin, f64::sin, f32::INFINITY);
        within_two_ulp("cos", cos, f64::cos, f32::INFINITY);
        within_two_ulp("tan", tan, f64::tan, f32::INFINITY);
        // `f64` has room for multiples of π of these.
        within_two_ulp("sinpi", sinpi, crate::float_ext::sinpi, 1e9);
        within_two_ulp("cospi", cospi, crate::float_ext::cospi, 1e9);
    }

    #[test]
    fn nearest_angles_to_multiples_of_a_quarter_turn() {
        // Among all `f32` of their range these leave the smallest rests (found by search).
        for x in [4.712_389, 252.898_21, 21_999_385_000.0, 7.729_179e28] {
            for x in [x, -x] {
                std::assert!(error(f64::from(x).sin(), sin(x)) <= 2.0, "sin({x:e})");
                std::assert!(error(f64::from(x).cos(), cos(x)) <= 2.0, "cos({x:e})");
                std::assert!(error(f64::from(x).tan(), tan(x)) <= 2.0, "tan({x:e})");
                std::assert_eq!(sin_cos(x), (sin(x), cos(x)));
            }
        }
    }

    #[test]
    fn zeros_infinities_and_integers() {
        for function in [sin, tan, sinpi] {
            std::assert_eq!(function(0.0).to_bits(), 0.0f32.to_bits());
            std::assert_eq!(function(-0.0).to_bits(), (-0.0f32).to_bits());
        }
        for function in [sin, cos, tan, sinpi, cospi] {
            for x in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
                std::assert!(function(x).is_nan(), "{x}");
            }
        }
        for (x, sine, cosine) in [
            (1.0, 0.0, -1.0),
            (-3.0, -0.0, -1.0),
            (0.5, 1.0, 0.0),
            (-2.5, -1.0, 0.0),
            (3.5, -1.0, 0.0),
            (16_777_215.0, 0.0, -1.0),
            (f32::MAX, 0.0, 1.0),
        ] {
            let bits = |(sine, cosine): (f32, f32)| (sine.to_bits(), cosine.to_bits());
            std::assert_eq!(bits((sinpi(x), cospi(x))), bits((sine, cosine)), "{x}");
        }
    }
}
