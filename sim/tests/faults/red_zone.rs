//! A raw pointer writes one element past a buffer.

use cuda_sim::{GlobalBuffer, Launch, Report};
use cuda_std::{kernel, thread};

/// # Safety
/// `data` has an element for each thread but the last, whose write is the fault.
#[kernel]
unsafe fn red_zone(data: *mut u32) {
    // SAFETY: the last thread's element is beyond the buffer, which is the fault.
    unsafe { data.add(thread::thread_idx_x() as usize).write_volatile(1) };
}

pub fn run() -> Report {
    let data = GlobalBuffer::<u32>::zeroed(4);
    // SAFETY: the memory after the buffer is the simulator's.
    Launch::new(1, 5).run(|| unsafe { red_zone(data.as_mut_ptr()) })
}
