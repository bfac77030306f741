//! Exercise 8.2: one group too many in flight.
//!
//! A pipeline of three stages: while the threads read tile i, the loads of tiles i + 1 and i + 2 are in flight. The
//! wait says how many groups may still be pending.

use cuda_std::async_copy::{cp_async_ca, cp_async_commit_group, cp_async_wait_group};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{GlobalMut, Shared};

/// Threads of the CTA, and elements of a tile.
const THREADS: usize = 32;
/// Tiles in shared memory.
const STAGES: usize = 3;
/// Groups that may be pending when a tile is read.
const PENDING: u32 = 2;

/// Doubles each element.
///
/// # Safety
/// `from` and `to` have `tiles` tiles of 32 elements; one CTA of 32 threads.
#[kernel]
pub unsafe fn double(from: *const u32, to: *mut u32, tiles: usize) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t < THREADS, and only tiles below `tiles` are loaded.
    unsafe {
        let to = GlobalMut::new(to, tiles * THREADS);
        let stages = Shared::new(shared_array![u32; STAGES * THREADS], STAGES * THREADS);
        // A group for each tile, also where there is none left to load: the count of groups stays right.
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
            cp_async_wait_group::<PENDING>();
            load(tile + 2);
            // No barrier: a thread reads only what it has loaded itself.
            to.set(tile * THREADS + t, 2 * stages.get(tile % STAGES * THREADS + t));
        }
    }
}
