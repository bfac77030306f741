//! Two blocks count with an atomic that is one for a block only.

use std::sync::atomic::Ordering::Relaxed;

use cuda_sim::device::{self, Scope};
use cuda_sim::{GlobalBuffer, Launch, Report};

pub fn run() -> Report {
    let count = GlobalBuffer::<u32>::zeroed(1);
    Launch::new(2, 2).run(|| {
        // SAFETY: inside the buffer.
        unsafe { device::atomic_update(count.as_mut_ptr(), Relaxed, Scope::Block, |old| old + 1) };
    })
}
