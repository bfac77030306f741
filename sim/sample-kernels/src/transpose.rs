//! The transposed matrix, through a tile in shared memory.
//!
//! ```text
//! the block copies a 32 x 32 tile, row by row            global memory is read along rows: coalesced
//! barrier                                                RAW: the tile is filled
//! the block writes the tile's columns as rows            global memory is written along rows: coalesced
//! ```
//!
//! Without shared memory one of the two sides would go along a column, 32 sectors for each warp instead of 4. With it
//! the columns are read in shared memory, where the pitch decides: 32 words from row to row put a column into one bank,
//! a 32-way bank conflict. One unused column makes the pitch 33, and a column is in 32 banks.
//!
//! Block: 32 x 8 threads, each copies 4 elements. Grid: x over the tiles of a row of the input, y over those of a
//! column.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Rows and columns of a tile.
pub const WIDTH: usize = 32;

/// Rows that the block copies at once.
pub const ROWS: usize = 8;

/// Writes the transpose of `input`, `rows` x `columns`, to `output`, through a tile with `pitch` elements from row to
/// row.
///
/// # Safety
/// - `input` and `output` have `rows * columns` elements in global memory and do not overlap.
/// - `tile` has `WIDTH * pitch` elements of the block's shared memory, and `pitch` is at least [`WIDTH`].
/// - The block has [`WIDTH`] x [`ROWS`] threads, the grid covers the input. Every thread of the block calls this.
#[inline(always)]
unsafe fn transpose(input: *const f32, output: *mut f32, rows: u32, columns: u32, tile: *mut f32, pitch: usize) {
    let (rows, columns) = (rows as usize, columns as usize);
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (first_row, first_column) = (
        thread::block_idx_y() as usize * WIDTH,
        thread::block_idx_x() as usize * WIDTH,
    );
    // SAFETY: tx < WIDTH, ty + i < WIDTH; elements outside the matrices are left alone.
    unsafe {
        let (input, output) = (
            Global::new(input, rows * columns),
            GlobalMut::new(output, rows * columns),
        );
        let tile = Shared::new(tile, WIDTH * pitch);
        let mut i = 0;
        while i < WIDTH {
            let (row, column) = (first_row + ty + i, first_column + tx);
            if row < rows && column < columns {
                tile.set((ty + i) * pitch + tx, input.get(row * columns + column));
            }
            i += ROWS;
        }
        // RAW: the tile is filled before its columns are read.
        thread::sync_threads();
        let mut i = 0;
        while i < WIDTH {
            let (row, column) = (first_column + ty + i, first_row + tx);
            if row < columns && column < rows {
                output.set(row * rows + column, tile.get(tx * pitch + ty + i));
            }
            i += ROWS;
        }
    }
}

/// The transpose through a tile without padding: correct but slow, since a column of the tile is in one bank.
///
/// # Safety
/// - `input` and `output` have `rows * columns` elements in global memory and do not overlap.
/// - The block has [`WIDTH`] x [`ROWS`] threads, the grid covers the input.
#[kernel]
pub unsafe fn transpose_tile(input: *const f32, output: *mut f32, rows: u32, columns: u32) {
    let tile = shared_array![f32; WIDTH * WIDTH];
    // SAFETY: the tile is as large as its pitch asks for; the rest is the caller's promise.
    unsafe { transpose(input, output, rows, columns, tile, WIDTH) }
}

/// The transpose through a tile with one column of padding: no bank conflicts.
///
/// # Safety
/// As for [`transpose_tile`].
#[kernel]
pub unsafe fn transpose_padded(input: *const f32, output: *mut f32, rows: u32, columns: u32) {
    let tile = shared_array![f32; WIDTH * (WIDTH + 1)];
    // SAFETY: the tile is as large as its pitch asks for; the rest is the caller's promise.
    unsafe { transpose(input, output, rows, columns, tile, WIDTH + 1) }
}
