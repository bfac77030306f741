//! Exercise 10.3: what the async proxy sees.
//!
//! Threads write a box in shared memory, and one of them stores it by TMA. A barrier orders the threads. TMA is no
//! thread.

use cuda_std::{kernel, thread};
use cuda_views::bulk_copy::{commit, store_2d, wait};

use crate::support::{Map, memory};

/// Stores 32 words.
///
/// # Safety
/// `map` is of a matrix of one box; one CTA of 32 threads with the dynamic shared memory of [`memory`].
#[kernel]
pub unsafe fn store(map: *const Map) {
    let t = thread::thread_idx_x();
    let (_, words) = memory();
    // SAFETY: t < 32.
    unsafe {
        words.set(t as usize, 7 * t);
        // RAW: all words are written.
        thread::sync_threads();
        if t == 0 {
            store_2d(&*map, [0, 0], words, 0);
            commit();
            wait(0, false);
        }
    }
}
