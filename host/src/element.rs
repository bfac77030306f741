//! The element types of matrices and the types that their products are summed in.

use std::fmt::{Debug, Display, LowerExp};
use std::num::ParseFloatError;
use std::ops::{Add, Mul};
use std::str::FromStr;

use cust::memory::DeviceCopy;
use half::{bf16, f16};
use tilewright_contract::DType;

mod sealed {
    /// What the kernels, too, take for an element.
    pub trait Sealed: kernels_gpu::block::element::Element {}
}

/// A type that A, B and C can hold: `f32`, `f64`, [`half::f16`] and [`half::bf16`].
///
/// Sealed: each implementation stands for a [`DType`], and the kernels know no others.
pub trait Element: sealed::Sealed + DeviceCopy + Copy + Send + Sync + PartialEq + Debug + Display + 'static {
    /// The same type, as kernels and reports name it.
    const DTYPE: DType;

    /// The type that products are summed in ([`DType::accumulator`]).
    type Accumulator: Accumulator;

    /// The same value in the accumulator's type; exact.
    fn to_accumulator(self) -> Self::Accumulator;

    /// The nearest element, ties to even; beyond the range an infinity.
    fn from_accumulator(sum: Self::Accumulator) -> Self;

    /// The same value; exact.
    fn to_f64(self) -> f64;

    /// The nearest element, ties to even, rounded once; beyond the range an infinity.
    fn from_f64(value: f64) -> Self;
}

/// A type that products are summed in: `f32` or `f64`.
pub trait Accumulator:
    Element<Accumulator = Self>
    + Default
    + LowerExp
    + Add<Output = Self>
    + Mul<Output = Self>
    + FromStr<Err = ParseFloatError>
{
    /// The largest finite number.
    const MAX: Self;
}

impl sealed::Sealed for f32 {}
impl Accumulator for f32 {
    const MAX: Self = f32::MAX;
}

impl Element for f32 {
    const DTYPE: DType = DType::F32;
    type Accumulator = f32;

    #[inline(always)]
    fn to_accumulator(self) -> f32 {
        self
    }

    #[inline(always)]
    fn from_accumulator(sum: f32) -> Self {
        sum
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
}

impl sealed::Sealed for f64 {}
impl Accumulator for f64 {
    const MAX: Self = f64::MAX;
}

impl Element for f64 {
    const DTYPE: DType = DType::F64;
    type Accumulator = f64;

    #[inline(always)]
    fn to_accumulator(self) -> f64 {
        self
    }

    #[inline(always)]
    fn from_accumulator(sum: f64) -> Self {
        sum
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
}

impl sealed::Sealed for f16 {}
impl Element for f16 {
    const DTYPE: DType = DType::F16;
    type Accumulator = f32;

    /// Without branches, so that a loop over it becomes vector code; `f16::to_f32` looks at one value at a time.
    #[inline(always)]
    fn to_accumulator(self) -> f32 {
        // Exponent and fraction in their places of an f32, whose exponent is biased by 127, not by 15: the number is
        // too small by 2^112, and the product repairs normal and subnormal numbers alike.
        const REBIAS: f32 = f32::from_bits((127 + 112) << 23);
        let bits = u32::from(self.to_bits());
        let magnitude = (bits & 0x7fff) << 13;
        let finite = (f32::from_bits(magnitude) * REBIAS).to_bits();
        // Infinities and NaNs keep their fraction and take the highest exponent.
        let special = magnitude | 0x7f80_0000;
        let unsigned = if magnitude >= 0x7c00 << 13 { special } else { finite };
        f32::from_bits(unsigned | (bits & 0x8000) << 16)
    }

    #[inline(always)]
    fn from_accumulator(sum: f32) -> Self {
        f16::from_f32(sum)
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self.to_accumulator())
    }

    #[inline]
    fn from_f64(value: f64) -> Self {
        f16::from_f32(round_to_odd(value))
    }
}

impl sealed::Sealed for bf16 {}
impl Element for bf16 {
    const DTYPE: DType = DType::Bf16;
    type Accumulator = f32;

    #[inline(always)]
    fn to_accumulator(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }

    #[inline(always)]
    fn from_accumulator(sum: f32) -> Self {
        bf16::from_f32(sum)
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self.to_accumulator())
    }

    #[inline]
    fn from_f64(value: f64) -> Self {
        bf16::from_f32(round_to_odd(value))
    }
}

/// The f32 from which a 16-bit type's rounding gives what rounding `value` itself would give.
///
/// Rounding twice to nearest can be wrong: 1 + 2⁻¹¹ + 2⁻⁴⁰ becomes the f32 1 + 2⁻¹¹, which is a tie in f16 and goes
/// down. (`half` 1.8's own `from_f64` drops the low 32 bits of the f64 and has the same fault.) Rounding to odd first
/// (truncate, then set the last bit if anything was lost) keeps a tie apart from its neighbours, and is right where the
/// first type has two bits more than the second (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums",
/// IEEE Transactions on Computers 57, 2008): 24 against 11 and 8.
fn round_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    if back == value || value.is_nan() {
        return nearest;
    }
    // Neighbours of one sign have neighbouring bit patterns; an overflow to infinity comes back to the largest number.
    let rounded_up = back.abs() > value.abs();
    let truncated = nearest.to_bits() - u32::from(rounded_up);
    f32::from_bits(truncated | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every 16-bit pattern, as `T`.
    fn all<T>(from_bits: impl Fn(u16) -> T) -> impl Iterator<Item = T> {
        (0..=u16::MAX).map(from_bits)
    }

    fn same(a: f64, b: f64) -> bool {
        a == b && a.is_sign_negative() == b.is_sign_negative() || a.is_nan() && b.is_nan()
    }

    #[test]
    fn widening_agrees_with_half_on_every_bit_pattern() {
        for x in all(f16::from_bits) {
            assert!(same(x.to_accumulator().into(), x.to_f32().into()), "{:#x}", x.to_bits());
        }
        for x in all(bf16::from_bits) {
            assert!(same(x.to_accumulator().into(), x.to_f32().into()), "{:#x}", x.to_bits());
        }
    }

    /// Rounds a neighbourhood of each midpoint between `low` and the next number away from zero.
    fn rounds_to_nearest_even<T: Element>(low: T, high: T, low_is_even: bool) {
        let (l, h) = (low.to_f64(), high.to_f64());
        assert!(same(T::from_f64(l).to_f64(), l));
        if !h.is_finite() {
            return;
        }
        let middle = l + (h - l) / 2.0;
        let sliver = (h - l) * 2f64.powi(-38);
        assert!(
            same(T::from_f64(middle - sliver).to_f64(), l),
            "below the middle of {l} and {h}"
        );
        assert!(
            same(T::from_f64(middle + sliver).to_f64(), h),
            "above the middle of {l} and {h}"
        );
        let even = if low_is_even { l } else { h };
        assert!(same(T::from_f64(middle).to_f64(), even), "the middle of {l} and {h}");
    }

    #[test]
    fn narrowing_rounds_once_around_every_f16_and_bf16() {
        for sign in [0, 0x8000] {
            for bits in 0..0x7c00_u16 {
                let number = |bits: u16| f16::from_bits(bits | sign);
                rounds_to_nearest_even(number(bits), number(bits + 1), bits % 2 == 0);
            }
            for bits in 0..0x7f80_u16 {
                let number = |bits: u16| bf16::from_bits(bits | sign);
                rounds_to_nearest_even(number(bits), number(bits + 1), bits % 2 == 0);
            }
        }
    }

    #[test]
    fn narrowing_overflows_where_the_next_power_of_two_would_be_nearer() {
        // 65504 is the largest f16; 65520 is half way to 2^16 and goes to even, which is infinity.
        assert_eq!(Element::to_f64(<f16 as Element>::from_f64(65519.999999)), 65504.0);
        assert_eq!(Element::to_f64(<f16 as Element>::from_f64(65520.0)), f64::INFINITY);
        assert_eq!(Element::to_f64(<f16 as Element>::from_f64(-1e300)), f64::NEG_INFINITY);
        assert_eq!(Element::to_f64(<bf16 as Element>::from_f64(1e39)), f64::INFINITY);
        assert!(<f16 as Element>::from_f64(f64::NAN).is_nan());
        assert!(<bf16 as Element>::from_f64(f64::NAN).is_nan());
    }

    #[test]
    fn accumulators_are_those_of_the_table() {
        fn agrees<T: Element>() -> bool {
            <T::Accumulator as Element>::DTYPE == T::DTYPE.accumulator()
                && size_of::<T>() == T::DTYPE.size_bytes() as usize
        }
        assert!(agrees::<f32>() && agrees::<f64>() && agrees::<f16>() && agrees::<bf16>());
    }
}
