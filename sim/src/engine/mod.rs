//! Runs the threads of a grid.
//!
//! - [`run`](mod@run): one run under one schedule: workers, the watch, and what they leave.
//! - [`grid`]: which block may run and touch global atomics.
//! - [`blocks`]: the turns of the blocks of a cluster. [`cluster`]: what their threads ask of each other.
//! - [`block`]: the turns of one block's threads, barriers and warp meetings.
//! - [`slot`]: what a worker keeps for the block that it runs; where the running thread's calls arrive.
//! - [`agent`], [`bulk_copy`], [`mbarrier`], [`warpgroup`]: asynchronous operations as agents, bulk copies, barriers in
//!   shared memory, matrix products; [`operations`] keeps what is under way of them.
//! - [`memory`], [`async_copy`], [`atomics`], [`statics`]: accesses through views, asynchronous copies, atomics and
//!   fences, static shared memory.
//! - [`meeting`]: warp functions. [`matrix`]: matrices that a warp loads and stores. [`named_barrier`]: barriers of
//!   some of the block's warps.
//! - [`watch`]: ends threads that run for ever.
//! - [`fiber`]: the control flow of one thread. [`trap`]: signals that end one.
//! - [`arena`]: a block's shared memory.

mod agent;
mod arena;
mod async_copy;
mod atomics;
mod block;
mod blocks;
mod bulk_copy;
mod cluster;
mod fiber;
mod grid;
mod matrix;
mod mbarrier;
mod meeting;
mod memory;
mod named_barrier;
mod operations;
mod run;
mod slot;
mod statics;
mod trap;
mod warpgroup;
mod watch;

use std::cell::Cell;
use std::ptr;

pub use mbarrier::MbarrierAccess;
pub(crate) use run::{Outcome, Request, run};
pub(crate) use slot::Slot;

thread_local! {
    /// The slot whose thread runs on this thread of the operating system.
    static CURRENT: Cell<*const Slot> = const { Cell::new(ptr::null()) };
}

/// Whether a simulated thread runs on this thread of the operating system.
#[inline]
pub(crate) fn is_simulating() -> bool {
    !CURRENT.get().is_null()
}

/// The slot of the running simulated thread.
#[inline]
pub(crate) fn try_current() -> Option<&'static Slot> {
    // SAFETY: set by the block while one of its threads runs, and reset before the slot can go. The reference does not
    // outlive the call from the kernel that asked for it: the callers in this crate keep it in local variables.
    unsafe { CURRENT.get().as_ref() }
}

/// The slot of the running simulated thread.
///
/// # Panics
/// Outside a launch, naming `what` was called.
#[inline]
#[track_caller]
pub(crate) fn current(what: &str) -> &'static Slot {
    match try_current() {
        Some(slot) => slot,
        None => outside(what),
    }
}

#[cold]
#[track_caller]
fn outside(what: &str) -> ! {
    panic!("`{what}` was called outside a kernel launch: run the kernel on a GPU, or through `cuda_sim::Launch`")
}
