//! The last thread to write wins, through a raw pointer.

use cuda_sim::{GlobalBuffer, Launch, Report, Schedule};
use cuda_std::{kernel, thread};

#[kernel]
unsafe fn schedule_dependent(out: *mut u32) {
    // SAFETY: one element. Threads of one block take turns here, so this is no race of the host.
    unsafe { *out = thread::thread_idx_x() };
}

pub fn run() -> Report {
    let out = GlobalBuffer::uninit(1);
    // SAFETY: the buffer has the one element.
    Launch::new(1, 8)
        .schedule(Schedule::All)
        .run(|| unsafe { schedule_dependent(out.as_mut_ptr()) })
}
