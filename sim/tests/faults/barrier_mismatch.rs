//! Half of the threads wait at a barrier that the others pass by.

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, thread};

#[kernel]
unsafe fn barrier_mismatch() {
    if thread::thread_idx_x() < 16 {
        thread::sync_threads();
    }
    thread::sync_threads();
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses no memory.
    Launch::new(1, 32).run(|| unsafe { barrier_mismatch() })
}
