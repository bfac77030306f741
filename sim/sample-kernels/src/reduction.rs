//! Sums within a block.
//!
//! ```text
//! tile[t] = the thread's element, 0 beyond the end
//! for half = 128, 64, .. 1:
//!     barrier                                    RAW: the sums of the level before are written
//!     threads t < half: tile[t] += tile[t + half]
//! ```
//!
//! Within one level no thread reads what another writes: the lower half is written by its own threads, the upper half
//! only read. So one barrier a level is enough.
//!
//! Two more ways: the last levels within one warp, which needs barriers of that warp only; and shuffles, which move
//! values between the lanes of a warp without memory, so that only one sum a warp goes through the tile.
//!
//! Block: 256 threads. Grid: one block for each 256 elements.

use cuda_std::{kernel, shared_array, thread, warp};
use cuda_views::{Global, GlobalMut, Shared};

/// Threads of a block.
pub const THREADS: usize = 256;

/// Lanes of a warp.
const LANES: usize = 32;

/// Fills the tile with the block's elements, zeros beyond the end.
///
/// # Safety
/// `input` has `len` elements and `tile` one for each thread of the block.
#[inline(always)]
unsafe fn fill(tile: Shared<f32>, input: *const f32, len: u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: i is tested; t is below the number of threads.
    unsafe {
        let input = Global::new(input, len as usize);
        tile.set(t, if i < len as usize { input.get(i) } else { 0.0 });
    }
}

/// Writes the sum of each block's elements of `input` to `sums`.
///
/// # Safety
/// - `input` has `len` elements, `sums` one for each block, both in global memory.
/// - The block has [`THREADS`] threads along x.
#[kernel]
pub unsafe fn reduce_tree(input: *const f32, sums: *mut f32, len: u32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the arrays are as long as said; every index is below THREADS.
    unsafe {
        let tile = Shared::new(shared_array![f32; THREADS], THREADS);
        fill(tile, input, len);
        let mut half = THREADS / 2;
        while half > 0 {
            // RAW: the level before has written what this one reads.
            thread::sync_threads();
            if t < half {
                tile.set(t, tile.get(t) + tile.get(t + half));
            }
            half /= 2;
        }
        // The last level was computed by the thread that stores it.
        if t == 0 {
            let sums = GlobalMut::new(sums, thread::grid_dim_x() as usize);
            sums.set(thread::block_idx_x() as usize, tile.get(0));
        }
    }
}

/// [`reduce_tree`] whose levels below a warp's width are left to the first warp: its lanes need no barrier of the
/// block, only one of the warp, and no other warp has to wait.
///
/// # Safety
/// As for [`reduce_tree`].
#[kernel]
pub unsafe fn reduce_warp(input: *const f32, sums: *mut f32, len: u32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the arrays are as long as said; every index is below THREADS. All lanes of the first warp reach each
    // barrier of it.
    unsafe {
        let tile = Shared::new(shared_array![f32; THREADS], THREADS);
        fill(tile, input, len);
        let mut half = THREADS / 2;
        while half >= LANES {
            // RAW: the level before has written what this one reads.
            thread::sync_threads();
            if t < half {
                tile.set(t, tile.get(t) + tile.get(t + half));
            }
            half /= 2;
        }
        // The level of 32 sums was computed by the first warp, which goes on alone.
        if t < LANES {
            while half > 0 {
                // RAW: the level before has written what this one reads.
                warp::sync_warp(u32::MAX);
                if t < half {
                    tile.set(t, tile.get(t) + tile.get(t + half));
                }
                half /= 2;
            }
        }
        if t == 0 {
            let sums = GlobalMut::new(sums, thread::grid_dim_x() as usize);
            sums.set(thread::block_idx_x() as usize, tile.get(0));
        }
    }
}

/// The sum of the values of a warp's lanes, in lane 0; other lanes get another number. Every lane of the warp calls
/// this.
///
/// # Safety
/// No lane of the warp has exited.
#[inline(always)]
unsafe fn warp_sum(mut value: f32) -> f32 {
    let mut distance = LANES as u32 / 2;
    while distance > 0 {
        // SAFETY: every lane is in the mask and comes here.
        value += unsafe { warp::warp_shuffle_down(u32::MAX, value, distance, 32) }.0;
        distance /= 2;
    }
    value
}

/// [`reduce_tree`] by shuffles: each warp adds up its elements, and the first warp adds up the warps' sums.
///
/// # Safety
/// As for [`reduce_tree`].
#[kernel]
pub unsafe fn reduce_shuffle(input: *const f32, sums: *mut f32, len: u32) {
    const WARPS: usize = THREADS / LANES;
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: i is tested; every index of the tile is below WARPS. Whole warps call `warp_sum`.
    unsafe {
        let input = Global::new(input, len as usize);
        let tile = Shared::new(shared_array![f32; WARPS], WARPS);
        let sum = warp_sum(if i < len as usize { input.get(i) } else { 0.0 });
        if t % LANES == 0 {
            tile.set(t / LANES, sum);
        }
        // RAW: every warp's sum is written.
        thread::sync_threads();
        if t < LANES {
            let sum = warp_sum(if t < WARPS { tile.get(t) } else { 0.0 });
            if t == 0 {
                GlobalMut::new(sums, thread::grid_dim_x() as usize).set(thread::block_idx_x() as usize, sum);
            }
        }
    }
}
