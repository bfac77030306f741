//! Solution of exercise 5.1: a column of a tile.
//!
//! One unused column makes the pitch 33 words, and the words of a column are in 32 banks.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Rows and columns of the tile.
const WIDTH: usize = 32;
/// Words from one row of the tile to the next.
const PITCH: usize = WIDTH + 1;

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
        let tile = Shared::new(shared_array![u32; WIDTH * PITCH], WIDTH * PITCH);
        for row in (ty..WIDTH).step_by(8) {
            tile.set(row * PITCH + tx, from.get(row * WIDTH + tx));
        }
        // RAW: the tile is filled.
        thread::sync_threads();
        for row in (ty..WIDTH).step_by(8) {
            to.set(row * WIDTH + tx, tile.get(tx * PITCH + row));
        }
    }
}
