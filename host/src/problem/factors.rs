//! Alpha and beta.

use std::fmt;

use tilewright_contract::{DType, Family, Kernel};

use crate::element::Accumulator;
use crate::error::{Error, Result};

/// The factors of `C = alpha · A · B + beta · C`, of the type that the products are summed in: f64 for matrices of f64,
/// f32 for all others, as in BLAS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors<F = f32> {
    /// The factor of the product; with 0 neither A nor B is read.
    pub alpha: F,
    /// The factor of what C holds before; with 0 it is not read.
    pub beta: F,
}

impl<F: Accumulator> Default for Factors<F> {
    /// The product alone: 1 and 0.
    fn default() -> Self {
        let [alpha, beta] = [1.0, 0.0].map(F::from_f64);
        Self { alpha, beta }
    }
}

impl<F: Accumulator> Factors<F> {
    /// Whether they ask for the product alone.
    pub fn is_product(self) -> bool {
        self == Self::default()
    }

    /// Whether the product counts; where not, A and B are not read.
    pub fn reads_operands(self) -> bool {
        self.alpha != F::default()
    }

    /// Whether what C holds before counts; where not, it is not read.
    pub fn reads_c(self) -> bool {
        self.beta != F::default()
    }

    /// Alpha and beta as f64, exactly, but for the sign of a zero, which would become one of the result.
    pub(crate) fn to_f64(self) -> [f64; 2] {
        [self.alpha, self.beta].map(|factor| factor.to_f64() + 0.0)
    }

    /// Refuses a kernel that cannot scale.
    pub(crate) fn check(self, kernel: &Kernel) -> Result<()> {
        if self.is_product() || kernel.supports.alpha_beta {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!(
            "{} computes with alpha 1 and beta 0 only, not {} and {}; {} takes any",
            kernel.symbol,
            self.alpha,
            self.beta,
            if kernel.dtype == DType::F64 {
                Family::MMA_F64
            } else {
                Family::SIMT
            }
        )))
    }
}

impl<F: Accumulator> fmt::Display for Factors<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "alpha {} and beta {}", self.alpha, self.beta)
    }
}
