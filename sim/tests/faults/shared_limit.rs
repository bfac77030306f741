//! Static and dynamic shared memory fit each alone, and not together.

use cuda_sim::{Launch, Report};
use cuda_std::{kernel, shared_array};
use cuda_views::Shared;

#[kernel]
unsafe fn shared_limit() {
    // SAFETY: the first of 8192 elements.
    unsafe { Shared::new(shared_array![u32; 8192], 8192).set(0, 1) };
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses only what it reserves.
    Launch::new(1, 1)
        .dynamic_shared_bytes(200 * 1024)
        .run(|| unsafe { shared_limit() })
}
