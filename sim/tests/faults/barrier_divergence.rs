//! Half of the threads return before the barrier.

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, thread};

#[kernel]
unsafe fn barrier_divergence() {
    if thread::thread_idx_x() >= 16 {
        return;
    }
    thread::sync_threads();
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses no memory.
    Launch::new(1, 32).run(|| unsafe { barrier_divergence() })
}
