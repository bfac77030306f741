//! Two kernels that reverse an array piece by piece, each block of threads one piece as long as the block.
//!
//! A thread reads one element and writes another, which some other thread of its block reads. Done in place, that would
//! be a race; so the block first copies its piece to shared memory, waits until all of it is there, and writes it back
//! reversed.
//!
//! The views of `cuda_views` are bare pointers on a GPU. In the simulator every access through them is checked.
#![no_std]

use cuda_std::{kernel, shared::dynamic_shared_mem, shared_array, thread};
use cuda_views::{GlobalMut, Shared};

/// Threads in a block of `reverse_static`. The host launches with the same constant.
pub const STATIC_BLOCK: u32 = 64;

/// Static shared memory: how much is needed is known when the kernel is compiled.
///
/// # Safety
///
/// `data` points to `len` elements in GPU memory; blocks of `STATIC_BLOCK` threads.
#[kernel]
pub unsafe fn reverse_static(data: *mut u32, len: u32) {
    let tile = shared_array![u32; STATIC_BLOCK as usize];
    // SAFETY: the tile has an element for each thread; the rest is the caller's promise.
    unsafe { reverse(data, len, Shared::new(tile, STATIC_BLOCK as usize)) }
}

/// Dynamic shared memory: how much is needed is said at each launch, here 4 bytes for each thread of a block.
///
/// # Safety
///
/// `data` points to `len` elements in GPU memory; dynamic shared memory of one element for each thread of a block.
#[kernel]
pub unsafe fn reverse_dynamic(data: *mut u32, len: u32) {
    let (tile, threads) = (dynamic_shared_mem::<u32>(), thread::block_dim_x());
    // SAFETY: the caller promises an element of the tile for each thread, and the rest.
    unsafe { reverse(data, len, Shared::new(tile, threads as usize)) }
}

/// # Safety
///
/// `data` points to `len` elements in GPU memory, `tile` has one for each thread of a block. Every thread of the block
/// calls this.
unsafe fn reverse(data: *mut u32, len: u32, tile: Shared<u32>) {
    // SAFETY: the caller's promise.
    let data = unsafe { GlobalMut::new(data, len as usize) };
    let (block, threads) = (thread::block_idx_x(), thread::block_dim_x());
    let start = block * threads;
    // The last piece may be shorter than the block; its surplus threads move nothing.
    let piece = threads.min(len - start);
    let i = thread::thread_idx_x();
    if i < piece {
        // SAFETY: element i lies in the piece and in the tile, and only this thread touches either before the barrier.
        unsafe { tile.set(i as usize, data.get((start + i) as usize)) };
    }
    // Read after write: the tile is filled. All threads of the block must come here, also those with nothing to move.
    thread::sync_threads();
    if i < piece {
        // SAFETY: as above, after the barrier that every writer of the tile has passed.
        unsafe { data.set((start + i) as usize, tile.get((piece - 1 - i) as usize)) };
    }
}
