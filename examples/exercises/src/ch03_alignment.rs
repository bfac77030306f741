//! Exercise 3.2: an offset that suits the access.
//!
//! The allocation holds 33 words and then a tile that is read 16 bytes at a time. `tile_offset` says where the tile
//! starts.

use cuda_std::{kernel, shared::dynamic_shared_mem, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Words before the tile.
const HEAD: usize = 33;
/// Words of the tile: four for each of 32 threads.
pub const TILE: usize = 128;

/// Where the tile starts, in bytes from the start of the allocation.
pub const fn tile_offset() -> usize {
    4 * HEAD
}

/// Writes the sum of each thread's four words.
///
/// # Safety
/// `from` has 128 elements, `to` 32; one CTA of 32 threads with dynamic shared memory up to the end of the tile.
#[kernel]
pub unsafe fn sums(from: *const u32, to: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t < 32.
    unsafe {
        let from = Global::new(from, TILE);
        let tile = Shared::new(dynamic_shared_mem::<u8>().add(tile_offset()).cast::<u32>(), TILE);
        for i in 0..4 {
            tile.set(32 * i + t, from.get(32 * i + t));
        }
        // RAW: the tile is filled.
        thread::sync_threads();
        let [a, b, c, d] = tile.get_vec::<4>(4 * t);
        GlobalMut::new(to, 32).set(t, a + b + c + d);
    }
}
