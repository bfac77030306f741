//! Each thread waits for one group too few, and reads the last group's destination.

use cuda_sim::{GlobalBuffer, Launch, Report};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared, async_copy};

#[kernel]
unsafe fn async_pending(from: *const u32, to: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: an element of each for each thread, which no other accesses. That it is read too early is the fault.
    unsafe {
        let (from, to) = (Global::new(from, 4), GlobalMut::new(to, 4));
        let tile = Shared::new(shared_array![u32; 4], 4);
        async_copy::copy::<u32, 1>(tile, t, from, || t, 1);
        async_copy::commit();
        async_copy::wait(1);
        to.set(t, tile.get(t));
    }
}

pub fn run() -> Report {
    let (from, to) = (GlobalBuffer::from_slice(&[1, 2, 3, 4]), GlobalBuffer::uninit(4));
    // SAFETY: the buffers are as long as the kernel takes them for.
    Launch::new(1, 4).run(|| unsafe { async_pending(from.as_ptr(), to.as_mut_ptr()) })
}
