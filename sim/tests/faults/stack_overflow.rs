//! A recursion without an end.

use std::hint::black_box;

use cuda_sim::{Launch, Report};
use cuda_std::kernel;

/// Each call keeps a frame of its own, which the next one looks at.
fn deeper(above: &[u64; 64]) -> u64 {
    let frame = black_box([above[0] + 1; 64]);
    if frame[0] == 0 {
        return 0;
    }
    deeper(&frame) + frame[1]
}

#[kernel]
unsafe fn stack_overflow() {
    black_box(deeper(&[0; 64]));
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses no memory but its stack.
    Launch::new(1, 1).run(|| unsafe { stack_overflow() })
}
