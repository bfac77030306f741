//! Each half of the threads has a barrier of its own.

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, thread};

#[kernel]
unsafe fn barrier_mismatch() {
    if thread::thread_idx_x() < 16 {
        thread::sync_threads();
    } else {
        thread::sync_threads();
    }
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses no memory.
    Launch::new(1, 32).run(|| unsafe { barrier_mismatch() })
}
