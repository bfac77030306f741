//! mbarrier operations of the running thread.

use std::ops::Range;
use std::panic::Location;

use crate::access::{AccessKind, Space};
use crate::analysis::Op;
use crate::analysis::agents::Operation;
use crate::analysis::clock::Clocks;
use crate::analysis::mbarrier::Mbarrier;
use crate::analysis::source_locations::AccessClass;
use crate::analysis::sync_vars::Publication;
use crate::fault::{FaultKind, MbarrierProblem};
use crate::launch::Checks;

use super::BlockContext;
use super::analysis::Analysis;
use super::memory::stays_inside;
use super::threads::{Status, Thread};

/// Bytes of an mbarrier, and its alignment.
const BYTES: usize = 8;

/// An mbarrier as a kernel names it.
#[derive(Clone, Debug)]
pub struct MbarrierAccess {
    /// Its address in shared memory.
    pub address: usize,
    /// The addresses that its view covers.
    pub part: Range<usize>,
}

impl BlockContext {
    /// `mbarrier.init`.
    pub(crate) fn mbarrier_init(&self, access: &MbarrierAccess, count: u32, location: &'static Location<'static>) {
        let offset = self.mbarrier_offset(access, location);
        if self.barriers.mbarriers.borrow().contains_key(&offset) {
            self.mbarrier_fault(offset, MbarrierProblem::InitializedAgain, location);
        }
        let thread = self.thread();
        let mbarrier = match Mbarrier::new(thread, count) {
            Ok(mbarrier) => mbarrier,
            Err(problem) => self.mbarrier_fault(offset, problem, location),
        };
        self.enter_mbarrier(Op::Write, offset, location);
        self.barriers.mbarriers.borrow_mut().insert(offset, mbarrier);
        let in_flight = &mut self.analysis.borrow_mut().in_flight;
        in_flight.claim(offset, thread, location);
    }

    /// `mbarrier.inval`.
    pub(crate) fn mbarrier_invalidate(&self, access: &MbarrierAccess, location: &'static Location<'static>) {
        let offset = self.mbarrier_offset(access, location);
        self.with_mbarrier(offset, location, |_| Ok(()));
        self.enter_mbarrier(Op::Write, offset, location);
        self.barriers.mbarriers.borrow_mut().remove(&offset);
        self.analysis.borrow_mut().in_flight.give_up(offset);
    }

    /// `mbarrier.expect_tx` of `bytes`, if any, then `mbarrier.arrive` if `arrives`.
    pub(crate) fn mbarrier_arrive(
        &self,
        access: &MbarrierAccess,
        bytes: Option<u32>,
        arrives: bool,
        location: &'static Location<'static>,
    ) {
        let offset = self.mbarrier_offset(access, location);
        self.with_mbarrier(offset, location, |mbarrier| {
            bytes.map_or(Ok(()), |bytes| mbarrier.expect(bytes))
        });
        self.enter_mbarrier(Op::AtomicUpdate, offset, location);
        if arrives {
            let published = self.analysis.borrow_mut().sync.release_to_block(self.thread());
            let complete = self.with_mbarrier(offset, location, |mbarrier| mbarrier.arrive(&published));
            self.mbarrier_changed(offset, complete);
        }
        self.note_change();
    }

    /// `mbarrier.test_wait.parity`: whether the phase is complete. If so, the thread acquires the phase's releases.
    fn mbarrier_test(&self, offset: usize, parity: u32, location: &'static Location<'static>) -> bool {
        self.with_mbarrier(offset, location, |_| Ok(()));
        let thread = self.thread();
        self.enter_mbarrier(Op::AtomicLoad, offset, location);
        let mbarriers = self.barriers.mbarriers.borrow();
        let Some(released) = mbarriers[&offset].completed(parity) else {
            return false;
        };
        {
            let Analysis { sync, agents, .. } = &mut *self.analysis.borrow_mut();
            sync.acquire(thread, &released.published);
            for &operation in &released.operations {
                agents.acquire(&mut sync.clocks, thread, operation);
            }
        }
        self.learn_of_visitors(thread);
        true
    }

    /// `mbarrier.try_wait.parity`. If the phase is not complete, other threads run before the second try.
    pub(crate) fn mbarrier_try_wait(
        &self,
        access: &MbarrierAccess,
        parity: u32,
        location: &'static Location<'static>,
    ) -> bool {
        let offset = self.mbarrier_offset(access, location);
        self.mbarrier_test(offset, parity, location) || {
            self.wait(Status::Polling, location);
            self.mbarrier_test(offset, parity, location)
        }
    }

    /// Waits until the phase of this parity is complete.
    pub(crate) fn mbarrier_wait(&self, access: &MbarrierAccess, parity: u32, location: &'static Location<'static>) {
        let offset = self.mbarrier_offset(access, location);
        while !self.mbarrier_test(offset, parity, location) {
            self.threads.running().value.set(offset as u64);
            self.wait(Status::Phase, location);
        }
    }

    /// `fence.mbarrier_init`: the thread's initializations become visible to bulk copies.
    pub(crate) fn mbarrier_fence(&self) {
        self.check_watchdog();
        let thread = self.thread();
        let mbarriers = &mut *self.barriers.mbarriers.borrow_mut();
        mbarriers.values_mut().for_each(|mbarrier| mbarrier.fence(thread));
    }

    /// The offset of the mbarrier that a bulk copy completes on, which must be fenced.
    pub(super) fn mbarrier_of_copy(&self, access: &MbarrierAccess, location: &'static Location<'static>) -> usize {
        let offset = self.mbarrier_offset(access, location);
        match self.check_mbarrier_of_copy(offset) {
            Ok(()) => offset,
            Err(problem) => self.mbarrier_fault(offset, problem, location),
        }
    }

    /// `mbarrier.complete_tx` of a bulk copy that has written `bytes` bytes.
    pub(super) fn mbarrier_complete(
        &self,
        offset: usize,
        bytes: u32,
        operation: Operation,
        location: &'static Location<'static>,
    ) {
        let complete = match self.barriers.mbarriers.borrow_mut().get_mut(&offset) {
            Some(mbarrier) => mbarrier.complete(bytes, operation),
            None => Err(MbarrierProblem::NotInitialized),
        };
        self.enter_mbarrier_by(operation, offset, location);
        match complete {
            Ok(complete) => self.mbarrier_changed(offset, complete),
            Err(problem) => {
                let offset = self.reported_offset(offset);
                self.fault(FaultKind::Mbarrier { offset, problem }, Some(location), None);
                self.faults.abort();
            }
        }
    }

    /// Describes the wait of a thread for a phase of the mbarrier at `offset`.
    pub(super) fn describe_phase(&self, offset: u64) -> String {
        let real = self.reported_offset(offset as usize);
        match self.barriers.mbarriers.borrow().get(&(offset as usize)) {
            Some(mbarrier) => format!(
                "for the mbarrier at byte {real} of shared memory ({})",
                mbarrier.missing()
            ),
            None => format!("for the mbarrier at byte {real} of shared memory, which was invalidated"),
        }
    }

    /// The offset of the mbarrier in shared memory.
    fn mbarrier_offset(&self, access: &MbarrierAccess, location: &'static Location<'static>) -> usize {
        self.check_watchdog();
        let (address, part) = (access.address, &access.part);
        if !stays_inside(part, address, BYTES) {
            self.outside_part(Space::Shared, AccessKind::Atomic, address, BYTES, part, location);
        }
        if !address.is_multiple_of(BYTES) {
            self.misaligned(Space::Shared, address, BYTES, location);
        }
        self.shared_operand(AccessKind::Atomic, address, BYTES, location)
    }

    /// Executes `f` on an mbarrier. A problem ends the block.
    fn with_mbarrier<R>(
        &self,
        offset: usize,
        location: &'static Location<'static>,
        f: impl FnOnce(&mut Mbarrier) -> Result<R, MbarrierProblem>,
    ) -> R {
        let result = match self.barriers.mbarriers.borrow_mut().get_mut(&offset) {
            Some(mbarrier) => f(mbarrier),
            None => Err(MbarrierProblem::NotInitialized),
        };
        match result {
            Ok(result) => result,
            Err(problem) => self.mbarrier_fault(offset, problem, location),
        }
    }

    pub(super) fn mbarrier_fault(
        &self,
        offset: usize,
        problem: MbarrierProblem,
        location: &'static Location<'static>,
    ) -> ! {
        let offset = self.reported_offset(offset);
        self.fatal(FaultKind::Mbarrier { offset, problem }, Some(location), None)
    }

    /// Enters an mbarrier operation of the running thread into the shadow: initialization, use and invalidation must be
    /// ordered.
    fn enter_mbarrier(&self, op: Op, offset: usize, location: &'static Location<'static>) {
        self.enter_mbarrier_as((self.thread(), None), op, offset, location);
    }

    /// The same for the completion of a copy, or the arrival of another block.
    pub(super) fn enter_mbarrier_by(&self, operation: Operation, offset: usize, location: &'static Location<'static>) {
        self.enter_mbarrier_as((operation.agent, operation.below), Op::AtomicUpdate, offset, location);
    }

    fn enter_mbarrier_as(
        &self,
        (thread, below): (u16, Option<u32>),
        op: Op,
        offset: usize,
        location: &'static Location<'static>,
    ) {
        if self.checks == Checks::Off {
            return;
        }
        let other = {
            let analysis = &mut *self.analysis.borrow_mut();
            let class = AccessClass::of_lanes(Space::Shared, op, BYTES);
            let id = analysis.locations.id(location, class);
            let shadow = &mut analysis.shadow;
            let check = |clocks: &Clocks| shadow.access(clocks, offset, BYTES, thread, op, id);
            let verdict = analysis.sync.clocks.as_remote(below, check);
            verdict.conflict.map(|conflict| self.other_access(analysis, conflict))
        };
        if other.is_some() {
            self.shared_faults(op, offset, false, other, location);
        }
    }

    /// Wakes the threads that wait for a phase of the mbarrier, if the phase is complete.
    pub(super) fn mbarrier_changed(&self, offset: usize, complete: bool) {
        if complete {
            let waits = |thread: &&Thread| thread.is(Status::Phase) && thread.value.get() == offset as u64;
            let waiting = self.threads.iter().filter(waits);
            waiting.for_each(|thread| thread.status.set(Status::Ready));
            self.threads.wake();
            self.watchdog.reset();
            self.threads.note_progress();
        }
    }

    /// Arrives at the mbarrier for `issuer`, rank and thread of another block of the cluster, which has published
    /// `published`.
    ///
    /// # Errors
    /// The mbarrier does not allow the arrival.
    pub(super) fn mbarrier_arrive_for(
        &self,
        offset: usize,
        issuer: (u32, u16),
        published: &Publication,
        location: &'static Location<'static>,
    ) -> Result<(), MbarrierProblem> {
        let complete = match self.barriers.mbarriers.borrow_mut().get_mut(&offset) {
            Some(mbarrier) => mbarrier.arrive(published)?,
            None => return Err(MbarrierProblem::NotInitialized),
        };
        self.mbarrier_changed(offset, complete);
        // The arrival must be ordered after the initialization.
        let operation = self.start_remote_operation(issuer, published);
        self.enter_mbarrier_by(operation, offset, location);
        self.threads.note_progress();
        Ok(())
    }

    /// Whether a bulk copy of another block may complete on the mbarrier.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn check_mbarrier_of_copy(&self, offset: usize) -> Result<(), MbarrierProblem> {
        match self.barriers.mbarriers.borrow().get(&offset) {
            Some(mbarrier) if mbarrier.is_fenced() => Ok(()),
            Some(_) => Err(MbarrierProblem::NotFenced),
            None => Err(MbarrierProblem::NotInitialized),
        }
    }
}
