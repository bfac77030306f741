//! A block whose threads are fewer than a warpgroup gives registers back.

use cuda_sim::{Launch, Report};
use cuda_std::kernel;
use cuda_views::wgmma;

#[kernel]
unsafe fn warpgroup() {
    wgmma::set_max_registers(24);
}

pub fn run() -> Report {
    // SAFETY: the kernel accesses no memory.
    Launch::new(1, 96).run(|| unsafe { warpgroup() })
}
