//! The barriers of a block, and the barrier of all its threads (`barrier.sync 0`).

use std::cell::{Cell, RefCell};
use std::panic::Location;

use crate::analysis::mbarrier::Mbarriers;
use crate::device::BarrierOp;
use crate::fault::{FaultKind, OtherAccess, SourceLocation};

use super::BlockContext;
use super::named_barrier::NamedBarriers;
use super::threads::{Status, Thread};

/// The barriers of the block that a context runs.
#[derive(Default)]
pub(super) struct Barriers {
    /// Completed barriers of all threads.
    interval: Cell<u32>,
    /// The fewest and the most of any block so far.
    passed: Cell<Option<(u32, u32)>>,
    pub(super) named: RefCell<NamedBarriers>,
    pub(super) mbarriers: RefCell<Mbarriers>,
}

impl Barriers {
    pub(super) fn start_block(&self) {
        self.interval.set(0);
        self.named.take();
        self.mbarriers.borrow_mut().clear();
    }

    pub(super) fn end_block(&self) {
        let passed = self.interval.get();
        let (fewest, most) = self.passed.get().unwrap_or((passed, passed));
        self.passed.set(Some((fewest.min(passed), most.max(passed))));
    }

    /// Barriers of all threads that the block has completed.
    pub(super) fn interval(&self) -> u32 {
        self.interval.get()
    }

    /// The fewest and the most barriers that any block has passed.
    pub(super) fn passed(&self) -> Option<(u32, u32)> {
        self.passed.get()
    }
}

/// Whether a thread waits at the block's barrier.
fn is_waiting(thread: &Thread) -> bool {
    matches!(thread.status.get(), Status::Barrier(_))
}

impl BlockContext {
    /// Waits at the block's barrier; returns the result of the reduction, if there is one.
    pub(crate) fn barrier(&self, reduction: Option<(BarrierOp, u32)>, location: &'static Location<'static>) -> u32 {
        if self.is_unwinding() {
            return 0;
        }
        let thread = self.threads.running();
        let predicate = reduction.is_some_and(|(_, predicate)| predicate != 0);
        thread.value.set(u64::from(predicate));
        self.wait(Status::Barrier(reduction.map(|(op, _)| op)), location);
        thread.value.get() as u32
    }

    /// Completes the block's barrier if no thread is still on its way to it; returns whether it did. Threads that wait
    /// for threads that can never come are a fault.
    pub(super) fn open_barrier(&self) -> bool {
        let waiting = || self.threads.iter().enumerate().filter(|(_, thread)| is_waiting(thread));
        let Some((first, _)) = waiting().next() else {
            return false;
        };
        let is_running = |thread: &Thread| !is_waiting(thread) && !thread.is(Status::Exited);
        if self.threads.iter().any(is_running) {
            return false;
        }
        let count = waiting().count() as u32;
        if let Some((kind, other)) = self.barrier_mismatch(first, count) {
            let location = self.threads.get(first).location.get().map(SourceLocation::from);
            self.record(first, kind, location, other);
            self.faults.abort();
            return true;
        }
        let holding = self.threads.iter().filter(|thread| thread.value.get() != 0).count() as u32;
        for thread in self.threads.iter() {
            let result = match thread.status.get() {
                Status::Barrier(Some(BarrierOp::Count)) => holding,
                Status::Barrier(Some(BarrierOp::And)) => u32::from(holding == count),
                Status::Barrier(Some(BarrierOp::Or)) => u32::from(holding > 0),
                _ => 0,
            };
            thread.value.set(result.into());
            thread.status.set(Status::Ready);
        }
        self.order_by_barrier();
        self.faults.settle_unwritten();
        self.check_canaries();
        let interval = self.barriers.interval.get() + 1;
        self.barriers.interval.set(interval);
        if interval > self.run.config.budget.barriers {
            let barriers = self.run.config.budget.barriers;
            self.budget_is_spent(first, format!("the block passed more than {barriers} barriers"));
        }
        self.threads.note_progress();
        self.watchdog.reset();
        true
    }

    /// The fault of a barrier where `count` threads wait, `first` among them: threads at another source location or
    /// with another reduction, or threads that have exited.
    fn barrier_mismatch(&self, first: usize, count: u32) -> Option<(FaultKind, Option<OtherAccess>)> {
        let barrier = |thread: &Thread| (thread.location.get().map(SourceLocation::from), thread.status.get());
        let expected = barrier(self.threads.get(first));
        let mut elsewhere = self
            .threads
            .iter()
            .enumerate()
            .filter(|(_, thread)| is_waiting(thread) && barrier(thread) != expected);
        if let Some((other, thread)) = elsewhere.next() {
            let location = thread.location.get().expect("a waiting thread has a location");
            let there = 1 + elsewhere.count() as u32;
            let kind = FaultKind::BarrierMismatch {
                here: count - there,
                there,
            };
            return Some((kind, Some(self.other_thread(other, location))));
        }
        let exited = self.threads.len() as u32 - count;
        (exited > 0).then_some((FaultKind::BarrierDivergence { waiting: count, exited }, None))
    }
}
