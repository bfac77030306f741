//! Exercise 13.1: where a spilled register goes.
//!
//! Each of 128 threads keeps eight values in shared memory, as `ptxas` does with `enable_smem_spilling`. Each thread
//! has its eight words side by side. Find the order in which a warp that saves one register takes one wavefront.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Threads of the CTA.
const THREADS: usize = 128;
/// Values that each thread saves.
const SLOTS: usize = 8;

/// The word of a thread's slot.
fn at(t: usize, slot: usize) -> usize {
    t * SLOTS + slot
}

/// Writes the sum of each thread's eight elements, which it saves in shared memory in between.
///
/// # Safety
/// `from` has 1024 elements, `to` 128; one CTA of 128 threads.
#[kernel]
pub unsafe fn spilled(from: *const u32, to: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t < THREADS, slots are below SLOTS; each thread reads what it wrote itself.
    unsafe {
        let from = Global::new(from, THREADS * SLOTS);
        let slots = Shared::new(shared_array![u32; THREADS * SLOTS], THREADS * SLOTS);
        for slot in 0..SLOTS {
            slots.set(at(t, slot), from.get(slot * THREADS + t));
        }
        let sum = (0..SLOTS).map(|slot| slots.get(at(t, slot))).sum();
        GlobalMut::new(to, THREADS).set(t, sum);
    }
}
