//! Exercise 5.2: a tree with strides.
//!
//! The sum of 256 elements by a tree whose strides double: 1, 2, 4. The active threads stay together, their words move
//! apart: the strides run into the same banks. The result must stay the same.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Threads of the CTA, and elements.
const THREADS: usize = 256;

/// Writes the sum of 256 elements.
///
/// # Safety
/// `from` has 256 elements, `to` one; one CTA of 256 threads.
#[kernel]
pub unsafe fn sum(from: *const u32, to: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: every index is below THREADS.
    unsafe {
        let tile = Shared::new(shared_array![u32; THREADS], THREADS);
        tile.set(t, Global::new(from, THREADS).get(t));
        let mut stride = 1;
        while stride < THREADS {
            // RAW: the level before is written.
            thread::sync_threads();
            let at = 2 * stride * t;
            if at < THREADS {
                tile.set(at, tile.get(at) + tile.get(at + stride));
            }
            stride *= 2;
        }
        if t == 0 {
            GlobalMut::new(to, 1).set(0, tile.get(0));
        }
    }
}
