//! Four neighbours of a row of a matrix in global memory, in one access of 16 bytes where the addresses allow it.
//!
//! They do where a matrix begins at a multiple of 16 bytes and both its columns and its leading dimension are multiples
//! of 4: then every row begins at a multiple of 16 bytes, and four neighbours from a multiple of 4 on are all inside or
//! all outside. The choice is the same for all threads of a launch and made once, so one kernel computes every shape
//! and its warps never diverge over it.

use cuda_views::Global;
use tilewright_contract::Operand;

use crate::operands::Operands;

/// Whether all three matrices allow accesses of 16 bytes.
#[inline(always)]
pub fn allow_vectors(operands: Operands<f32>) -> bool {
    let Operands { a, b, c, args } = operands;
    let is_aligned = |address: usize, operand| {
        let (_, columns, ld) = args.extents(operand);
        address.is_multiple_of(16) && columns.is_multiple_of(4) && ld.is_multiple_of(4)
    };
    is_aligned(a.as_ptr().addr(), Operand::A)
        && is_aligned(b.as_ptr().addr(), Operand::B)
        && is_aligned(c.as_mut_ptr().addr(), Operand::C)
}

/// A matrix that is read in fours, one access each where `VECTORS`.
#[derive(Clone, Copy)]
pub(super) struct Quads<const VECTORS: bool> {
    pub(super) from: Global<f32>,
    pub(super) rows: u32,
    pub(super) columns: u32,
    pub(super) ld: u32,
}

impl<const VECTORS: bool> Quads<VECTORS> {
    /// The elements of `row` from `column` on, a multiple of 4; outside the matrix zeros.
    ///
    /// # Safety
    /// - The matrix is as the fields say, in global memory.
    /// - With `VECTORS` it is one of those that [`allow_vectors`] asks for.
    #[inline(always)]
    pub(super) unsafe fn get(self, row: u32, column: u32) -> [f32; 4] {
        // 64 bits: an operand may exceed 2^32 elements.
        let index = || row as usize * self.ld as usize + column as usize;
        let inside = |j: u32| row < self.rows && column + j < self.columns;
        // SAFETY: guarded by the matrix's extents; a vector is aligned, and inside where its first element is.
        unsafe {
            if VECTORS {
                if inside(0) {
                    self.from.get_vec(index())
                } else {
                    [0.0; 4]
                }
            } else {
                [
                    self.from.get_if(inside(0), index, 0.0),
                    self.from.get_if(inside(1), || index() + 1, 0.0),
                    self.from.get_if(inside(2), || index() + 2, 0.0),
                    self.from.get_if(inside(3), || index() + 3, 0.0),
                ]
            }
        }
    }
}

/// Sets the elements of C from (`row`, `column`) on, those of them that are inside; in one access where `VECTORS`.
///
/// # Safety
/// - `operands` describes matrices in global memory, which [`allow_vectors`] with `VECTORS`.
/// - `column` is a multiple of 4, and no other thread sets these elements.
#[inline(always)]
pub(super) unsafe fn set_quad<const VECTORS: bool>(operands: Operands<f32>, row: u32, column: u32, values: [f32; 4]) {
    let Operands { c, args, .. } = operands;
    let index = || row as usize * args.ldc as usize + column as usize;
    let inside = |j: u32| row < args.m && column + j < args.n;
    // SAFETY: as in `get`.
    unsafe {
        if VECTORS {
            if inside(0) {
                c.set_vec(index(), values);
            }
        } else {
            c.set_if(inside(0), index, || values[0]);
            c.set_if(inside(1), || index() + 1, || values[1]);
            c.set_if(inside(2), || index() + 2, || values[2]);
            c.set_if(inside(3), || index() + 3, || values[3]);
        }
    }
}
