//! Whether a C is the product, up to rounding.

use super::BlockScaledGemm;
use crate::element::Element;
use crate::error::Result;
use crate::problem::OutputOf;
use crate::scaled::{Checked, compare};

/// Compares every element of C with the [reference](super::reference). Allowed are, relative to the sum of all
/// magnitudes, one unit in the last place of f32 for each `mma` along K and four for the epilogue, and half a unit of
/// C's type of the result.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a bias or a C of another length.
pub fn check<E, C>(gemm: &BlockScaledGemm<'_, E>, before: Option<&[f64]>, c: &[C]) -> Result<Checked>
where
    E: Element<Accumulator = f32>,
    C: OutputOf<E>,
{
    let [_, _, k] = gemm.extents();
    let steps = (k.div_ceil(gemm.format().mma_k() as usize) + 4) as f64;
    compare(gemm, before, c, steps * f64::exp2(-23.0))
}
