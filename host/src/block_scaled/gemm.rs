//! The problem.

use tilewright_contract::BlockFormat;

use super::BlockScaled;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::scaled::{ScaledGemm, ScaledMatrix};

/// `C = activation(alpha · A · B + beta · C + bias)` of block-scaled matrices of one format.
pub type BlockScaledGemm<'a, E> = ScaledGemm<'a, BlockScaled, E>;

impl<E: Element<Accumulator = f32>> BlockScaledGemm<'_, E> {
    /// The format of A and B.
    pub fn format(&self) -> BlockFormat {
        self.a.format()
    }
}

impl ScaledMatrix for BlockScaled {
    fn rows(&self) -> usize {
        self.rows()
    }

    fn k(&self) -> usize {
        self.k()
    }

    fn data(&self) -> &[u8] {
        self.data()
    }

    fn row(&self, row: usize) -> Vec<f64> {
        self.scaled_row(row)
    }

    fn factor(&self) -> f32 {
        self.factor()
    }

    fn check_pair(&self, b: &Self) -> Result<()> {
        let a = self;
        if a.format() == b.format() && a.k() == b.k() {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!(
            "A is {} with K = {}, B is {} with K = {}: they have to be the same",
            a.format(),
            a.k(),
            b.format(),
            b.k()
        )))
    }
}
