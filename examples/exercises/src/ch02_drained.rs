//! Exercise 2.2: fill a tile before it is drained.
//!
//! One CTA reverses four rows of 64 elements, one after the other, through the same tile. A barrier says when the tile
//! is filled. What says when it is drained?

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Threads of the CTA, and elements of a row.
const THREADS: usize = 64;

/// Reverses each row.
///
/// # Safety
/// `from` and `to` have `rows` rows of 64 elements; one CTA of 64 threads.
#[kernel]
pub unsafe fn reverse_rows(from: *const u32, to: *mut u32, rows: usize) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t < THREADS.
    unsafe {
        let (from, to) = (Global::new(from, rows * THREADS), GlobalMut::new(to, rows * THREADS));
        let tile = Shared::new(shared_array![u32; THREADS], THREADS);
        for row in 0..rows {
            tile.set(t, from.get(row * THREADS + t));
            // RAW: the tile is filled.
            thread::sync_threads();
            to.set(row * THREADS + t, tile.get(THREADS - 1 - t));
        }
    }
}
