//! Exercise 11.2: a CTA that leaves its neighbor alone.
//!
//! The same exchange. This time the first barrier is right.

use cuda_std::{kernel, thread};
use cuda_views::GlobalMut;
use cuda_views::cluster::{self, get, map, rank};

use crate::support::memory;

/// Writes the words of the other CTA.
///
/// # Safety
/// `to` has 64 elements; a cluster of two CTAs of 32 threads with the dynamic shared memory of [`memory`].
#[kernel]
pub unsafe fn exchange(to: *mut u32) {
    let (own, t) = (rank(), thread::thread_idx_x());
    let (_, words) = memory();
    // SAFETY: t < 32.
    unsafe {
        words.set(t as usize, 32 * own + t);
        // RAW: the words of both CTAs are written.
        cluster::arrive();
        cluster::wait();
        let value: u32 = get(map(words, t, own ^ 1));
        GlobalMut::new(to, 64).set((32 * own + t) as usize, value);
    }
}
