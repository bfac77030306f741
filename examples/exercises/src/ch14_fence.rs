//! Exercise 14.1: partial sums that the last CTA reads.
//!
//! Split-K in small: four CTAs write a partial sum each and count; the last one adds them up. The counter is atomic.
//! Does it order the partial sums?

use cuda_std::atomic::intrinsics::atomic_fetch_add_relaxed_u32_device;
use cuda_std::{kernel, thread};
use cuda_views::{Global, GlobalMut};

/// Elements of K of a CTA.
const K_PER_SPLIT: usize = 16;

/// Writes the sum of all elements.
///
/// # Safety
/// `from` has 16 elements for each CTA, `partial` one, `counter` and `total` one in all; the counter is 0. CTAs of one
/// thread.
#[kernel]
pub unsafe fn sum(from: *const u32, partial: *mut u32, counter: *mut u32, total: *mut u32) {
    let (split, splits) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    // SAFETY: indices are below the lengths.
    unsafe {
        let (from, partial) = (Global::new(from, splits * K_PER_SPLIT), GlobalMut::new(partial, splits));
        let own = (0..K_PER_SPLIT).map(|i| from.get(split * K_PER_SPLIT + i)).sum();
        partial.set(split, own);
        let before = atomic_fetch_add_relaxed_u32_device(counter, 1);
        if before as usize == splits - 1 {
            let sum = (0..splits).map(|i| partial.get(i)).sum();
            GlobalMut::new(total, 1).set(0, sum);
        }
    }
}
