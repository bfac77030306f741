//! Exercise 8.1: a load that is never committed.
//!
//! Each thread loads one element with `cp.async` and waits. The wait covers committed groups only.

use cuda_std::async_copy::{cp_async_ca, cp_async_wait_group};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{GlobalMut, Shared};

/// Threads of the CTA, and elements.
const THREADS: usize = 64;

/// Reverses 64 elements.
///
/// # Safety
/// `from` and `to` have 64 elements; one CTA of 64 threads.
#[kernel]
pub unsafe fn reverse(from: *const u32, to: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t < THREADS.
    unsafe {
        let tile = Shared::new(shared_array![u32; THREADS], THREADS);
        cp_async_ca(tile.as_mut_ptr().add(t), from.add(t));
        cp_async_wait_group::<0>();
        // RAW: every thread has waited for its own load.
        thread::sync_threads();
        GlobalMut::new(to, THREADS).set(t, tile.get(THREADS - 1 - t));
    }
}
