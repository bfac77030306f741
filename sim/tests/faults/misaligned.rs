//! Four elements are read at once from one that is no multiple of four.

use cuda_sim::{GlobalBuffer, Launch, Report};
use cuda_std::kernel;
use cuda_views::{Global, GlobalMut};

#[kernel]
unsafe fn misaligned(from: *const f32, to: *mut f32) {
    // SAFETY: inside both buffers; that the first address is no multiple of 16 bytes is the fault.
    unsafe { GlobalMut::new(to, 4).set_vec(0, Global::new(from, 8).get_vec::<4>(2)) };
}

pub fn run() -> Report {
    let (from, to) = (GlobalBuffer::from_slice(&[1.0_f32; 8]), GlobalBuffer::uninit(4));
    // SAFETY: the buffers are as long as the kernel takes them for.
    Launch::new(1, 1).run(|| unsafe { misaligned(from.as_ptr(), to.as_mut_ptr()) })
}
