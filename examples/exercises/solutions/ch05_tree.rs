//! Solution of exercise 5.2: a tree with strides.
//!
//! With strides that halve, 128, 64, 32, the words of adjacent lanes are adjacent on every level.

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
        let mut stride = THREADS / 2;
        while stride > 0 {
            // RAW: the level before is written.
            thread::sync_threads();
            if t < stride {
                tile.set(t, tile.get(t) + tile.get(t + stride));
            }
            stride /= 2;
        }
        if t == 0 {
            GlobalMut::new(to, 1).set(0, tile.get(0));
        }
    }
}
