//! The last warp has eight lanes, and a minimum reads lanes that do not exist.

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, thread, warp};

/// # Safety
/// All lanes of the warp call it.
#[kernel]
unsafe fn absent_lane() {
    let lane = thread::thread_idx_x();
    // SAFETY: all lanes call it. The value of an absent lane is undefined, which is the fault.
    let (other, _) = unsafe { warp::warp_shuffle_down(u32::MAX, lane, 4, 32) };
    std::hint::black_box(lane.min(other));
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses no memory.
    Launch::new(1, 8).run(|| unsafe { absent_lane() })
}
