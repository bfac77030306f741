//! Transposes an operand, for kernels that load faster, or only, from a matrix of the other major.
//!
//! ```text
//! a CTA has a tile of 32 x 32 elements of the matrix
//!     warp w loads rows w, w + 8, .. of the tile into shared memory    128 bytes of a row: coalesced
//!     barrier                                                          RAW: the tile is filled
//!     warp w stores columns w, w + 8, .. as rows of the copy           128 bytes of a row: coalesced
//! ```
//!
//! The pitch of the tile is 33 elements, so that a column, too, is in 32 banks. Rows of the copy have the padding of
//! [`CopyRows`]: zeros past their end, so that whole vectors may be loaded.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};
use tilewright_contract::CopyRows;

use crate::block::copies;
use crate::block::unroll::unrolled;

/// Rows and columns of a tile.
const TILE: u32 = CopyRows::TILE;

/// Elements from one row of the tile in shared memory to the next.
const PITCH: u32 = TILE + 1;

/// Rows of a tile that the CTA loads at once: one for each warp.
const WARPS: u32 = CopyRows::THREADS / TILE;

/// Elements of a tile in shared memory.
const ELEMS: usize = (TILE * PITCH) as usize;

/// Copies the transpose of the matrix at `from` into the rows at `to`, and that of `next_from` into those at `next_to`.
///
/// # Safety
/// For each of both, of which the second may be [`CopyRows::NONE`]: `from` are the matrices of 4-byte elements that
/// `copy` describes, in global memory; `to` is memory for `columns` rows of `to_ld` elements for each at a multiple of
/// 16 bytes, and does not overlap them. The grid has [`CopyRows::tiles`] CTAs for the first and then those for the
/// second, of [`CopyRows::THREADS`] threads, both along x, and a row along y for each matrix of the longer batch.
#[kernel(max_threads = 256)]
pub unsafe fn transpose_rows_b32(
    from: *const u32,
    to: *mut u32,
    copy: CopyRows,
    next_from: *const u32,
    next_to: *mut u32,
    next: CopyRows,
) {
    let operands = [(from, to, copy), (next_from, next_to, next)];
    let to_stride = |copy: &CopyRows| copy.transposed_elems() as u64;
    let matrix = copies::of_cta(operands[0], operands[1], CopyRows::tiles, to_stride);
    let Some(copies::Matrix {
        from,
        to,
        copy,
        cta: tile,
    }) = matrix
    else {
        return;
    };
    // Never 0: without elements nothing is launched. Stated to the compiler, the division has no case for it.
    let tiles_of_row = copy.tiles_of_row().max(1);
    let (first_column, first_row) = (tile / tiles_of_row * TILE, tile % tiles_of_row * TILE);
    let (lane, warp) = (thread::thread_idx_x() % TILE, thread::thread_idx_x() / TILE);
    // SAFETY: the caller's promise; what is loaded and stored is inside the matrices, no other thread stores these
    // elements, and the array has as many as the view says.
    unsafe {
        let (from, to) = (
            Global::new_with(from, || copy.from_elems()),
            GlobalMut::new_with(to, || copy.transposed_elems()),
        );
        let tile = Shared::new(shared_array![u32; ELEMS], ELEMS);
        // All loads before the first store, so that they are under way together.
        let mut elements = [0; 4];
        unrolled!(4, at most 4, |i| {
            let (row, column) = (first_row + warp + i as u32 * WARPS, first_column + lane);
            // Outside, the last element along that extent is loaded: with a branch around each load, each would wait
            // for the previous one.
            let (near_row, near_column) = (row.min(copy.rows - 1), column.min(copy.columns - 1));
            let element = from.get(near_row as usize * copy.from_ld as usize + near_column as usize);
            elements[i] = if row < copy.rows { element } else { 0 };
        });
        unrolled!(4, at most 4, |i| {
            tile.set(((warp + i as u32 * WARPS) * PITCH + lane) as usize, elements[i]);
        });
        // RAW: other warps read columns of the tile that this one has filled rows of.
        thread::sync_threads();
        unrolled!(4, at most 4, |i| {
            let of_tile = warp + i as u32 * WARPS;
            let (row, column) = (first_column + of_tile, first_row + lane);
            if row < copy.columns && column < copy.to_ld {
                let at = row as usize * copy.to_ld as usize + column as usize;
                to.set(at, tile.get((lane * PITCH + of_tile) as usize));
            }
        });
    }
}
