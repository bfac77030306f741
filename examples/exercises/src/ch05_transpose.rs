//! Exercise 5.1: a column of a tile.
//!
//! The kernel transposes a matrix of 32 x 32 through a tile. It is right, and the reads of the tile take 32 times as
//! many wavefronts as they could.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Rows and columns of the tile.
const WIDTH: usize = 32;
/// Words from one row of the tile to the next.
const PITCH: usize = WIDTH;

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
