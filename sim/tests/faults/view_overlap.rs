//! A thread stores bytes through a view of words, and then through one of halves of words.

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, shared_array};
use cuda_views::Shared;

#[kernel]
unsafe fn view_overlap() {
    // SAFETY: inside the array. That both are used without a barrier between is the fault.
    unsafe {
        let words = Shared::new(shared_array![u32; 8], 8);
        let halves = Shared::new(words.as_mut_ptr().cast::<u16>(), 16);
        words.set(3, 1);
        halves.set(7, 2);
    }
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses no other memory.
    Launch::new(1, 1).run(|| unsafe { view_overlap() })
}
