//! Epilogue arithmetic, in f32: `activation(alpha * acc + beta * source + bias)`.

use cuda_views::Global;
use tilewright_contract::{Activation, GemmParams};

use crate::block::element::Element;
use crate::ptx::approximate::{exp2, reciprocal};

/// The bias and the activation of a launch.
#[derive(Clone, Copy)]
pub struct Epilogue<E> {
    bias: Option<Global<E>>,
    n: u32,
    activation: Activation,
}

impl<E: Element<Acc = f32>> Epilogue<E> {
    /// Epilogue of `params`.
    ///
    /// # Safety
    /// The bias, if there is one, has `n` elements in global memory.
    #[inline(always)]
    pub unsafe fn new(params: &GemmParams<E>) -> Self {
        // SAFETY: the caller's promise.
        let bias = (!params.bias.is_null()).then(|| unsafe { Global::new(params.bias, params.n as usize) });
        Self {
            bias,
            n: params.n,
            activation: params.activation,
        }
    }

    /// The bias of columns `column` and `column + 1`; 0 past C's last column, and 0 without a bias.
    ///
    /// # Safety
    /// As for [`new`](Self::new), still.
    #[inline(always)]
    pub unsafe fn bias(self, column: u32) -> [f32; 2] {
        let Some(bias) = self.bias else { return [0.0; 2] };
        [column, column + 1].map(|column| {
            // SAFETY: inside the bias.
            unsafe { bias.get_if(column < self.n, || column as usize, E::ZERO) }.widen()
        })
    }

    /// `activation(scaled + bias)` of two neighbors of a row; `scaled` is `alpha * acc + beta * source`, and `bias`
    /// their columns' [`bias`](Self::bias).
    #[inline(always)]
    pub fn apply(self, scaled: [f32; 2], bias: [f32; 2]) -> [f32; 2] {
        let biased = [scaled[0] + bias[0], scaled[1] + bias[1]];
        match self.activation {
            Activation::None => biased,
            Activation::Relu => [relu(biased[0]), relu(biased[1])],
            Activation::Gelu => [gelu(biased[0]), gelu(biased[1])],
        }
    }
}

/// `alpha * acc + beta * source`; with beta 0 the source is not loaded.
#[inline(always)]
pub fn linear_combination(alpha: f32, acc: f32, beta: f32, source: impl FnOnce() -> f32) -> f32 {
    let scaled = alpha * acc;
    if beta == 0.0 { scaled } else { scaled + beta * source() }
}

/// `max(x, 0)`, NaN for NaN.
#[inline(always)]
pub fn relu(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}

/// [`Activation::Gelu`]: since `tanh u = 2 / (1 + e^-2u) - 1`, it is `x / (1 + e^-2u)` with
/// u = `sqrt(2 / pi) * (x + 0.044715 * x^3)`.
///
/// The error of `tanh.approx.f32`, one instruction, is up to 2^-11, too much for a C of f32. Here the exponent has 5
/// roundings, whose effect grows with its size; the rest is off by less than 4 units in the last place. The total error
/// is 2^-20 of the result, plus 2^-21 |2u| e^-2u / (1 + e^-2u) of the result, plus 2^-120 on underflow.
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    /// `sqrt(2 / pi) * 2 / ln 2`, and 0.044715 times that.
    const LINEAR: f32 = 2.302_208_2;
    const CUBIC: f32 = 0.102_943_24;
    let power = exp2(-x * (LINEAR + CUBIC * (x * x)));
    x * reciprocal(1.0 + power)
}
