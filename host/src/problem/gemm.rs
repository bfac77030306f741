//! The problem: shape, factors, bias and activation in one value.

use tilewright_contract::{Activation, GemmShape};

use super::{Epilogue, Factors, Location};
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
pub struct Gemm<B: Location, F = f32> {
    /// Extents, transpositions and leading dimensions.
    pub shape: GemmShape,
    /// Where the groups of rows end, of a shape with groups ([`GemmShape::with_groups`]).
    pub group_ends: Option<B::GroupEnds>,
    /// What follows the product.
    pub epilogue: Epilogue<B, F>,
}

impl<B: Location, F: Accumulator> Gemm<B, F> {
    /// The product alone.
    pub fn new(shape: GemmShape) -> Self {
        Self {
            shape,
            group_ends: None,
            epilogue: Epilogue::default(),
        }
    }

    /// Says where each group of rows ends, in rows from the first of all; the first group begins at row 0. Rows past
    /// the last end belong to none: they are neither read nor written.
    ///
    /// ```
    /// use tilewright::{Backend, Gemm, GemmShape, Options, gemm};
    ///
    /// // 5 tokens for 3 experts with weights of 2 x 1: two for the first, none for the second, three for the last.
    /// let shape = GemmShape::packed(5, 1, 2)?.with_groups(3, 2)?;
    /// let ends = [2, 2, 5];
    /// let tokens = [1.0_f32, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
    /// let weights = [1.0_f32, 2.0, 10.0, 20.0, 100.0, 200.0];
    /// let mut c = [0.0; 5];
    /// # let options = Options {
    /// #     backend: Backend::Cpu,
    /// #     ..Options::default()
    /// # };
    /// gemm(&Gemm::new(shape).group_ends(&ends[..]), &tokens, &weights, &mut c, &options)?;
    /// assert_eq!(c, [1.0, 2.0, 100.0, 200.0, 300.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn group_ends(mut self, ends: B::GroupEnds) -> Self {
        self.group_ends = Some(ends);
        self
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

    /// With all that follows the product.
    pub fn epilogue(mut self, epilogue: Epilogue<B, F>) -> Self {
        self.epilogue = epilogue;
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
