//! Exercise 4.1: a halo that nobody wrote.
//!
//! Each element becomes the sum of itself and its two neighbors; beyond the ends there are zeros. The tile has one
//! more element on either side, its halo.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Threads of the CTA, and elements.
const THREADS: usize = 64;

/// `to[i] = from[i - 1] + from[i] + from[i + 1]`.
///
/// # Safety
/// `from` and `to` have 64 elements; one CTA of 64 threads.
#[kernel]
pub unsafe fn stencil(from: *const u32, to: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t < THREADS.
    unsafe {
        let tile = Shared::new(shared_array![u32; THREADS + 2], THREADS + 2);
        tile.set(t + 1, Global::new(from, THREADS).get(t));
        // RAW: the tile is filled.
        thread::sync_threads();
        GlobalMut::new(to, THREADS).set(t, tile.get(t) + tile.get(t + 1) + tile.get(t + 2));
    }
}
