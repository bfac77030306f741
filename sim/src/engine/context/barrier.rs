//! The barriers of a block, and the barrier of all its threads (`barrier.sync 0`).

use std::cell::{Cell, RefCell};
use std::panic::Location;

use crate::analysis::mbarrier::Mbarriers;
use crate::device::BarrierOp;
use crate::fault::{FaultKind, OtherAccess, SourceLocation, StackFrame};

use super::call_site::CallSites;
use super::named_barrier::NamedBarriers;
use super::threads::{Status, Thread};
use super::{BlockContext, WARP};

/// The barriers of the block that a context runs.
#[derive(Default)]
pub(super) struct Barriers {
    /// Completed barriers of all threads.
    interval: Cell<u32>,
    /// The fewest and the most of any block so far.
    passed: Cell<Option<(u32, u32)>>,
    pub(super) named: RefCell<NamedBarriers>,
    pub(super) mbarriers: RefCell<Mbarriers>,
    /// Of all blocks of the context.
    call_sites: CallSites,
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
    ///
    /// Inlined, as [`Self::wait`] is.
    #[inline(always)]
    pub(crate) fn barrier(&self, reduction: Option<(BarrierOp, u32)>, location: &'static Location<'static>) -> u32 {
        if self.is_unwinding() {
            return 0;
        }
        let thread = self.threads.running();
        let predicate = reduction.is_some_and(|(_, predicate)| predicate != 0);
        thread.value.set(u64::from(predicate));
        thread
            .call_site
            .set(self.barriers.call_sites.here(thread.stack_top.get()));
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
        if let Some((thread, kind, other)) = self.barrier_mismatch(first, count) {
            let own = self.threads.get(thread);
            let location = own.location.get().map(SourceLocation::from);
            self.record_with_stack(thread, kind, (location, self.stack_of(own)), other);
            self.faults.abort();
            return true;
        }
        let holding = || waiting().filter(|(_, thread)| thread.value.get() != 0).count() as u32;
        let holding = if self.threads.get(first).is(Status::Barrier(None)) {
            0
        } else {
            holding()
        };
        for thread in self.threads.iter().filter(|thread| is_waiting(thread)) {
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
        if interval > self.launch.config.budget.barriers {
            let barriers = self.launch.config.budget.barriers;
            self.budget_is_spent(first, format!("the block passed more than {barriers} barriers"));
        }
        self.threads.note_progress();
        self.watchdog.reset();
        true
    }

    /// The fault of a barrier where `count` threads wait, `first` among them: threads at another source location or
    /// with another reduction, lanes of one warp that were called from different places (PTX ISA, "barrier": all
    /// threads of a warp execute the same `.aligned` instruction), or threads that have exited.
    fn barrier_mismatch(&self, first: usize, count: u32) -> Option<(usize, FaultKind, Option<OtherAccess>)> {
        let expected = self.threads.get(first);
        // Most often it is the same copy of the location: comparing contents takes longer.
        let is_same_location = |thread: &Thread| {
            let address = |thread: &Thread| thread.location.get().map(std::ptr::from_ref);
            address(thread) == address(expected) || thread.location.get() == expected.location.get()
        };
        let is_same = |thread: &Thread| is_same_location(thread) && thread.status.get() == expected.status.get();
        let waiting = || self.threads.iter().enumerate().filter(|(_, thread)| is_waiting(thread));
        let policy = self.launch.config.policy;
        let is_allowed = |number: usize, thread: &Thread| {
            // The warp's first thread at a barrier decides what the others must be at.
            let own = self.threads.lanes(number / WARP).iter().find(|lane| is_waiting(lane));
            policy.barrier_by_warp
                && thread.status.get() == expected.status.get()
                && own.is_some_and(|own| own.location.get() == thread.location.get())
        };
        let is_elsewhere = |&(number, thread): &(usize, &Thread)| !is_same(thread) && !is_allowed(number, thread);
        let mut elsewhere = waiting().filter(is_elsewhere);
        if let Some((other, _)) = elsewhere.next() {
            let there = 1 + elsewhere.count() as u32;
            let kind = FaultKind::BarrierMismatch {
                here: count - there,
                there,
            };
            return Some((first, kind, Some(self.other_barrier(other))));
        }
        let mut leader = first;
        for (number, thread) in waiting() {
            if number / WARP != leader / WARP {
                leader = number;
            }
            let site = thread.call_site.get();
            if self
                .barriers
                .call_sites
                .differ(self.threads.get(leader).call_site.get(), site)
            {
                let lanes = self.threads.lanes(leader / WARP).iter();
                let there = lanes
                    .filter(|lane| is_waiting(lane) && lane.call_site.get() == site)
                    .count() as u32;
                let lanes = waiting().filter(|(other, _)| other / WARP == leader / WARP).count() as u32;
                let kind = FaultKind::BarrierMismatch {
                    here: lanes - there,
                    there,
                };
                return Some((leader, kind, Some(self.other_barrier(number))));
            }
        }
        let exited = self.threads.len() as u32 - count;
        (exited > 0 && !policy.early_return).then_some((
            first,
            FaultKind::BarrierDivergence { waiting: count, exited },
            None,
        ))
    }

    /// The other side of a mismatch: a thread that waits at a barrier.
    fn other_barrier(&self, thread: usize) -> OtherAccess {
        let own = self.threads.get(thread);
        let location = own.location.get().expect("a waiting thread has a location");
        OtherAccess {
            stack: self.stack_of(own),
            ..self.other_thread(thread, location)
        }
    }

    /// The call stack of the running thread at an access.
    pub(super) fn stack_at(&self, thread: &Thread, location: &'static Location<'static>) -> Vec<StackFrame> {
        let site = self.barriers.call_sites.here(thread.stack_top.get());
        let mut frames = self.barriers.call_sites.frames(site);
        StackFrame::shorten_paths(&mut frames, &location.into());
        frames
    }

    /// The call stack in which a thread reached the barrier.
    fn stack_of(&self, thread: &Thread) -> Vec<StackFrame> {
        let mut frames = self.barriers.call_sites.frames(thread.call_site.get());
        if let Some(location) = thread.location.get() {
            StackFrame::shorten_paths(&mut frames, &location.into());
        }
        frames
    }
}
