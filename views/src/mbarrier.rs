//! mbarriers in the simulator: the host side of the `mbarrier` instructions.
//!
//! Each function takes a view of mbarriers and the index of one of them.

use core::ops::Range;

use cuda_sim::mbarrier::{self, MbarrierAccess};

use crate::Shared;

pub use cuda_sim::mbarrier::fence_init;

/// mbarrier `index` of a view, in the simulator's form.
pub(crate) fn at(barriers: Shared<u64>, index: u32) -> MbarrierAccess {
    let part: Range<usize> = barriers.0.addresses();
    let address = barriers.as_mut_ptr().wrapping_add(index as usize).addr();
    MbarrierAccess { address, part }
}

/// Initializes an mbarrier whose phases expect `count` arrivals each.
#[track_caller]
pub fn init(barriers: Shared<u64>, index: u32, count: u32) {
    mbarrier::init(&at(barriers, index), count);
}

/// Makes an mbarrier ordinary memory again.
#[track_caller]
pub fn invalidate(barriers: Shared<u64>, index: u32) {
    mbarrier::invalidate(&at(barriers, index));
}

/// Arrives at the current phase.
#[track_caller]
pub fn arrive(barriers: Shared<u64>, index: u32) {
    mbarrier::arrive(&at(barriers, index));
}

/// The current phase expects `bytes` more bytes.
#[track_caller]
pub fn expect_tx(barriers: Shared<u64>, index: u32, bytes: u32) {
    mbarrier::expect_tx(&at(barriers, index), bytes);
}

/// [`expect_tx`], then [`arrive`].
#[track_caller]
pub fn arrive_expect_tx(barriers: Shared<u64>, index: u32, bytes: u32) {
    mbarrier::arrive_expect_tx(&at(barriers, index), bytes);
}

/// Whether the phase of this parity is complete.
#[track_caller]
pub fn try_wait(barriers: Shared<u64>, index: u32, parity: u32) -> bool {
    mbarrier::try_wait(&at(barriers, index), parity)
}

/// Waits until the phase of this parity is complete.
#[track_caller]
pub fn wait(barriers: Shared<u64>, index: u32, parity: u32) {
    mbarrier::wait(&at(barriers, index), parity);
}
