//! Two blocks write to the same element.

use cuda_sim::{GlobalBuffer, Launch, Report};
use cuda_std::{kernel, thread};
use cuda_views::GlobalMut;

#[kernel]
unsafe fn global_race(out: *mut u32) {
    // SAFETY: one element.
    unsafe { GlobalMut::new(out, 1).set(0, thread::block_idx_x()) };
}

pub fn run() -> Report {
    let out = GlobalBuffer::uninit(1);
    // SAFETY: the buffer has the one element.
    Launch::new(2, 1).run(|| unsafe { global_race(out.as_mut_ptr()) })
}
