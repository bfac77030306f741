//! A loop without an end.

use std::hint::black_box;
use std::time::Duration;

use cuda_sim::{Launch, Report};
use cuda_std::kernel;

#[kernel]
unsafe fn time_limit() {
    while black_box(true) {}
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses no memory.
    Launch::new(1, 1)
        .time_limit(Duration::from_millis(250))
        .run(|| unsafe { time_limit() })
}
