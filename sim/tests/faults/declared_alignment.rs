//! A vector access to an array of floats, which a compiler may place at any multiple of four bytes.

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, shared_array};
use cuda_views::Shared;

/// # Safety
/// It runs in a launch.
#[kernel]
unsafe fn declared_alignment() {
    // SAFETY: inside the array. Its alignment is the fault.
    unsafe { Shared::new(shared_array![f32; 4], 4).set_vec(0, [1.0, 2.0, 3.0, 4.0]) };
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses shared memory only.
    Launch::new(1, 1).run(|| unsafe { declared_alignment() })
}
