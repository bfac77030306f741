//! A lane calls with a mask that it is not in.

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, warp};

#[kernel]
unsafe fn warp_mask() {
    // SAFETY: lane 1 is not in the mask, which is the fault.
    unsafe { warp::sync_warp(0b01) };
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses no memory.
    Launch::new(1, 2).run(|| unsafe { warp_mask() })
}
