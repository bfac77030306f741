//! A null pointer is followed, without a view.

use std::hint::black_box;

use cuda_sim::{Launch, Report};
use cuda_std::kernel;

#[kernel]
unsafe fn bad_address(out: *mut u32) {
    // SAFETY: none, which is the fault.
    unsafe { black_box(out).write_volatile(1) };
}

pub fn run() -> Report {
    // SAFETY: the simulator catches the access to the address 0.
    Launch::new(1, 1).run(|| unsafe { bad_address(std::ptr::null_mut()) })
}
