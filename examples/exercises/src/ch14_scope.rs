//! Exercise 14.2: a counter for all CTAs.
//!
//! Each CTA counts its even elements and adds the number to one counter in global memory.

use cuda_std::atomic::intrinsics::atomic_fetch_add_relaxed_u32_block;
use cuda_std::{kernel, thread};
use cuda_views::Global;

/// Counts the even elements.
///
/// # Safety
/// `from` has an element for each thread, `count` one, which is 0.
#[kernel]
pub unsafe fn count_even(from: *const u32, count: *mut u32, len: usize) {
    let i = thread::index_1d() as usize;
    // SAFETY: i < len.
    unsafe {
        if Global::new(from, len).get(i).is_multiple_of(2) {
            atomic_fetch_add_relaxed_u32_block(count, 1);
        }
    }
}
