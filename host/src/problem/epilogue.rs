//! What follows a product: the factors, a bias, an activation, the type of C.

use half::{bf16, f16};
use tilewright_contract::{Activation, Family, Kernel, Output};

use super::Factors;
use crate::element::{Accumulator, Element};
use crate::error::{Error, Result};

/// `C = activation(alpha · op(A) · op(B) + beta · C + bias)`, all in the type of the sums, rounded once.
///
/// `B` is where the bias is: a slice on the host, a [`DeviceMatrix`](crate::launch::DeviceMatrix) on the device. It has
/// one element for each column of C, of the type of A and B. `F` is the type of the factors, that of the sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epilogue<B, F = f32> {
    /// Alpha and beta.
    pub factors: Factors<F>,
    /// Added to each row of C, before the activation.
    pub bias: Option<B>,
    /// Applied to each element at last.
    pub activation: Activation,
}

impl<B, F: Accumulator> Default for Epilogue<B, F> {
    /// The product alone.
    fn default() -> Self {
        Factors::default().into()
    }
}

impl<B, F> From<Factors<F>> for Epilogue<B, F> {
    fn from(factors: Factors<F>) -> Self {
        Self {
            factors,
            bias: None,
            activation: Activation::None,
        }
    }
}

impl<B, F: Accumulator> Epilogue<B, F> {
    /// Whether a kernel of [`epilogue`](tilewright_contract::Features::epilogue) is needed for A and B of `T` and C of
    /// `C`.
    pub(crate) fn needs_epilogue<T: Element, C: OutputOf<T>>(&self) -> bool {
        self.bias.is_some() || self.activation != Activation::None || C::OUTPUT != Output::Same
    }

    /// Refuses a kernel that cannot do this, and a bias of `bias_len` elements that is shorter than the `n` columns of
    /// C.
    pub(crate) fn check<T: Element, C: OutputOf<T>>(
        &self,
        kernel: &Kernel,
        n: usize,
        bias_len: impl FnOnce(&B) -> usize,
    ) -> Result<()> {
        self.factors.check(kernel)?;
        if self.needs_epilogue::<T, C>() && !kernel.supports.epilogue {
            return Err(Error::InvalidArgument(format!(
                "{} computes no bias, no activation and no C of another type; {} does, in f16 and bf16",
                kernel.symbol,
                Family::MMA_SYNC
            )));
        }
        check_bias(n, self.bias.as_ref().map(bias_len))
    }
}

/// Refuses a bias that is too short.
pub(crate) fn check_bias(n: usize, len: Option<usize>) -> Result<()> {
    match len {
        Some(len) if len < n => Err(Error::InvalidArgument(format!(
            "the bias has {len} elements, C has {n} columns"
        ))),
        _ => Ok(()),
    }
}

/// A type that C can have where A and B have `T`: the same, and f32 besides f16 and bf16. Sealed, as [`Element`] is.
pub trait OutputOf<T: Element>: Element<Accumulator = T::Accumulator> {
    /// How the kernels are told.
    const OUTPUT: Output;
}

impl<T: Element> OutputOf<T> for T {
    const OUTPUT: Output = Output::Same;
}

impl OutputOf<f16> for f32 {
    const OUTPUT: Output = Output::F32;
}

impl OutputOf<bf16> for f32 {
    const OUTPUT: Output = Output::F32;
}

/// The name of an activation on the command line and in reports.
pub(crate) fn activation_name(activation: Activation) -> &'static str {
    match activation {
        Activation::None => "none",
        Activation::Relu => "relu",
        Activation::Gelu => "gelu",
    }
}

/// An activation of an f64.
pub(crate) fn activate(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::None => x,
        Activation::Relu if x < 0.0 => 0.0,
        Activation::Relu => x,
        Activation::Gelu => x / (1.0 + (-gelu_exponent(x)).exp()),
    }
}

/// `2u` of GELU: with `1 + tanh u = 2 / (1 + e^-2u)` it is `x / (1 + e^-2u)`.
pub(crate) fn gelu_exponent(x: f64) -> f64 {
    2.0 * std::f64::consts::FRAC_2_PI.sqrt() * (x + 0.044715 * x * x * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activations_are_what_they_are_called() {
        let gelu = |x: f64| activate(Activation::Gelu, x);
        for x in [-30.0, -3.0, -0.5, 0.0, 1e-3, 2.0, 40.0_f64] {
            let tanh = ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh();
            assert!((gelu(x) - x / 2.0 * (1.0 + tanh)).abs() <= 1e-15 * x.abs(), "{x}");
            assert_eq!(activate(Activation::Relu, x), x.max(0.0));
            assert_eq!(activate(Activation::None, x), x);
        }
        assert!(activate(Activation::Relu, f64::NAN).is_nan() && gelu(f64::NEG_INFINITY).is_nan());
        assert_eq!(gelu(f64::INFINITY), f64::INFINITY);
    }
}
