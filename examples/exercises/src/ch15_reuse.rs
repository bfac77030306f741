//! Exercise 15.1: a buffer that a TMA store still reads.
//!
//! An epilogue stores two boxes from one buffer in shared memory. Between the two the buffer is written anew. (A bug
//! of a published Hopper kernel: chapter 15.)

use cuda_std::{kernel, thread};
use cuda_views::bulk_copy::{commit, proxy_fence, store_2d, wait};

use crate::support::{BOX, Map, memory};

/// Stores 64 words in two boxes.
///
/// # Safety
/// `map` is of a matrix of two boxes; one CTA of 32 threads with the dynamic shared memory of [`memory`].
#[kernel]
pub unsafe fn epilogue(map: *const Map) {
    let t = thread::thread_idx_x() as usize;
    let (_, words) = memory();
    // SAFETY: t < BOX.
    unsafe {
        for step in 0..2 {
            words.set(t, (BOX * step + t) as u32);
            proxy_fence();
            // RAW: the box is written.
            thread::sync_threads();
            if t == 0 {
                store_2d(&*map, [0, 4 * step as i32], words, 0);
                commit();
            }
            thread::sync_threads();
        }
        if t == 0 {
            wait(0, false);
        }
    }
}
