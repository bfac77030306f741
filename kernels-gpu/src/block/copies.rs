//! The matrix that a CTA of a copy is for: a launch copies one operand, or two, one CTA after the other along x.

use cuda_std::thread;
use tilewright_contract::CopyRows;

use crate::block::batch::offset;

/// An operand to copy: from where, to where, and how.
pub type Operand<F, T> = (*const F, *mut T, CopyRows);

/// What a CTA copies.
pub struct Matrix<F, T> {
    /// Its matrix of the batch.
    pub from: *const F,
    /// The copy.
    pub to: *mut T,
    /// The geometry.
    pub copy: CopyRows,
    /// The CTA's index among those of the matrix.
    pub cta: u32,
}

/// What this CTA copies of two operands, the first of which has `ctas` CTAs for a matrix, and whose copied matrices are
/// so many elements apart; `None` past the last matrix of a batch.
#[inline(always)]
pub fn of_cta<F, T>(
    first: Operand<F, T>,
    second: Operand<F, T>,
    ctas: impl FnOnce(&CopyRows) -> u32,
    to_stride: impl FnOnce(&CopyRows) -> u64,
) -> Option<Matrix<F, T>> {
    let (cta, ctas) = (thread::block_idx_x(), ctas(&first.2));
    let ((from, to, copy), cta) = if cta < ctas { (first, cta) } else { (second, cta - ctas) };
    let matrix = thread::block_idx_y();
    (matrix < copy.matrices).then(|| Matrix {
        from: from.wrapping_add(offset(copy.from_stride, matrix)),
        to: to.wrapping_add(offset(to_stride(&copy), matrix)),
        copy,
        cta,
    })
}
