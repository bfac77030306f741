//! A loop of barriers without an end: every one of them restarts the time limit.

use cuda_sim::{Budget, Launch, Report};
use cuda_std::{kernel, thread};

/// # Safety
/// All threads of the CTA call it.
#[kernel]
unsafe fn budget_kernel() {
    while thread::sync_threads_or(1) != 0 {}
}

pub fn run() -> Report {
    let budget = Budget {
        barriers: 1000,
        ..Budget::default()
    };
    // SAFETY: the kernel accesses no memory.
    Launch::new(4, 32).budget(budget).workers(1).run(|| unsafe { budget_kernel() })
}
