//! A block that is alone in its cluster maps an address to a second one.

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, shared_array};
use cuda_views::{Shared, cluster};

#[kernel]
unsafe fn second_block() {
    // SAFETY: a word. That there is no second block is the fault.
    let word = unsafe { Shared::new(shared_array![u64; 1], 1) };
    cluster::map(word, 0, 1);
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses no memory.
    Launch::new(2, 1).run(|| unsafe { second_block() })
}
