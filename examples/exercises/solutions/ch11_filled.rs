//! Solution of exercise 11.1: a barrier that reaches the neighbor.
//!
//! `sync_threads` orders the threads of one CTA; only the cluster barrier orders those of both.

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
        // The shared memory of a CTA lasts as long as the CTA: nobody leaves before both have read.
        cluster::arrive();
        cluster::wait();
    }
}
