//! The engine: runs the threads of a grid.
//!
//! - [`run`](mod@run): one run under one schedule: shared state, outcome. [`launched_grid`]: one of its launches.
//!   `worker`: runs its blocks.
//! - [`context`]: the state of one thread block (CTA), the schedulers of its threads and of its cluster, and the
//!   receiver of its threads' calls.
//! - [`grid`]: the order of blocks, and the token for global atomics.
//! - [`debug_info`]: source lines of instructions.
//! - [`statics`]: the layout of static shared memory.
//! - [`watchdog`]: ends threads that run forever.
//! - [`fiber`]: the control flow of one thread. `stacks`: where it runs. [`trap`]: signals that end a thread.

mod context;
mod debug_info;
mod fiber;
mod grid;
mod launched_grid;
mod run;
#[cfg(not(any(miri, cuda_sim_os_threads)))]
mod stacks;
mod statics;
mod trap;
mod watchdog;
mod worker;

use std::cell::Cell;
use std::panic::Location;
use std::ptr;

use crate::synchronization::SyncKind;

pub use context::MbarrierAccess;
pub(crate) use context::{BlockContext, WatchedRaces};
pub(crate) use run::{LaunchOutcome, LaunchRequest, Request, run};

thread_local! {
    /// The context whose thread runs on this thread of the operating system.
    static CURRENT: Cell<*const BlockContext> = const { Cell::new(ptr::null()) };
}

/// Whether a simulated thread runs on this thread of the operating system.
#[inline]
pub(crate) fn is_simulating() -> bool {
    !CURRENT.get().is_null()
}

/// The context of the running simulated thread.
#[inline]
pub(crate) fn try_current() -> Option<&'static BlockContext> {
    // SAFETY: set while one of the context's threads runs, and reset before the context can be dropped. The reference
    // does not outlive the kernel's call: the callers in this crate keep it in local variables.
    unsafe { CURRENT.get().as_ref() }
}

/// The context of the running simulated thread.
///
/// # Panics
/// Outside a launch, naming the function `what` that was called.
#[inline]
#[track_caller]
pub(crate) fn current(what: &str) -> &'static BlockContext {
    match try_current() {
        Some(context) => context,
        None => outside(what),
    }
}

/// The context of the running simulated thread, for a barrier, wait or fence at `location`; `None` if the launch leaves
/// this one out.
///
/// # Panics
/// As [`current`].
#[inline]
#[track_caller]
pub(crate) fn synchronizing(
    what: &str,
    kind: SyncKind,
    location: &'static Location<'static>,
) -> Option<&'static BlockContext> {
    let context = current(what);
    (!context.leaves_out(kind, location)).then_some(context)
}

#[cold]
#[track_caller]
fn outside(what: &str) -> ! {
    panic!("`{what}` was called outside a kernel launch: run the kernel on a GPU, or through `cuda_sim::Launch`")
}
