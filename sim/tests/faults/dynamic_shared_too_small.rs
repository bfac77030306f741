//! The launch counts elements where it should count bytes.

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, shared, thread};
use cuda_views::Shared;

#[kernel]
unsafe fn dynamic_shared_too_small(len: usize) {
    // SAFETY: with the 4 * len bytes that the kernel asks for.
    unsafe { Shared::new(shared::dynamic_shared_mem::<u32>(), len).set(thread::thread_idx_x() as usize, 1) };
}

pub fn run() -> Report {
    // SAFETY: the simulator stops accesses past the end of the memory.
    Launch::new(1, 32)
        .dynamic_shared_bytes(32)
        .run(|| unsafe { dynamic_shared_too_small(32) })
}
