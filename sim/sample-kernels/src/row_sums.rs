//! The sum of each row of a matrix, with accesses of 16 bytes.
//!
//! ```text
//! sum = 0
//! for each step of 32 columns:
//!     the block copies a 32 x 32 tile: each thread four neighbouring elements        outside the matrix: zeros
//!     barrier                                                                        RAW: the tile is filled
//!     threads t < 32: sum += the elements of row t, four at a time
//!     barrier                                                                        WAR: the tile is drained
//! sums[row] = sum
//! ```
//!
//! A pitch of 36 words keeps each row aligned to 16 bytes and puts the rows that eight lanes read at once into
//! different banks: 36 t mod 32 = 4 t. A pitch of 33, which an access of one word would ask for, is not aligned.
//!
//! Block: 256 threads. Grid: one block for each 32 rows.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Rows and columns of a tile.
pub const WIDTH: usize = 32;

/// Elements from one row of the tile to the next.
const PITCH: usize = WIDTH + 4;

/// Four elements that are accessed at once: an array of them is aligned to 16 bytes, one of `[f32; 4]` to 4.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Vector([f32; 4]);

/// Threads of a block: each copies four elements of a tile.
pub const THREADS: usize = WIDTH * WIDTH / 4;

/// Writes to `sums` the sum of each of the `rows` rows of `input`, `columns` elements each.
///
/// # Safety
/// - `input` has `rows * columns` elements, aligned to 16 bytes, `sums` has `rows`, both in global memory; `columns` is
///   a multiple of 4.
/// - The block has [`THREADS`] threads along x, the grid covers the rows.
#[kernel]
pub unsafe fn row_sums(input: *const f32, sums: *mut f32, rows: u32, columns: u32) {
    let (rows, columns) = (rows as usize, columns as usize);
    let t = thread::thread_idx_x() as usize;
    let first_row = thread::block_idx_x() as usize * WIDTH;
    // The thread's four elements of the tile.
    let (tile_row, tile_column) = (t / (WIDTH / 4), t % (WIDTH / 4) * 4);
    // SAFETY: rows and columns of the tile are below WIDTH; those of the matrix are tested. All are multiples of four
    // elements.
    unsafe {
        let (input, sums) = (Global::new(input, rows * columns), GlobalMut::new(sums, rows));
        let tile = Shared::new(shared_array![Vector; WIDTH * PITCH / 4].cast::<f32>(), WIDTH * PITCH);
        let mut sum = 0.0;
        let mut first_column = 0;
        while first_column < columns {
            let (row, column) = (first_row + tile_row, first_column + tile_column);
            let four = if row < rows && column < columns {
                input.get_vec::<4>(row * columns + column)
            } else {
                [0.0; 4]
            };
            tile.set_vec(tile_row * PITCH + tile_column, four);
            // RAW: the tile is filled.
            thread::sync_threads();
            if t < WIDTH {
                let mut k = 0;
                while k < WIDTH {
                    let [a, b, c, d] = tile.get_vec::<4>(t * PITCH + k);
                    sum += a + b + (c + d);
                    k += 4;
                }
            }
            // WAR: the tile is drained before the next step overwrites it.
            thread::sync_threads();
            first_column += WIDTH;
        }
        if t < WIDTH && first_row + t < rows {
            sums.set(first_row + t, sum);
        }
    }
}
