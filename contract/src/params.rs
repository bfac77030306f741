//! The one parameter block of the kernels.

use crate::args::GemmArgs;
use crate::epilogue::{Activation, Output};
use crate::shape::Operand;
use crate::units::Bytes;

/// What every kernel takes: `C (m x n) = activation(alpha * op(A) * op(B) + beta * C + bias)`, row-major, for each
/// product of a [batch](crate::Batch), and how the launch divides it. Extents and leading dimensions are in elements,
/// of the matrices as they are stored; each is at most `i32::MAX`.
///
/// A kernel has one of two signatures. The parameters are a grid constant: the launch passes the value, and each thread
/// reads the fields that it names from there (`.param` space), so that a field which no kernel reads costs nothing.
///
/// ```text
/// #[kernel]
/// pub unsafe fn k(#[grid_constant] params: &GemmParams<f32>) {
///     let GemmParams { a, b, c, m, n, k, lda, ldb, ldc, .. } = *params;
///     ..
/// }
///
/// #[kernel]
/// pub unsafe fn k(
///     #[grid_constant] params: &GemmParams<f16>,
///     #[grid_constant] map_a: &TensorMap,
///     #[grid_constant] map_b: &TensorMap,
///     #[grid_constant] map_c: &TensorMap,
/// ) { .. }
/// ```
///
/// All fields are plain and in this one struct, pointers first, so that a kernel takes them apart in one line and the
/// layout is the same for every `E` and free of holes.
#[repr(C)]
#[derive(Debug, PartialEq)]
pub struct GemmParams<E> {
    /// A, m x k, or k x m where it is transposed.
    pub a: *const E,
    /// B, k x n, or n x k where it is transposed.
    pub b: *const E,
    /// C, m x n; overlaps neither A nor B. Its elements are of the type that [`output`](Self::output) says.
    pub c: *mut E,
    /// One element for each column of C, or null for none.
    pub bias: *const E,
    /// Partial accumulators of split-K; null with one split.
    pub workspace: *mut f32,
    /// Counters of split-K, 0 before and after a launch; null with one split.
    pub counters: *mut u32,
    /// Where each group of rows of A and C ends, in rows from the first of all, in an order that does not fall; null of
    /// a product without groups. The first group starts at row 0; rows from the last end on belong to none. FP8 kernels
    /// take it for a batch, too, whose A are apart: how many rows of each product count, or null for all.
    pub group_ends: *const u32,
    /// Elements from A of one product of a batch to that of the next; 0 of one product, or of a matrix that all share.
    pub stride_a: u64,
    /// The same of B.
    pub stride_b: u64,
    /// The same of C; 0 of one product.
    pub stride_c: u64,
    /// [`alpha`](Self::alpha) and [`beta`](Self::beta) for kernels of f64, which read these instead.
    pub factors_f64: [f64; 2],
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// Columns of op(A), rows of op(B).
    pub k: u32,
    /// Elements from one row of A to the next.
    pub lda: u32,
    /// Elements from one row of B to the next.
    pub ldb: u32,
    /// Elements from one row of C to the next.
    pub ldc: u32,
    /// The factor of the product.
    pub alpha: f32,
    /// The factor of the source C; with 0 it is not read.
    pub beta: f32,
    /// Products of the launch; groups of rows where there are some.
    pub batch: u32,
    /// Splits of K, each computed by CTAs of its own.
    pub splits: u32,
    /// Elements along K of a split but the last, a multiple of BLOCK_K.
    pub k_per_split: u32,
    /// Rows and columns of a tile whose width the launch chooses, in elements.
    pub tile_width: u32,
    /// Bytes of dynamic shared memory that hold `A_s`, padding included: `B_s` begins here (the slides' `Adz_sz`).
    pub a_part: Bytes,
    /// Bytes of dynamic shared memory that hold `B_s` (the slides' `Bdz_sz`).
    pub b_part: Bytes,
    /// Applied to each element last.
    pub activation: Activation,
    /// The type of C's elements.
    pub output: Output,
}

impl<E> GemmParams<E> {
    /// One product alone, in one split, with no tile to choose.
    pub const fn product(a: *const E, b: *const E, c: *mut E, args: GemmArgs) -> Self {
        let GemmArgs { m, n, k, lda, ldb, ldc } = args;
        Self {
            a,
            b,
            c,
            bias: core::ptr::null(),
            workspace: core::ptr::null_mut(),
            counters: core::ptr::null_mut(),
            group_ends: core::ptr::null(),
            stride_a: 0,
            stride_b: 0,
            stride_c: 0,
            m,
            n,
            k,
            lda,
            ldb,
            ldc,
            alpha: 1.0,
            beta: 0.0,
            factors_f64: [1.0, 0.0],
            batch: 1,
            splits: 1,
            k_per_split: 0,
            tile_width: 0,
            a_part: Bytes(0),
            b_part: Bytes(0),
            activation: Activation::None,
            output: Output::Same,
        }
    }

    /// Extents and leading dimensions.
    #[inline(always)]
    pub const fn args(&self) -> GemmArgs {
        let Self {
            m, n, k, lda, ldb, ldc, ..
        } = *self;
        GemmArgs { m, n, k, lda, ldb, ldc }
    }

    /// Elements from the first to the last element of an operand that is not transposed, both included; 0 when empty.
    #[inline(always)]
    pub const fn span_elems(&self, operand: Operand) -> usize {
        self.args().span_elems(operand)
    }
}

impl<E> Clone for GemmParams<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for GemmParams<E> {}

#[cfg(test)]
mod tests {
    use core::mem::offset_of;

    use super::*;

    #[test]
    fn the_layout_is_one_for_every_element_and_has_no_holes() {
        assert_eq!(size_of::<GemmParams<f64>>(), 12 * 8 + 16 * 4);
        assert_eq!(size_of::<GemmParams<u8>>(), size_of::<GemmParams<f64>>());
        assert_eq!(offset_of!(GemmParams<u16>, m), 96);
        assert_eq!(offset_of!(GemmParams<u16>, output), 156);
    }
}
