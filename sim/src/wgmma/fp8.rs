//! The sums of `wgmma` of FP8.

use std::array;
use std::sync::LazyLock;

use super::{Fp8Accumulation, WgmmaElement};

/// Fraction bits that a term keeps with [`Fp8Accumulation::Truncated`], relative to the largest exponent.
const FRACTION_BITS: i32 = 13;

/// `significand * 2^exponent`; `leading` is the exponent of its format's implicit bit, which a subnormal lacks.
#[derive(Clone, Copy)]
struct Term {
    significand: i64,
    exponent: i32,
    leading: i32,
}

impl Term {
    /// A term of `bits` with so many bits of exponent and fraction below a sign; infinities and NaN are not asked for.
    fn new(bits: u32, exponent_bits: u32, fraction_bits: u32) -> Self {
        let bias = (1 << (exponent_bits - 1)) - 1;
        let field = bits >> fraction_bits & ((1 << exponent_bits) - 1);
        let fraction = i64::from(bits & ((1 << fraction_bits) - 1));
        let implicit = i64::from(field > 0) << fraction_bits;
        let magnitude = implicit + fraction;
        let is_negative = bits >> (exponent_bits + fraction_bits) & 1 != 0;
        let leading = field.max(1) as i32 - bias;
        Self {
            significand: if is_negative { -magnitude } else { magnitude },
            exponent: leading - fraction_bits as i32,
            leading,
        }
    }

    /// Of an FP8.
    fn of(element: WgmmaElement, bits: u8) -> Self {
        match element {
            WgmmaElement::E5m2 => Self::new(bits.into(), 5, 2),
            _ => Self::new(bits.into(), 4, 3),
        }
    }

    fn times(self, other: Self) -> Self {
        Self {
            significand: self.significand * other.significand,
            exponent: self.exponent + other.exponent,
            leading: self.leading + other.leading,
        }
    }
}

/// The value of an FP8, exact.
pub(crate) fn value(element: WgmmaElement, bits: u8) -> f32 {
    let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
    match (element, bits & 0x7f) {
        (WgmmaElement::E5m2, 0x7c) => sign * f32::INFINITY,
        (WgmmaElement::E5m2, 0x7d..) | (WgmmaElement::E4m3, 0x7f) => f32::NAN,
        _ => {
            let Term {
                significand, exponent, ..
            } = Term::of(element, bits);
            // Keeps the sign of zero.
            sign * significand.abs() as f32 * f32::exp2(exponent as f32)
        }
    }
}

/// The values of all elements of a format.
fn values(element: WgmmaElement) -> &'static [f64; 256] {
    static E4M3: LazyLock<[f64; 256]> = LazyLock::new(|| of_all(WgmmaElement::E4m3));
    static E5M2: LazyLock<[f64; 256]> = LazyLock::new(|| of_all(WgmmaElement::E5m2));
    fn of_all(element: WgmmaElement) -> [f64; 256] {
        array::from_fn(|bits| value(element, bits as u8).into())
    }
    match element {
        WgmmaElement::E5m2 => &E5M2,
        _ => &E4M3,
    }
}

/// `start` and the products of a row of A with a column of B: those of one instruction.
pub(crate) fn dot(
    accumulation: Fp8Accumulation,
    elements: [WgmmaElement; 2],
    start: f32,
    (a, b): (&[u8], &[u8]),
) -> f32 {
    let exact = || {
        let [of_a, of_b] = elements.map(values);
        let products = a
            .iter()
            .zip(b)
            .map(|(&a, &b)| of_a[usize::from(a)] * of_b[usize::from(b)]);
        products.fold(f64::from(start), |sum, product| sum + product) as f32
    };
    match accumulation {
        Fp8Accumulation::Exact => exact(),
        // Infinities and NaN stay what they are.
        Fp8Accumulation::Truncated if !exact().is_finite() => exact(),
        Fp8Accumulation::Truncated => {
            let products = a
                .iter()
                .zip(b)
                .map(|(&a, &b)| Term::of(elements[0], a).times(Term::of(elements[1], b)));
            truncated(std::iter::once(Term::new(start.to_bits(), 8, 23)).chain(products))
        }
    }
}

/// The sum of terms, each truncated to [`FRACTION_BITS`] below the largest exponent, truncated to as many of its own.
fn truncated(terms: impl Iterator<Item = Term> + Clone) -> f32 {
    let terms = terms.filter(|term| term.significand != 0);
    let Some(largest) = terms.clone().map(|term| term.leading).max() else {
        return 0.0;
    };
    let unit = largest - FRACTION_BITS;
    // Division truncates towards zero, which a shift of a negative number does not.
    let aligned = |term: Term| match term.exponent - unit {
        up @ 0.. => term.significand << up,
        down => term.significand / (1 << (-down).min(62)),
    };
    let sum: i64 = terms.map(aligned).sum();
    let bits = 64 - sum.unsigned_abs().leading_zeros() as i32;
    let dropped = (bits - (FRACTION_BITS + 1)).max(0);
    let kept = sum / (1 << dropped);
    (kept as f64 * f64::exp2(f64::from(unit + dropped))) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    const E4M3: [WgmmaElement; 2] = [WgmmaElement::E4m3; 2];

    /// 1, 2^-6 (the smallest normal) and 256 in e4m3.
    const ONE: u8 = 0x38;
    const SMALL: u8 = 0x08;
    const LARGE: u8 = 0x78;

    #[test]
    fn values_are_those_of_the_formats() {
        for (element, bits, expected) in [
            (WgmmaElement::E4m3, 0x38, 1.0),
            (WgmmaElement::E4m3, 0x7e, 448.0),
            (WgmmaElement::E4m3, 0x01, f32::exp2(-9.0)),
            (WgmmaElement::E4m3, 0xb9, -1.125),
            (WgmmaElement::E5m2, 0x3c, 1.0),
            (WgmmaElement::E5m2, 0x7b, 57_344.0),
            (WgmmaElement::E5m2, 0x01, f32::exp2(-16.0)),
            (WgmmaElement::E5m2, 0xfc, f32::NEG_INFINITY),
        ] {
            assert_eq!(value(element, bits), expected, "{element:?} {bits:#x}");
        }
        assert!(value(WgmmaElement::E4m3, 0xff).is_nan() && value(WgmmaElement::E5m2, 0x7d).is_nan());
        assert!(value(WgmmaElement::E4m3, 0x80).is_sign_negative());
    }

    #[test]
    fn truncation_keeps_13_bits_below_the_largest_exponent() {
        let dot = |accumulation, start, a: &[u8], b: &[u8]| dot(accumulation, E4M3, start, (a, b));
        // 2^16 and 2^-12: 28 bits apart.
        let (a, b) = ([LARGE, SMALL], [LARGE, SMALL]);
        assert_eq!(dot(Fp8Accumulation::Exact, 0.0, &a, &b), 65_536.0);
        assert_eq!(dot(Fp8Accumulation::Truncated, 0.0, &a, &b), 65_536.0);
        // An accumulator of 2^13 leaves units of 1; of 2^14 of 2.
        let ones = [ONE; 3];
        assert_eq!(dot(Fp8Accumulation::Truncated, 8192.0, &ones, &ones), 8195.0);
        assert_eq!(dot(Fp8Accumulation::Truncated, 16_384.0, &ones, &ones), 16_384.0);
        assert_eq!(dot(Fp8Accumulation::Exact, 16_384.0, &ones, &ones), 16_387.0);
        // Towards zero: -1 is lost as 1 is.
        let minus = [ONE | 0x80; 3];
        assert_eq!(dot(Fp8Accumulation::Truncated, 16_384.0, &ones, &minus), 16_384.0);
        // Terms of 4096 leave units of 1/2, their sum of 8192 of 1.
        let (a, b) = ([0x70, 0x70, ONE], [0x60, 0x60, ONE]);
        assert_eq!(dot(Fp8Accumulation::Exact, 0.5, &a, &b), 8193.5);
        assert_eq!(dot(Fp8Accumulation::Truncated, 0.5, &a, &b), 8193.0);
        assert_eq!(dot(Fp8Accumulation::Truncated, 0.0, &[], &[]), 0.0);
    }

    #[test]
    fn what_is_no_number_stays_so() {
        let infinite = [0x7c_u8];
        let sum = |a: &[u8], b: &[u8]| dot(Fp8Accumulation::Truncated, [WgmmaElement::E5m2; 2], 1.0, (a, b));
        assert_eq!(sum(&infinite, &[0x3c]), f32::INFINITY);
        assert!(sum(&infinite, &[0x00]).is_nan());
        assert!(sum(&[0x7f], &[0x3c]).is_nan());
    }
}
