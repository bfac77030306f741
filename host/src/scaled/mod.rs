//! Products of matrices with scales: what [`block_scaled`](crate::block_scaled) and [`fp8`](crate::fp8) share.

mod check;
mod gemm;
mod plan;
mod reference;
mod simulate;

pub use check::Checked;
pub(crate) use check::compare;
pub use gemm::ScaledGemm;
pub(crate) use gemm::check_lengths;
pub(crate) use plan::{Addresses, GroupEnds, ScaledLaunch, ScaledPlan};
pub use reference::reference;
pub(crate) use simulate::{Inputs, launch};
pub use simulate::{Simulated, simulate};

use crate::error::{Error, Result};

/// An operand whose elements have scales: rows along K. A is stored as its rows, B as its columns. Sealed: implemented
/// by [`BlockScaled`](crate::block_scaled::BlockScaled) and [`Fp8Matrix`](crate::fp8::Fp8Matrix).
pub trait ScaledMatrix: Sync + sealed::Sealed {
    /// Rows: of A; columns of B.
    fn rows(&self) -> usize;

    /// Elements of a row.
    fn k(&self) -> usize;

    /// The elements, packed, row after row.
    fn data(&self) -> &[u8];

    /// The elements of a row times their scales, without the factor; exact.
    fn row(&self, row: usize) -> Vec<f64>;

    /// The factor of all elements.
    fn factor(&self) -> f32 {
        1.0
    }

    /// Refuses an A and a B that no product is of.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with what both are.
    fn check_pair(&self, b: &Self) -> Result<()>;
}

pub(crate) mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::block_scaled::BlockScaled {}
    impl Sealed for crate::block_scaled::Plan {}
    impl Sealed for crate::fp8::Fp8Matrix {}
    impl Sealed for crate::fp8::Plan {}
}

/// Refuses elements that are no matrix of numbers: another number of them, or one that is infinite or NaN, with its
/// place. `format` holds numbers only.
pub(crate) fn check_numbers(format: impl std::fmt::Display, [rows, k]: [usize; 2], elements: &[f32]) -> Result<()> {
    if rows.checked_mul(k) != Some(elements.len()) {
        return Err(Error::InvalidArgument(format!(
            "a matrix of {rows} x {k} has not {} elements",
            elements.len()
        )));
    }
    match elements.iter().position(|element| !element.is_finite()) {
        None => Ok(()),
        Some(at) => Err(Error::InvalidArgument(format!(
            "element {} of row {} is {}: {format} holds numbers only",
            at % k,
            at / k,
            elements[at]
        ))),
    }
}

/// Refuses a K that is 0 or no multiple of what rows of this format have to be.
pub(crate) fn check_k(format: impl std::fmt::Display, k: usize, multiple: u32) -> Result<()> {
    let multiple = multiple as usize;
    if k > 0 && k.is_multiple_of(multiple) {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "K = {k} of {format}: it has to be a multiple of {multiple}, nearest {}",
        k.max(1).next_multiple_of(multiple)
    )))
}

/// The largest magnitude, 0 of none.
pub(crate) fn largest_magnitude(elements: &[f32]) -> f64 {
    f64::from(elements.iter().fold(0.0_f32, |most, of| most.max(of.abs())))
}
