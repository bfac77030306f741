//! A slice is indexed past its end.

use cuda_sim::{GlobalBuffer, Launch, Report};
use cuda_std::{kernel, thread};

#[kernel]
unsafe fn panic(out: *mut u32, table: [u32; 4]) {
    let t = thread::thread_idx_x() as usize;
    let value = table[t];
    // SAFETY: an element for each thread.
    unsafe { *out.add(t) = value };
}

pub fn run() -> Report {
    let out = GlobalBuffer::uninit(6);
    // SAFETY: the buffer has an element for each thread.
    Launch::new(1, 6).run(|| unsafe { panic(out.as_mut_ptr(), [1, 2, 3, 4]) })
}
