//! The problem: shape, factors, bias and activation in one value.

use tilewright_contract::{Activation, GemmShape};

use super::{Epilogue, Factors};
use crate::element::Accumulator;
use crate::error::{Error, Result};

/// `C = activation(alpha · op(A) · op(B) + beta · C + bias)`: what is to be computed, and nothing of how.
///
/// `B` holds the bias, `F` is the type of alpha and beta, as in [`Epilogue`]; both follow from the operands. So does
/// the type of C: that of A and B, or f32 where they are f16 or bf16 ([`OutputOf`](super::OutputOf)).
///
/// ```
/// use tilewright::{Activation, Gemm, GemmShape};
///
/// let bias = [0.5_f32, 4.0];
/// let gemm = Gemm::new(GemmShape::packed(2, 2, 3)?)
///     .alpha(2.0_f32)
///     .beta(-1.0)
///     .bias(&bias[..])
///     .activation(Activation::Relu);
/// assert_eq!((gemm.epilogue.factors.alpha, gemm.epilogue.bias), (2.0, Some(&bias[..])));
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gemm<B, F = f32> {
    /// Extents, transpositions and leading dimensions.
    pub shape: GemmShape,
    /// What follows the product.
    pub epilogue: Epilogue<B, F>,
}

impl<B, F: Accumulator> Gemm<B, F> {
    /// The product alone.
    pub fn new(shape: GemmShape) -> Self {
        Self {
            shape,
            epilogue: Epilogue::default(),
        }
    }

    /// Scales the product.
    pub fn alpha(mut self, alpha: F) -> Self {
        self.epilogue.factors.alpha = alpha;
        self
    }

    /// Adds what C holds before, scaled.
    pub fn beta(mut self, beta: F) -> Self {
        self.epilogue.factors.beta = beta;
        self
    }

    /// Both at once.
    pub fn factors(mut self, factors: Factors<F>) -> Self {
        self.epilogue.factors = factors;
        self
    }

    /// Adds a row, of as many elements as C has columns, to every row.
    pub fn bias(mut self, bias: B) -> Self {
        self.epilogue.bias = Some(bias);
        self
    }

    /// Applies this to every element at last.
    pub fn activation(mut self, activation: Activation) -> Self {
        self.epilogue.activation = activation;
        self
    }

    /// Refuses a plan for another shape.
    pub(crate) fn check_planned(&self, planned: GemmShape) -> Result<()> {
        match self.shape == planned {
            true => Ok(()),
            false => Err(Error::InvalidArgument(format!(
                "the plan is for {planned}, the problem is {}",
                self.shape
            ))),
        }
    }
}
