//! Exercise 2.3: two arrays in one allocation.
//!
//! The launch passes 2 x 64 x 4 bytes of dynamic shared memory, and the size of the first array in bytes. The kernel
//! adds the elements of two rows of different lengths through two arrays in this one allocation.

use cuda_std::{kernel, shared::dynamic_shared_mem, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Threads of the CTA, and elements of each array.
const THREADS: usize = 64;

/// `to[i] = from[i] + from[127 - i]`.
///
/// # Safety
/// `from` has 128 elements, `to` 64; one CTA of 64 threads, with dynamic shared memory for two arrays, of which the
/// first takes `first_bytes` bytes.
#[kernel]
pub unsafe fn add_rows(from: *const u32, to: *mut u32, first_bytes: usize) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t < THREADS.
    unsafe {
        let (from, to) = (Global::new(from, 2 * THREADS), GlobalMut::new(to, THREADS));
        let base = dynamic_shared_mem::<u8>();
        let one = Shared::new(base.cast::<u32>(), THREADS);
        let other = Shared::new(base.cast::<u32>().add(first_bytes), THREADS);
        one.set(t, from.get(t));
        other.set(t, from.get(THREADS + t));
        // RAW: both arrays are filled.
        thread::sync_threads();
        to.set(t, one.get(t) + other.get(THREADS - 1 - t));
    }
}
