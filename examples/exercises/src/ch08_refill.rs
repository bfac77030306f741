//! Exercise 8.3: a stage refilled while it is read.
//!
//! The same with two stages. The load of tile i + 2 goes into the stage of tile i, and it is issued as early as
//! possible. Too early.

use cuda_std::async_copy::{cp_async_ca, cp_async_commit_group, cp_async_wait_group};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{GlobalMut, Shared};

/// Threads of the CTA, and elements of a tile.
const THREADS: usize = 64;
/// Tiles in shared memory.
const STAGES: usize = 2;

/// Reverses each tile.
///
/// # Safety
/// `from` and `to` have `tiles` tiles of 64 elements; one CTA of 64 threads.
#[kernel]
pub unsafe fn reverse(from: *const u32, to: *mut u32, tiles: usize) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t < THREADS, and only tiles below `tiles` are loaded.
    unsafe {
        let to = GlobalMut::new(to, tiles * THREADS);
        let stages = Shared::new(shared_array![u32; STAGES * THREADS], STAGES * THREADS);
        let load = |tile: usize| {
            if tile < tiles {
                let stage = tile % STAGES * THREADS;
                cp_async_ca(stages.as_mut_ptr().add(stage + t), from.add(tile * THREADS + t));
            }
            cp_async_commit_group();
        };
        load(0);
        load(1);
        for tile in 0..tiles {
            cp_async_wait_group::<1>();
            // RAW: this tile has arrived, of every thread.
            thread::sync_threads();
            to.set(
                tile * THREADS + t,
                stages.get(tile % STAGES * THREADS + THREADS - 1 - t),
            );
            load(tile + 2);
        }
    }
}
