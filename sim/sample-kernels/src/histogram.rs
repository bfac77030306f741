//! How often each value occurs.
//!
//! ```text
//! bins[..] = 0
//! barrier                                           RAW: the bins are cleared
//! for each of the block's values: bins[value] += 1, atomically
//! barrier                                           RAW: the bins are complete
//! counts[..] += bins[..], atomically
//! ```
//!
//! The bins of a block take the many collisions, in shared memory; global memory sees one addition for each bin and
//! block.
//!
//! Block: 128 threads. Grid: any; each thread takes every (grid * block)-th value.

use cuda_std::atomic::intrinsics::{atomic_fetch_add_relaxed_u32_block, atomic_fetch_add_relaxed_u32_device};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, Shared};

/// Threads of a block.
pub const THREADS: usize = 128;

/// Values that are told apart: 0 to 63.
pub const BINS: usize = 64;

/// Adds to `counts[v]`, for each `v` below [`BINS`], how often `v` occurs among the `len` values.
///
/// # Safety
/// - `values` has `len` elements, each below [`BINS`], `counts` has [`BINS`], both in global memory; `counts` is
///   written before the launch.
/// - The block has [`THREADS`] threads along x.
#[kernel]
pub unsafe fn histogram(values: *const u32, counts: *mut u32, len: u32) {
    let t = thread::thread_idx_x() as usize;
    let bins = shared_array![u32; BINS];
    // SAFETY: every bin and count is below BINS, by the caller's promise on the values; i is tested.
    unsafe {
        let values = Global::new(values, len as usize);
        if t < BINS {
            Shared::new(bins, BINS).set(t, 0);
        }
        // RAW: the bins are cleared before they count.
        thread::sync_threads();
        let mut i = thread::index_1d() as usize;
        while i < len as usize {
            let value = values.get(i) as usize;
            atomic_fetch_add_relaxed_u32_block(bins.add(value), 1);
            i += (thread::grid_dim_x() * thread::block_dim_x()) as usize;
        }
        // RAW: the bins are complete before they are read.
        thread::sync_threads();
        if t < BINS {
            atomic_fetch_add_relaxed_u32_device(counts.add(t), Shared::new(bins, BINS).get(t));
        }
    }
}
