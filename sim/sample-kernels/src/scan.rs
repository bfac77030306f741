//! Running sums within a block: element i becomes the sum of the block's elements 0 to i.
//!
//! ```text
//! current[t] = the thread's element
//! for distance = 1, 2, 4, .. 128:
//!     barrier                                               RAW: the step before has written `current`
//!     next[t] = current[t] + (t >= distance ? current[t - distance] : 0)
//!     exchange current and next
//! ```
//!
//! An iteration reads the buffer of the previous one and writes to the other buffer, which no thread reads until after
//! the next barrier. A thread that is one step ahead writes to the buffer that was read before the barrier that it has
//! passed: no second barrier is needed. (The way of Hillis and Steele, "Data Parallel Algorithms", CACM 29(12), 1986.)
//!
//! Block: 256 threads. Grid: one block for each 256 elements.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Threads of a block.
pub const THREADS: usize = 256;

/// Writes to `output` the running sums of each block's elements of `input`.
///
/// # Safety
/// - `input` and `output` have `len` elements in global memory.
/// - The block has [`THREADS`] threads along x.
#[kernel]
pub unsafe fn scan_inclusive(input: *const u32, output: *mut u32, len: u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: t < THREADS; i is tested before each use.
    unsafe {
        let (input, output) = (Global::new(input, len as usize), GlobalMut::new(output, len as usize));
        let buffers = Shared::new(shared_array![u32; 2 * THREADS], 2 * THREADS);
        let (mut current, mut next) = (buffers.part(0, THREADS), buffers.part(THREADS, THREADS));
        current.set(t, if i < len as usize { input.get(i) } else { 0 });
        let mut distance = 1;
        while distance < THREADS {
            // RAW: the step before has written what this one reads.
            thread::sync_threads();
            let before = if t >= distance { current.get(t - distance) } else { 0 };
            next.set(t, before.wrapping_add(current.get(t)));
            (current, next) = (next, current);
            distance *= 2;
        }
        // The thread's own element of the last step.
        if i < len as usize {
            output.set(i, current.get(t));
        }
    }
}
