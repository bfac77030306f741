//! Whether a C is the product, up to rounding.

use tilewright_contract::{Fp8, Fp8Mode, Fp8Scaling};

use super::Fp8Gemm;
use crate::element::Element;
use crate::error::Result;
use crate::problem::OutputOf;
use crate::scaled::{Checked, compare};

/// What adds up along K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Exact within one `wgmma`, rounded to f32: the simulator, unless told otherwise.
    F32,
    /// The tensor cores of Hopper, or the simulator's model of them.
    TensorCores,
}

impl Arithmetic {
    /// The error that is allowed, relative to the sum of all magnitudes.
    ///
    /// F32: a unit in the last place for each `wgmma` along K, three for each k-tile (its scales and its addition), and
    /// six for the epilogue.
    ///
    /// Tensor cores: a term loses up to a unit of 2^-13 of the largest among the sum so far and the terms, half of one
    /// on average. If all have one sign, that is up to 2^-14 of the sum of all for each term: of all of K, or of the
    /// promoted 128 of a k-tile. Terms of both signs lose far less; what they are held to has to be found with data
    /// whose sums are exact.
    fn relative(self, mode: Fp8Mode, k: usize) -> f64 {
        let k_tiles = k.div_ceil(Fp8Scaling::BLOCK);
        let steps = (k.div_ceil(Fp8::MMA_K as usize) + 3 * k_tiles + 6) as f64;
        let rounded = steps * f64::exp2(-23.0);
        let added = if mode.promotes() { k.min(Fp8Scaling::BLOCK) } else { k };
        match self {
            Self::F32 => rounded,
            Self::TensorCores => rounded + added as f64 * f64::exp2(-14.0),
        }
    }
}

/// Compares every element of C with the [reference](super::reference), as far as a kernel of `mode` with this
/// arithmetic is to be held to it; and half a unit of C's type of the result.
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a bias or a C of another length.
pub fn check<E, C>(
    gemm: &Fp8Gemm<'_, E>,
    mode: Fp8Mode,
    arithmetic: Arithmetic,
    before: Option<&[f64]>,
    c: &[C],
) -> Result<Checked>
where
    E: Element<Accumulator = f32>,
    C: OutputOf<E>,
{
    let [_, _, k] = gemm.extents();
    compare(gemm, before, c, arithmetic.relative(mode, k))
}
