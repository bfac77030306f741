//! One thread more than there are elements.

use cuda_sim::{GlobalBuffer, Launch, Report};
use cuda_std::{kernel, thread};
use cuda_views::GlobalMut;

#[kernel]
unsafe fn out_of_bounds(out: *mut u32, len: usize) {
    // SAFETY: not for the last thread, which is the fault.
    unsafe { GlobalMut::new(out, len).set(thread::thread_idx_x() as usize, 1) };
}

pub fn run() -> Report {
    let out = GlobalBuffer::uninit(4);
    // SAFETY: the simulator stops the access past the end.
    Launch::new(1, 5).run(|| unsafe { out_of_bounds(out.as_mut_ptr(), 4) })
}
