//! Exercise 15.2: an mbarrier that TMA does not know yet.
//!
//! One thread initializes an mbarrier, and a barrier of the CTA lets the others see it. The load by TMA completes on
//! it.

use cuda_std::{kernel, thread};
use cuda_views::GlobalMut;
use cuda_views::bulk_copy::load_2d;
use cuda_views::mbarrier::{arrive_expect_tx, init, wait};

use crate::support::{BOX, BOX_BYTES, Map, memory};

/// Copies one box.
///
/// # Safety
/// `map` is of a matrix of one box, `to` has 32 elements; one CTA of 32 threads with the dynamic shared memory of
/// [`memory`].
#[kernel]
pub unsafe fn copy(map: *const Map, to: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    let (barriers, words) = memory();
    // SAFETY: t < BOX.
    unsafe {
        if t == 0 {
            init(barriers, 0, 1);
        }
        thread::sync_threads();
        if t == 0 {
            arrive_expect_tx(barriers, 0, BOX_BYTES);
            load_2d(words, 0, &*map, [0, 0], (barriers, 0));
        }
        // RAW: the box has arrived.
        wait(barriers, 0, 0);
        GlobalMut::new(to, BOX).set(t, words.get(t));
    }
}
