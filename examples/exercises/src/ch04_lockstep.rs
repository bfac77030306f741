//! Exercise 4.3: lanes are not in lockstep.
//!
//! One warp sums 32 elements by a tree in shared memory. It is one warp, so there is no barrier. Is there no need for
//! one?

use cuda_std::{kernel, shared_array, thread};
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
    // SAFETY: t < LANES.
    unsafe {
        let tile = Shared::new(shared_array![u32; LANES], LANES);
        tile.set(t, Global::new(from, LANES).get(t));
        let mut half = LANES / 2;
        while half > 0 {
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
