//! The problem.

use tilewright_contract::Activation;

use super::ScaledMatrix;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::problem::{Epilogue, Factors};

/// `C = activation(alpha · A · B + beta · C + bias)`, A (m x k) and B (k x n) with scales, C (m x n) row-major and
/// packed, of `E` or of f32. The bias has n elements of `E`, f16 or bf16.
#[derive(Debug)]
pub struct ScaledGemm<'a, M, E> {
    /// A: m rows.
    pub a: &'a M,
    /// B: n columns, stored as rows.
    pub b: &'a M,
    /// What follows the product. The operands' own factors come to alpha.
    pub epilogue: Epilogue<&'a [E]>,
}

impl<M, E> Clone for ScaledGemm<'_, M, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, E> Copy for ScaledGemm<'_, M, E> {}

impl<'a, M: ScaledMatrix, E: Element<Accumulator = f32>> ScaledGemm<'a, M, E> {
    /// The product alone.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for matrices that do not go together, such as of different K, with both.
    pub fn new(a: &'a M, b: &'a M) -> Result<Self> {
        a.check_pair(b)?;
        Ok(Self {
            a,
            b,
            epilogue: Epilogue::from(Factors::default()),
        })
    }

    /// With these factors.
    pub fn factors(mut self, factors: Factors) -> Self {
        self.epilogue.factors = factors;
        self
    }

    /// With a bias of n elements.
    pub fn bias(mut self, bias: &'a [E]) -> Self {
        self.epilogue.bias = Some(bias);
        self
    }

    /// With an activation.
    pub fn activation(mut self, activation: Activation) -> Self {
        self.epilogue.activation = activation;
        self
    }

    /// M, N and K.
    pub fn extents(&self) -> [usize; 3] {
        [self.a.rows(), self.b.rows(), self.a.k()]
    }

    /// What the sum of products is multiplied with: alpha and the factors of A and of B, rounded to f32 as the kernel
    /// takes it.
    pub fn alpha(&self) -> f32 {
        let factors = f64::from(self.a.factor()) * f64::from(self.b.factor());
        (f64::from(self.epilogue.factors.alpha) * factors) as f32
    }

    /// Refuses a bias and a C of other lengths.
    pub(crate) fn check(&self, c_len: Option<usize>) -> Result<()> {
        let [m, n, _] = self.extents();
        check_lengths(&self.epilogue, [m, n], c_len)
    }
}

/// Refuses a bias and a C of other lengths than those of a C of m x n, and a beta without a C.
pub(crate) fn check_lengths<E>(epilogue: &Epilogue<&[E]>, [m, n]: [usize; 2], c_len: Option<usize>) -> Result<()> {
    let refuse = |what: &str, got: usize, needed: usize| {
        Err(Error::InvalidArgument(format!(
            "{what} has {got} elements, its shape needs {needed}"
        )))
    };
    match (epilogue.bias, c_len) {
        (Some(bias), _) if bias.len() != n => refuse("the bias", bias.len(), n),
        (_, Some(got)) if got != m * n => refuse("C", got, m * n),
        (_, None) if epilogue.factors.beta != 0.0 => Err(Error::InvalidArgument(format!(
            "beta = {} needs a C to read",
            epilogue.factors.beta
        ))),
        _ => Ok(()),
    }
}
