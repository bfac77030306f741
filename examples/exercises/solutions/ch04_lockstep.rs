//! Solution of exercise 4.3: lanes are not in lockstep.
//!
//! Since Volta the lanes of a warp have no common clock: `sync_warp` orders a level after the one before.

use cuda_std::{kernel, shared_array, thread, warp};
use cuda_views::{Global, GlobalMut, Shared};

/// Lanes of a warp.
const LANES: usize = 32;

/// Writes the sum of 32 elements.
///
/// # Safety
/// `from` has 32 elements, `to` one; one CTA of 32 threads.
#[kernel]
pub unsafe fn sum(from: *const u32, to: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: t < LANES; all lanes reach each barrier.
    unsafe {
        let tile = Shared::new(shared_array![u32; LANES], LANES);
        tile.set(t, Global::new(from, LANES).get(t));
        let mut half = LANES / 2;
        while half > 0 {
            // RAW: the level before is written.
            warp::sync_warp(u32::MAX);
            if t < half {
                tile.set(t, tile.get(t) + tile.get(t + half));
            }
            half /= 2;
        }
        if t == 0 {
            GlobalMut::new(to, 1).set(0, tile.get(0));
        }
    }
}
