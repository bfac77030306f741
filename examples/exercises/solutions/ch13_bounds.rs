//! Solution of exercise 13.2: slots for fewer threads than there are.
//!
//! THREADS is the number of threads of the launch: 256.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Threads that the slots are provided for.
const THREADS: usize = 256;
/// Values that each thread saves.
const SLOTS: usize = 4;

/// Writes the sum of each thread's four elements, which it saves in shared memory in between.
///
/// # Safety
/// `from` has 1024 elements, `to` 256; one CTA of 256 threads.
#[kernel]
pub unsafe fn spilled(from: *const u32, to: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the views check that slots are inside the array; each thread reads what it wrote itself.
    unsafe {
        let from = Global::new(from, 1024);
        let slots = Shared::new(shared_array![u32; THREADS * SLOTS], THREADS * SLOTS);
        for slot in 0..SLOTS {
            slots.set(slot * THREADS + t, from.get(slot * 256 + t));
        }
        let sum = (0..SLOTS).map(|slot| slots.get(slot * THREADS + t)).sum();
        GlobalMut::new(to, 256).set(t, sum);
    }
}
