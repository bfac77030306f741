//! Exercise 5.3: a swizzle in place of padding.
//!
//! The tile of exercise 5.1 without the unused column: the column index is exchanged by XOR with the row. Whoever
//! reads must look where the writer put it.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Rows and columns of the tile.
const WIDTH: usize = 32;

/// Where the element of a row and a column is.
fn at(row: usize, column: usize) -> usize {
    row * WIDTH + (column ^ row)
}

/// Transposes.
///
/// # Safety
/// `from` and `to` have 32 x 32 elements; one CTA of 32 x 8 threads.
#[kernel]
pub unsafe fn transpose(from: *const u32, to: *mut u32) {
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    // SAFETY: tx < 32, ty < 8.
    unsafe {
        let (from, to) = (Global::new(from, WIDTH * WIDTH), GlobalMut::new(to, WIDTH * WIDTH));
        let tile = Shared::new(shared_array![u32; WIDTH * WIDTH], WIDTH * WIDTH);
        for row in (ty..WIDTH).step_by(8) {
            tile.set(at(row, tx), from.get(row * WIDTH + tx));
        }
        // RAW: the tile is filled.
        thread::sync_threads();
        for row in (ty..WIDTH).step_by(8) {
            to.set(row * WIDTH + tx, tile.get(tx * WIDTH + row));
        }
    }
}
