//! A barrier for one arrival, at which two threads arrive.

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Shared, mbarrier};

#[kernel]
unsafe fn arrive_twice() {
    // SAFETY: the barrier is one word.
    let barrier = unsafe { Shared::new(shared_array![u64; 1], 1) };
    if thread::thread_idx_x() == 0 {
        mbarrier::init(barrier, 0, 1);
        mbarrier::expect_tx(barrier, 0, 16);
    }
    thread::sync_threads();
    mbarrier::arrive(barrier, 0);
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses no other memory.
    Launch::new(1, 2).run(|| unsafe { arrive_twice() })
}
