//! Barriers in shared memory that count arrivals and bytes, for kernels on the host (PTX ISA, "Parallel Synchronization
//! and Communication Instructions: mbarrier"). Every function panics outside a launch.

use std::panic::Location;

use crate::engine;
use crate::synchronization::SyncKind;

pub use crate::engine::MbarrierAccess;

/// `mbarrier.init`: initializes an mbarrier whose phases expect `count` arrivals each.
#[track_caller]
pub fn init(mbarrier: &MbarrierAccess, count: u32) {
    engine::current("mbarrier.init").mbarrier_init(mbarrier, count, Location::caller());
}

/// `mbarrier.inval`: makes an mbarrier ordinary memory again.
#[track_caller]
pub fn invalidate(mbarrier: &MbarrierAccess) {
    engine::current("mbarrier.inval").mbarrier_invalidate(mbarrier, Location::caller());
}

/// `mbarrier.arrive` at the current phase, with release semantics.
#[track_caller]
pub fn arrive(mbarrier: &MbarrierAccess) {
    engine::current("mbarrier.arrive").mbarrier_arrive(mbarrier, None, true, Location::caller());
}

/// `mbarrier.expect_tx`: the current phase expects `bytes` more bytes.
#[track_caller]
pub fn expect_tx(mbarrier: &MbarrierAccess, bytes: u32) {
    engine::current("mbarrier.expect_tx").mbarrier_arrive(mbarrier, Some(bytes), false, Location::caller());
}

/// [`expect_tx`], then [`arrive`].
#[track_caller]
pub fn arrive_expect_tx(mbarrier: &MbarrierAccess, bytes: u32) {
    engine::current("mbarrier.arrive").mbarrier_arrive(mbarrier, Some(bytes), true, Location::caller());
}

/// `mbarrier.try_wait.parity`: whether the phase of this parity is complete; if so, with acquire semantics. If not,
/// other threads have had a turn.
#[track_caller]
pub fn try_wait(mbarrier: &MbarrierAccess, parity: u32) -> bool {
    let (context, here) = (engine::current("mbarrier.try_wait"), Location::caller());
    context.leaves_out(SyncKind::MbarrierWait, here) || context.mbarrier_try_wait(mbarrier, parity, here)
}

/// Waits until the phase of this parity is complete, with acquire semantics.
#[track_caller]
pub fn wait(mbarrier: &MbarrierAccess, parity: u32) {
    if let Some(context) = engine::synchronizing("mbarrier.try_wait", SyncKind::MbarrierWait, Location::caller()) {
        context.mbarrier_wait(mbarrier, parity, Location::caller());
    }
}

/// `fence.mbarrier_init`: makes the thread's initializations visible to bulk copies.
#[track_caller]
pub fn fence_init() {
    if let Some(context) = engine::synchronizing("fence.mbarrier_init", SyncKind::MbarrierInitFence, Location::caller())
    {
        context.mbarrier_fence();
    }
}
