//! Exercise 7.2: two stages, one barrier.
//!
//! With two stages one barrier per tile is enough: while some threads still read one stage, the others fill the next
//! one.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Threads of the CTA, and elements of a tile.
const THREADS: usize = 64;

/// Reverses each tile.
///
/// # Safety
/// `from` and `to` have `tiles` tiles of 64 elements; one CTA of 64 threads.
#[kernel]
pub unsafe fn reverse(from: *const u32, to: *mut u32, tiles: usize) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t < THREADS.
    unsafe {
        let (from, to) = (Global::new(from, tiles * THREADS), GlobalMut::new(to, tiles * THREADS));
        let stages = Shared::new(shared_array![u32; 2 * THREADS], 2 * THREADS);
        for tile in 0..tiles {
            let stage = 0;
            stages.set(stage + t, from.get(tile * THREADS + t));
            // RAW: this stage is filled. WAR: the other one is drained.
            thread::sync_threads();
            to.set(tile * THREADS + t, stages.get(stage + THREADS - 1 - t));
        }
    }
}
