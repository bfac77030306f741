//! Alpha and beta.

use tilewright_contract::{Rung, Variant};

use crate::error::{Error, Result};

/// The factors of `C = alpha · A · B + beta · C`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// The factor of the product.
    pub alpha: f32,
    /// The factor of what C holds before; with 0 it is not read.
    pub beta: f32,
}

impl Default for Factors {
    /// The product alone: 1 and 0.
    fn default() -> Self {
        Self { alpha: 1.0, beta: 0.0 }
    }
}

impl Factors {
    /// Whether they ask for the product alone.
    pub fn is_product(self) -> bool {
        self == Self::default()
    }

    /// Refuses a kernel that cannot scale.
    pub(crate) fn check(self, variant: &Variant) -> Result<()> {
        if self.is_product() || variant.rung.takes_call() {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!(
            "{} computes with alpha 1 and beta 0 only, not {} and {}; {} takes any",
            variant.symbol,
            self.alpha,
            self.beta,
            Rung::Gemm
        )))
    }
}
