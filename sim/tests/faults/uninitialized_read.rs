//! A read of shared memory that no thread has written.

use cuda_sim::{GlobalBuffer, Launch, Report};
use cuda_std::{kernel, shared_array};
use cuda_views::{GlobalMut, Shared};

#[kernel]
unsafe fn uninitialized_read(out: *mut u32) {
    // SAFETY: element 1 of four, and the one of `out`.
    unsafe { GlobalMut::new(out, 1).set(0, Shared::new(shared_array![u32; 4], 4).get(1)) };
}

pub fn run() -> Report {
    let out = GlobalBuffer::uninit(1);
    // SAFETY: the buffer has the one element.
    Launch::new(1, 1).run(|| unsafe { uninitialized_read(out.as_mut_ptr()) })
}
