//! The sum of all elements in one launch: the last block reduces the partial sums of all blocks.
//!
//! ```text
//! sum = the block's elements, by a tree in shared memory
//! thread 0:
//!     partial[block] = sum
//!     fence                                   the partial sum is visible before the count
//!     is_last = (counter += 1, atomically) was blocks - 1
//!     fence                                   what the others published is visible after the count
//! barrier                                     RAW: is_last is written, and all threads follow thread 0's fence
//! the last block: total = the sum of partial[..]
//! ```
//!
//! No block waits for another, so the launch is right however many blocks run at once. (CUDA samples,
//! threadFenceReduction; CUDA guide, "Memory Fence Functions".)
//!
//! Block: 128 threads. Grid: at most 128 blocks, one for each 128 elements.

use cuda_std::atomic::intrinsics::atomic_fetch_add_relaxed_u32_device;
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Threads of a block.
pub const THREADS: usize = 128;

/// The sum of the block's values, in thread 0; other threads get another number. Every thread of the block calls this.
///
/// # Safety
/// `tile` has [`THREADS`] elements of shared memory, in which no thread has read or written since the last barrier.
#[inline(always)]
unsafe fn block_sum(tile: Shared<f32>, value: f32) -> f32 {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: every index is below THREADS.
    unsafe {
        tile.set(t, value);
        let mut half = THREADS / 2;
        while half > 0 {
            // RAW: the level before has written what this one reads.
            thread::sync_threads();
            if t < half {
                tile.set(t, tile.get(t) + tile.get(t + half));
            }
            half /= 2;
        }
        tile.get(t)
    }
}

/// Writes the sum of the `len` elements of `input` to `total`.
///
/// # Safety
/// - `input` has `len` elements, `partial` one for each block, `counter` and `total` one, all in global memory. The
///   counter is 0.
/// - The block has [`THREADS`] threads along x, the grid at most as many blocks.
#[kernel]
pub unsafe fn reduce_last_block(input: *const f32, partial: *mut f32, counter: *mut u32, total: *mut f32, len: u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    // SAFETY: i and t are tested; the shared arrays are as long as said.
    unsafe {
        let (input, partial) = (Global::new(input, len as usize), GlobalMut::new(partial, blocks));
        let tile = Shared::new(shared_array![f32; THREADS], THREADS);
        let is_last = Shared::new(shared_array![u32; 1], 1);
        let sum = block_sum(tile, if i < len as usize { input.get(i) } else { 0.0 });
        if t == 0 {
            partial.set(block, sum);
            // The partial sum is visible before the count.
            thread::device_fence();
            let before = atomic_fetch_add_relaxed_u32_device(counter, 1);
            // What the others published is visible after the count.
            thread::device_fence();
            is_last.set(0, u32::from(before as usize == blocks - 1));
        }
        // RAW: is_last is written. WAR: the tile is drained.
        thread::sync_threads();
        if is_last.get(0) == 0 {
            return;
        }
        let sum = block_sum(tile, if t < blocks { partial.get(t) } else { 0.0 });
        if t == 0 {
            GlobalMut::new(total, 1).set(0, sum);
        }
    }
}
