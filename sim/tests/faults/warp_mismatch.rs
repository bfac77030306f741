//! Lanes of one mask call a vote and a shuffle.

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, thread, warp};

/// # Safety
/// All lanes of the warp call it.
#[kernel]
unsafe fn warp_mismatch() {
    // SAFETY: all lanes call a function, but not the same, which is the fault.
    unsafe {
        if thread::thread_idx_x() < 16 {
            warp::warp_vote_ballot(u32::MAX, true);
        } else {
            warp::warp_shuffle_xor(u32::MAX, 1_u32, 1, 32);
        }
    }
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses no memory.
    Launch::new(1, 32).run(|| unsafe { warp_mismatch() })
}
