//! Extents and leading dimensions.

use crate::shape::Operand;

/// Extents and leading dimensions of `C (m x n) = A (m x k) · B (k x n)`, row-major, in elements.
///
/// Made by [`GemmShape::args`](crate::GemmShape::args), which has checked them: each is at most `i32::MAX`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GemmArgs {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// Elements from one row of A to the next.
    pub lda: u32,
    /// Elements from one row of B to the next.
    pub ldb: u32,
    /// Elements from one row of C to the next.
    pub ldc: u32,
}

impl GemmArgs {
    /// (rows, columns, leading dimension) of an operand, all in elements.
    #[inline(always)]
    pub const fn extents(&self, operand: Operand) -> (usize, usize, usize) {
        let Self { m, n, k, lda, ldb, ldc } = *self;
        let (rows, columns, ld) = match operand {
            Operand::A => (m, k, lda),
            Operand::B => (k, n, ldb),
            Operand::C => (m, n, ldc),
        };
        (rows as usize, columns as usize, ld as usize)
    }

    /// Elements from the first to the last element of an operand, both included: `(rows - 1) * ld + columns`, 0 when
    /// empty.
    #[inline(always)]
    pub const fn span_elems(&self, operand: Operand) -> usize {
        let (rows, columns, ld) = self.extents(operand);
        span_elems(rows, columns, ld)
    }
}

/// Elements from the first to the last element of a matrix, both included; 0 when it is empty.
#[inline(always)]
pub const fn span_elems(rows: usize, columns: usize, ld: usize) -> usize {
    // Cannot wrap where usize has 64 bits: both factors are below 2^31.
    if rows == 0 || columns == 0 {
        0
    } else {
        (rows - 1) * ld + columns
    }
}
