//! The barriers, waits and fences of a kernel, and running it without one of them.

use std::fmt;
use std::panic::Location;

use serde::Serialize;

use crate::fault::SourceLocation;

/// A kind of barrier, wait or fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncKind {
    /// `sync_threads`, for all threads of the block.
    Barrier,
    /// `sync_threads_or` and its like: a barrier that gives a value. It cannot be left out.
    ReducingBarrier,
    /// `bar.sync` with a number from 1 to 15.
    NamedBarrier,
    /// `sync_warp`.
    WarpBarrier,
    /// A wait for a phase of an mbarrier.
    MbarrierWait,
    /// `cp.async.wait_group`.
    AsyncWait,
    /// `cp.async.bulk.wait_group`.
    BulkWait,
    /// `wgmma.wait_group`.
    WgmmaWait,
    /// A fence of memory.
    Fence,
    /// `fence.proxy.async`.
    ProxyFence,
    /// `fence.proxy.tensormap`.
    TensorMapFence,
    /// `fence.mbarrier_init`.
    MbarrierInitFence,
    /// `wgmma.fence`.
    WgmmaFence,
}

impl fmt::Display for SyncKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SyncKind::Barrier => "barrier",
            SyncKind::ReducingBarrier => "barrier with a value",
            SyncKind::NamedBarrier => "named barrier",
            SyncKind::WarpBarrier => "barrier of a warp",
            SyncKind::MbarrierWait => "mbarrier wait",
            SyncKind::AsyncWait => "cp.async wait",
            SyncKind::BulkWait => "bulk wait",
            SyncKind::WgmmaWait => "wgmma wait",
            SyncKind::Fence => "fence",
            SyncKind::ProxyFence => "proxy fence",
            SyncKind::TensorMapFence => "tensor map fence",
            SyncKind::MbarrierInitFence => "mbarrier init fence",
            SyncKind::WgmmaFence => "wgmma fence",
        })
    }
}

impl SyncKind {
    /// Whether a kernel can run without one: it gives no value.
    pub fn can_be_left_out(self) -> bool {
        self != SyncKind::ReducingBarrier
    }
}

/// A barrier, wait or fence of a kernel, by its source line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Synchronization {
    /// The line, and the column of the call.
    pub location: SourceLocation,
    /// What it is.
    pub kind: SyncKind,
    /// How often threads executed it, in the first schedule.
    pub executions: u64,
}

impl Synchronization {
    /// Whether this is the one of that kind at a call.
    pub(crate) fn is_at(&self, kind: SyncKind, location: &Location<'_>) -> bool {
        let own = &self.location;
        self.kind == kind
            && (own.line, own.column) == (location.line(), location.column())
            && own.file == location.file()
    }
}

/// What a launch does about the barriers, waits and fences of its kernel.
///
/// A barrier that can be left out without a fault and with the same result may be redundant, or the checks cannot see
/// what it is for.
///
/// ```
/// use cuda_sim::{Launch, Synchronizations, device};
///
/// let kernel = || device::sync_threads();
/// let report = Launch::new(2, 32).synchronizations(Synchronizations::Listed).run(kernel);
/// let barrier = report.synchronizations[0].clone();
/// assert_eq!(barrier.executions, 64);
/// // Nothing needs it.
/// let without = Launch::new(2, 32).synchronizations(Synchronizations::Without(barrier)).run(kernel);
/// without.assert_clean();
/// assert_eq!(without.barriers_per_thread, (0, 0));
/// ```
#[derive(Clone, Debug, Default)]
pub enum Synchronizations {
    /// Executes all.
    #[default]
    Unlisted,
    /// Executes all, and lists them in the report.
    Listed,
    /// Executes and lists all but this one, which does nothing.
    Without(Synchronization),
}

/// The executions that a context has counted.
#[derive(Default)]
pub(crate) struct Counts(Vec<(SyncKind, &'static Location<'static>, u64)>);

impl Counts {
    /// Counts one.
    pub(crate) fn count(&mut self, kind: SyncKind, location: &'static Location<'static>) {
        // A kernel has a handful.
        let is_this = |known: &&mut (SyncKind, &'static Location<'static>, u64)| (known.0, known.1) == (kind, location);
        match self.0.iter_mut().find(is_this) {
            Some((_, _, executions)) => *executions += 1,
            None => self.0.push((kind, location, 1)),
        }
    }

    /// Each of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Synchronization> {
        self.0.iter().map(|&(kind, location, executions)| Synchronization {
            location: SourceLocation::from(location),
            kind,
            executions,
        })
    }
}
