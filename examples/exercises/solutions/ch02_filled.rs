//! Solution of exercise 2.1: read a tile before it is filled.
//!
//! RAW: a barrier stands between the writes of the tile and the reads by other threads.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{GlobalMut, Shared};

/// Threads of a CTA, and elements of its tile.
const THREADS: usize = 64;

/// Reverses the elements of each CTA.
///
/// # Safety
/// `data` has an element for each thread of the grid; CTAs of 64 threads.
#[kernel]
pub unsafe fn reverse(data: *mut u32, len: usize) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: i < len, t < THREADS.
    unsafe {
        let data = GlobalMut::new(data, len);
        let tile = Shared::new(shared_array![u32; THREADS], THREADS);
        tile.set(t, data.get(i));
        // RAW: the tile is filled before any thread reads what others wrote.
        thread::sync_threads();
        data.set(i, tile.get(THREADS - 1 - t));
    }
}
