//! Exercise 3.1: how much a launch may ask for.
//!
//! The kernel has 256 bytes of static shared memory and takes as much dynamic shared memory as the architecture
//! allows. `dynamic_bytes` computes how much that is from the opt-in limit of a CTA.

use cuda_std::{kernel, shared::dynamic_shared_mem, shared_array, thread};
use cuda_views::{GlobalMut, Shared};

/// Words of the static array, one for each thread.
pub const THREADS: usize = 64;

/// The largest dynamic shared memory of a launch where a CTA may have `optin_bytes` in all.
pub fn dynamic_bytes(optin_bytes: u32) -> u32 {
    optin_bytes
}

/// Writes `words`, the size of the dynamic shared memory, by way of its last word.
///
/// # Safety
/// `to` has 64 elements; one CTA of 64 threads with `words` words of dynamic shared memory.
#[kernel]
pub unsafe fn fill(to: *mut u32, words: usize) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t < THREADS.
    unsafe {
        let counts = Shared::new(shared_array![u32; THREADS], THREADS);
        let memory = Shared::new(dynamic_shared_mem::<u32>(), words);
        if t == 0 {
            memory.set(words - 1, words as u32);
        }
        // RAW: the last word is written.
        thread::sync_threads();
        counts.set(t, memory.get(words - 1));
        GlobalMut::new(to, THREADS).set(t, counts.get(t));
    }
}
