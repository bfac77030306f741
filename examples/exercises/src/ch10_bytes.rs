//! Exercise 10.2: the bytes that a phase expects.
//!
//! One thread loads two boxes of 128 bytes by TMA, both on one mbarrier. The phase ends when all threads have arrived
//! and all expected bytes have.

use cuda_std::{kernel, thread};
use cuda_views::GlobalMut;
use cuda_views::bulk_copy::load_2d;
use cuda_views::mbarrier::{arrive_expect_tx, wait};

use crate::support::{BOX, BOX_BYTES, Map, init_all, memory};

/// Adds the words of two boxes.
///
/// # Safety
/// `map` is of a matrix of two boxes, `to` has 32 elements; one CTA of 32 threads with the dynamic shared memory of
/// [`memory`].
#[kernel]
pub unsafe fn add(map: *const Map, to: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    let (barriers, words) = memory();
    // SAFETY: t < 32.
    unsafe {
        init_all(barriers, 1, 1);
        if t == 0 {
            arrive_expect_tx(barriers, 0, BOX_BYTES);
            load_2d(words, 0, &*map, [0, 0], (barriers, 0));
            load_2d(words, BOX as u32, &*map, [0, 4], (barriers, 0));
        }
        // RAW: both boxes have arrived.
        wait(barriers, 0, 0);
        GlobalMut::new(to, BOX).set(t, words.get(t) + words.get(BOX + t));
    }
}
