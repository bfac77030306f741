//! A raw pointer writes one element past a static array.

use std::hint::black_box;

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, shared_array, thread};

#[kernel]
unsafe fn overrun() {
    let array = shared_array![u32; 4];
    // SAFETY: the last thread's element is in the canary that the simulator keeps after the array, which is the fault.
    unsafe { black_box(array).add(thread::thread_idx_x() as usize).write_volatile(1) };
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses shared memory only.
    Launch::new(1, 5).run(|| unsafe { overrun() })
}
