//! Solution of exercise 10.3: what the async proxy sees.
//!
//! Every writer executes `fence.proxy.async` after its writes and before the barrier.

use cuda_std::{kernel, thread};
use cuda_views::bulk_copy::{commit, proxy_fence, store_2d, wait};

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
        proxy_fence();
        // RAW: all words are written.
        thread::sync_threads();
        if t == 0 {
            store_2d(&*map, [0, 0], words, 0);
            commit();
            wait(0, false);
        }
    }
}
