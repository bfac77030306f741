//! Two lanes wait for each other, at barriers of the warp with different masks.

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, thread, warp};

#[kernel]
unsafe fn deadlock() {
    let mask = if thread::thread_idx_x() == 0 { 0b011 } else { 0b111 };
    // SAFETY: each lane is in its mask. That the masks differ is the fault.
    unsafe { warp::sync_warp(mask) };
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses no memory.
    Launch::new(1, 3).run(|| unsafe { deadlock() })
}
