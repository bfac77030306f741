//! Exercise 4.2: a thread that leaves early.
//!
//! The sum of the elements of a CTA, by a tree in shared memory. There are fewer elements than threads.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Threads of the CTA.
const THREADS: usize = 64;

/// Writes the sum of `len` elements.
///
/// # Safety
/// `from` has `len` elements, at most 64, `to` has one; one CTA of 64 threads.
#[kernel]
pub unsafe fn sum(from: *const u32, to: *mut u32, len: usize) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t < THREADS.
    unsafe {
        let tile = Shared::new(shared_array![u32; THREADS], THREADS);
        if t >= len {
            return;
        }
        tile.set(t, Global::new(from, len).get(t));
        let mut half = THREADS / 2;
        while half > 0 {
            // RAW: the level before is written.
            thread::sync_threads();
            if t < half {
                tile.set(t, tile.get(t) + tile.get(t + half));
            }
            half /= 2;
        }
        if t == 0 {
            GlobalMut::new(to, 1).set(0, tile.get(0));
        }
    }
}
