//! The forward error bound of a sum of products, and what it admits.

use tilewright_contract::{Activation, DType, Precision};

use crate::element::Element;
use crate::error::{Error, Result};
use crate::problem::{activate, gelu_exponent};

/// The unit roundoff of f64, in which expected values are computed.
pub(super) const F64_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// `γ_n(u) = n u / (1 - n u)`, the relative error that n roundings can pile up; infinite from `n u = 1` on.
pub(super) fn gamma(n: usize, roundoff: f64) -> f64 {
    let nu = n as f64 * roundoff;
    if nu < 1.0 { nu / (1.0 - nu) } else { f64::INFINITY }
}

/// Half the distance from 1 to the next number: the largest relative error of one rounding to nearest.
pub(super) fn unit_roundoff(dtype: DType) -> f64 {
    (-f64::from(dtype.significand_bits())).exp2()
}

/// The smallest positive number of a type: the largest error of an operation whose result underflows.
pub(super) fn smallest_positive(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::from_bits(1),
        DType::F32 => f64::from(f32::from_bits(1)),
        DType::F16 => (-24.0_f64).exp2(),
        DType::Bf16 => (-133.0_f64).exp2(),
    }
}

/// The bound of one product: what its K and its element type determine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    /// The error relative to the sum of the terms' magnitudes.
    pub(super) relative: f64,
    /// The error of products that underflow.
    pub(super) absolute: f64,
}

impl Bound {
    /// The bound of a sum of `k` products.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] where the bound is infinite.
    pub(super) fn new<T: Element>(k: usize, precision: Precision) -> Result<Self> {
        let sums = T::DTYPE.accumulator();
        let computed = gamma(k + precision.more_roundings() as usize, unit_roundoff(sums));
        // One rounding more for the ends of the interval, and the magnitudes are rounded as well: hence the last
        // factor.
        let expected = gamma(k + 1, F64_ROUNDOFF);
        let relative = (computed + expected) * (1.0 + 2.0 * expected);
        if !relative.is_finite() {
            return Err(Error::InvalidArgument(format!(
                "K = {k} has no error bound with sums in {sums}: it must stay below {}",
                unit_roundoff(sums).recip()
            )));
        }
        let absolute = k as f64 * (smallest_positive(sums) + smallest_positive(DType::F64));
        Ok(Self { relative, absolute })
    }

    /// The bound of `alpha` times a sum of `k` products plus `added` other terms: a rounding more for each and for
    /// alpha, and products that may underflow.
    ///
    /// # Errors
    /// As for [`Bound::new`].
    pub(super) fn scaled<T: Element>(k: usize, precision: Precision, alpha: f64, added: usize) -> Result<Self> {
        let sum = Self::new::<T>(k + 1 + added, precision)?;
        let smallest = smallest_positive(T::DTYPE.accumulator()) + smallest_positive(DType::F64);
        Ok(Self {
            relative: sum.relative,
            absolute: (alpha.abs() * k as f64 + 1.0 + added as f64) * smallest * (1.0 + sum.relative),
        })
    }

    /// What is admitted for an element of `C`: the activation of a sum that is `value` in f64, and whose terms'
    /// magnitudes add up to `magnitude`.
    pub(super) fn around<C: Element>(&self, value: f64, magnitude: f64, activation: Activation) -> Allowed {
        let error = self.relative * magnitude + self.absolute;
        // An infinite error says nothing, so it must not admit everything: then only the value itself will do.
        let error = if error.is_finite() { error } else { 0.0 };
        let activated = |x| activate(activation, x);
        let (low, high) = match activation {
            // Monotone: sums within the bound become what lies between the ends.
            Activation::None | Activation::Relu => (activated(value - error), activated(value + error)),
            Activation::Gelu => {
                let error = GELU_SLOPE * error + gelu_error(value);
                (activated(value) - error, activated(value) + error)
            }
        };
        let rounded = |x: f64| C::from_f64(x).to_f64();
        Allowed {
            value: activated(value),
            low: rounded(low),
            high: rounded(high),
        }
    }
}

/// No less than the slope of GELU anywhere, with room for the bound of [`gelu_error`] at a neighbouring place: it is at
/// most 1.129.
const GELU_SLOPE: f64 = 1.13;

/// How wrong the kernels' GELU of an f32 may be: their formula says (`block/epilogue.rs` of the kernels).
fn gelu_error(x: f64) -> f64 {
    let (value, twice_u) = (activate(Activation::Gelu, x), gelu_exponent(x));
    let power = (-twice_u).exp();
    let share = if power.is_finite() { power / (1.0 + power) } else { 1.0 };
    let relative = (-20.0_f64).exp2() + (-21.0_f64).exp2() * twice_u.abs() * share;
    let error = value.abs() * relative + (-120.0_f64).exp2();
    // Of infinities and beyond, only the value itself will do.
    if error.is_finite() { error } else { 0.0 }
}

/// The values that an element may have: from `low` to `high`; a NaN exactly where `value` is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    value: f64,
    low: f64,
    high: f64,
}

impl Allowed {
    /// The value itself, not rounded.
    pub(super) fn value(&self) -> f64 {
        self.value
    }

    /// Whether `got` is one of them.
    pub(super) fn admits(&self, got: f64) -> bool {
        if self.value.is_nan() {
            got.is_nan()
        } else {
            self.low <= got && got <= self.high
        }
    }

    /// How far from the value an element may be, on the wider side.
    pub(super) fn bound(&self) -> f64 {
        if self.low == self.high && !self.value.is_finite() {
            return 0.0;
        }
        (self.high - self.value).max(self.value - self.low)
    }

    /// The error of `got` in units of the bound: 0 if there is none, infinite for a NaN or an infinity out of place.
    pub(super) fn error_over_bound(&self, got: f64) -> f64 {
        if got == self.value || self.value.is_nan() && got.is_nan() {
            return 0.0;
        }
        let ratio = (got - self.value).abs() / self.bound();
        // Infinity by infinity: an overflow at the edge of the range. It uses all that is allowed, and no more.
        match ratio.is_nan() {
            true if self.admits(got) => 1.0,
            true => f64::INFINITY,
            false => ratio,
        }
    }
}
