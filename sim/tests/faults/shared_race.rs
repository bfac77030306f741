//! Thread 1 reads a word that thread 0 writes, without a barrier between.

use cuda_sim::{GlobalBuffer, Launch, Report};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{GlobalMut, Shared};

#[kernel]
unsafe fn shared_race(out: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: one element of shared memory, two of `out`, one for each thread.
    unsafe {
        let cell = Shared::new(shared_array![u32; 1], 1);
        if t == 0 {
            cell.set(0, 7);
        } else {
            GlobalMut::new(out, 2).set(t, cell.get(0));
        }
    }
}

pub fn run() -> Report {
    let out = GlobalBuffer::uninit(2);
    // SAFETY: the buffer has an element for each thread.
    Launch::new(1, 2).run(|| unsafe { shared_race(out.as_mut_ptr()) })
}
