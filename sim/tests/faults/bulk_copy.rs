//! A TMA store with a tensor map that was not encoded.

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, shared_array};
use cuda_views::{Shared, bulk_copy};

#[kernel]
unsafe fn bulk_copy() {
    // SAFETY: 32 words; that they go nowhere is the fault.
    unsafe {
        let tile = Shared::new(shared_array![u32; 32], 32);
        bulk_copy::store_2d(&[0; 16], [0, 0], tile, 0);
    }
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses no other memory.
    Launch::new(1, 1).run(|| unsafe { bulk_copy() })
}
