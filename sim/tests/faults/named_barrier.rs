//! Two warps do not agree on how many threads open a barrier.

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, thread};
use cuda_views::named_barrier;

#[kernel]
unsafe fn named_barrier_counts() {
    if thread::thread_idx_x() < 32 {
        named_barrier::arrive(3, 64);
    } else {
        named_barrier::sync(3, 96);
    }
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses no memory.
    Launch::new(1, 96).run(|| unsafe { named_barrier_counts() })
}
