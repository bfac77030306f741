//! Exercise 6.2: which columns a thread has.
//!
//! Each thread of a warp multiplies two columns of a row of B by a number. It has columns 2t and 2t + 1, and reads
//! them one word at a time. Spread the columns over the lanes so that each load takes one wavefront.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Columns of the row: two for each of 32 threads.
const COLUMNS: usize = 64;

/// The column of a thread's accumulator `i`, 0 or 1.
fn column(t: usize, i: usize) -> usize {
    2 * t + i
}

/// `to[c] = 3 * from[c]`, by way of shared memory.
///
/// # Safety
/// `from` and `to` have 64 elements; one CTA of 32 threads.
#[kernel]
pub unsafe fn scale(from: *const u32, to: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: every column is below COLUMNS.
    unsafe {
        let (from, to) = (Global::new(from, COLUMNS), GlobalMut::new(to, COLUMNS));
        let row = Shared::new(shared_array![u32; COLUMNS], COLUMNS);
        for i in 0..2 {
            row.set(t + 32 * i, from.get(t + 32 * i));
        }
        // RAW: the row is filled.
        thread::sync_threads();
        for i in 0..2 {
            to.set(column(t, i), 3 * row.get(column(t, i)));
        }
    }
}
