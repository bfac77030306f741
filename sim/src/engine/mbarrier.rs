//! Operations of the running thread on mbarriers.

use std::ops::Range;
use std::panic::Location;

use crate::access::{AccessKind, Space};
use crate::analysis::Op;
use crate::analysis::agents::Operation;
use crate::analysis::clock::Clocks;
use crate::analysis::mbarrier::Mbarrier;
use crate::analysis::sites::{SiteKind, SiteSpace};
use crate::fault::{FaultKind, MbarrierProblem, OtherAccess};
use crate::launch::Checks;

use super::memory::stays_inside;
use super::slot::{Analysis, Slot, Status};

/// An mbarrier as a kernel names it.
#[derive(Clone, Debug)]
pub struct MbarrierAccess {
    /// Its address in shared memory.
    pub address: usize,
    /// The addresses that its view covers.
    pub part: Range<usize>,
}

impl Slot {
    /// `mbarrier.init`.
    pub(crate) fn mbarrier_init(&self, access: &MbarrierAccess, count: u32, site: &'static Location<'static>) {
        let offset = self.mbarrier_offset(access, site);
        if self.analysis.borrow().mbarriers.contains_key(&offset) {
            self.mbarrier_fault(offset, MbarrierProblem::InitializedAgain, site);
        }
        let thread = self.thread.get() as u16;
        let mbarrier = match Mbarrier::new(thread, count) {
            Ok(mbarrier) => mbarrier,
            Err(problem) => self.mbarrier_fault(offset, problem, site),
        };
        self.enter_mbarrier(thread, Op::Write, offset, site);
        let analysis = &mut *self.analysis.borrow_mut();
        analysis.mbarriers.insert(offset, mbarrier);
        analysis.in_flight.claim(offset, thread, site);
    }

    /// `mbarrier.inval`.
    pub(crate) fn mbarrier_invalidate(&self, access: &MbarrierAccess, site: &'static Location<'static>) {
        let offset = self.mbarrier_offset(access, site);
        self.with_mbarrier(offset, site, |_| Ok(()));
        self.enter_mbarrier(self.thread.get() as u16, Op::Write, offset, site);
        let analysis = &mut *self.analysis.borrow_mut();
        analysis.mbarriers.remove(&offset);
        analysis.in_flight.give_up(offset);
    }

    /// `mbarrier.expect_tx`, where there are `bytes`, and `mbarrier.arrive`, if `arrives`.
    pub(crate) fn mbarrier_arrive(
        &self,
        access: &MbarrierAccess,
        bytes: Option<u32>,
        arrives: bool,
        site: &'static Location<'static>,
    ) {
        let offset = self.mbarrier_offset(access, site);
        let thread = self.thread.get() as u16;
        self.with_mbarrier(offset, site, |mbarrier| {
            bytes.map_or(Ok(()), |bytes| mbarrier.expect(bytes))
        });
        self.enter_mbarrier(thread, Op::AtomicUpdate, offset, site);
        if arrives {
            let published = self.analysis.borrow_mut().sync.release_to_block(thread);
            let complete = self.with_mbarrier(offset, site, |mbarrier| mbarrier.arrive(&published));
            self.mbarrier_changed(offset, complete);
        }
        self.note_change();
    }

    /// `mbarrier.test_wait.parity`: whether the phase is complete, and then what it has released is known.
    fn mbarrier_test(&self, offset: usize, parity: u32, site: &'static Location<'static>) -> bool {
        self.with_mbarrier(offset, site, |_| Ok(()));
        let thread = self.thread.get() as u16;
        self.enter_mbarrier(thread, Op::AtomicLoad, offset, site);
        {
            let Analysis {
                sync,
                agents,
                mbarriers,
                ..
            } = &mut *self.analysis.borrow_mut();
            let Some(released) = mbarriers[&offset].completed(parity) else {
                return false;
            };
            sync.acquire(thread, &released.published);
            for &operation in &released.operations {
                agents.acquire(&mut sync.clocks, thread, operation);
            }
        }
        true
    }

    /// `mbarrier.try_wait.parity`. Where the phase is not complete others go first.
    pub(crate) fn mbarrier_try_wait(
        &self,
        access: &MbarrierAccess,
        parity: u32,
        site: &'static Location<'static>,
    ) -> bool {
        let offset = self.mbarrier_offset(access, site);
        self.mbarrier_test(offset, parity, site) || {
            self.wait(Status::Polling, site);
            self.mbarrier_test(offset, parity, site)
        }
    }

    /// Waits until the phase of this parity is complete.
    pub(crate) fn mbarrier_wait(&self, access: &MbarrierAccess, parity: u32, site: &'static Location<'static>) {
        let offset = self.mbarrier_offset(access, site);
        while !self.mbarrier_test(offset, parity, site) {
            self.threads[self.thread.get()].value.set(offset as u64);
            self.wait(Status::Phase, site);
        }
    }

    /// `fence.mbarrier_init`: what the thread has initialised is visible to bulk copies.
    pub(crate) fn mbarrier_fence(&self) {
        self.check_watch();
        let thread = self.thread.get() as u16;
        let mbarriers = &mut self.analysis.borrow_mut().mbarriers;
        mbarriers.values_mut().for_each(|mbarrier| mbarrier.fence(thread));
    }

    /// The mbarrier that a bulk copy is to complete on: its offset.
    pub(super) fn mbarrier_of_copy(&self, access: &MbarrierAccess, site: &'static Location<'static>) -> usize {
        let offset = self.mbarrier_offset(access, site);
        let fenced = |mbarrier: &mut Mbarrier| match mbarrier.is_fenced() {
            true => Ok(()),
            false => Err(MbarrierProblem::NotFenced),
        };
        self.with_mbarrier(offset, site, fenced);
        offset
    }

    /// A bulk copy has written its bytes: tells its mbarrier.
    pub(super) fn mbarrier_complete(
        &self,
        offset: usize,
        bytes: u32,
        operation: Operation,
        site: &'static Location<'static>,
    ) {
        let complete = match self.analysis.borrow_mut().mbarriers.get_mut(&offset) {
            Some(mbarrier) => mbarrier.complete(bytes, operation),
            None => Err(MbarrierProblem::NotInitialized),
        };
        self.enter_mbarrier_by(operation, offset, site);
        match complete {
            Ok(complete) => self.mbarrier_changed(offset, complete),
            Err(problem) => {
                let offset = self.real_offset(offset);
                self.fault(FaultKind::Mbarrier { offset, problem }, Some(site), None);
                self.aborted.set(true);
            }
        }
    }

    /// What a thread waits for that waits for a phase.
    pub(super) fn describe_phase(&self, offset: u64) -> String {
        let real = self.real_offset(offset as usize);
        match self.analysis.borrow().mbarriers.get(&(offset as usize)) {
            Some(mbarrier) => format!(
                "for the mbarrier at byte {real} of shared memory ({})",
                mbarrier.missing()
            ),
            None => format!("for the mbarrier at byte {real} of shared memory, which was invalidated"),
        }
    }

    /// Where the mbarrier lies in shared memory.
    fn mbarrier_offset(&self, access: &MbarrierAccess, site: &'static Location<'static>) -> usize {
        const BYTES: usize = 8;
        self.check_watch();
        let (address, part) = (access.address, &access.part);
        if !stays_inside(part, address, BYTES) {
            self.outside_part(Space::Shared, AccessKind::Atomic, address, BYTES, part, site);
        }
        if !address.is_multiple_of(BYTES) {
            self.misaligned(Space::Shared, address, BYTES, site);
        }
        self.operand_in_shared(AccessKind::Atomic, address, BYTES, site)
    }

    /// Does something with an mbarrier. What is wrong with that ends the block.
    fn with_mbarrier<R>(
        &self,
        offset: usize,
        site: &'static Location<'static>,
        f: impl FnOnce(&mut Mbarrier) -> Result<R, MbarrierProblem>,
    ) -> R {
        let result = match self.analysis.borrow_mut().mbarriers.get_mut(&offset) {
            Some(mbarrier) => f(mbarrier),
            None => Err(MbarrierProblem::NotInitialized),
        };
        match result {
            Ok(result) => result,
            Err(problem) => self.mbarrier_fault(offset, problem, site),
        }
    }

    pub(super) fn mbarrier_fault(
        &self,
        offset: usize,
        problem: MbarrierProblem,
        site: &'static Location<'static>,
    ) -> ! {
        let offset = self.real_offset(offset);
        self.fatal(FaultKind::Mbarrier { offset, problem }, Some(site), None)
    }

    /// Enters what the running thread does with an mbarrier into the shadow: initialisation, use and invalidation have
    /// to be ordered.
    fn enter_mbarrier(&self, thread: u16, op: Op, offset: usize, site: &'static Location<'static>) {
        self.enter_mbarrier_as((thread, None), op, offset, site);
    }

    /// The same for a copy that completes on it, or an arrival of another block.
    pub(super) fn enter_mbarrier_by(&self, operation: Operation, offset: usize, site: &'static Location<'static>) {
        self.enter_mbarrier_as((operation.agent, operation.below), Op::AtomicUpdate, offset, site);
    }

    fn enter_mbarrier_as(
        &self,
        (thread, below): (u16, Option<u32>),
        op: Op,
        offset: usize,
        site: &'static Location<'static>,
    ) {
        const BYTES: usize = 8;
        if self.checks == Checks::Off {
            return;
        }
        let other = {
            let Analysis {
                sites,
                sync,
                shadow,
                agents,
                ..
            } = &mut *self.analysis.borrow_mut();
            let kind = SiteKind {
                space: SiteSpace::Shared,
                op,
                bytes: BYTES as u8,
            };
            let id = sites.id(site, kind);
            let look = |clocks: &Clocks| shadow.access(clocks, offset, BYTES, thread, op, id);
            let verdict = sync.clocks.as_remote(below, look);
            verdict.conflict.map(|conflict| OtherAccess {
                access: Some(conflict.op.into()),
                block: self.block_idx.get(),
                thread: self.thread_position(agents.issuer(conflict.thread).into()),
                site: sites.get(conflict.site).0.into(),
            })
        };
        if other.is_some() {
            let (access, offset) = (op.into(), self.real_offset(offset));
            self.fault(FaultKind::SharedRace { access, offset }, Some(site), other);
        }
    }

    /// Where a phase is complete, those that wait for it go on.
    pub(super) fn mbarrier_changed(&self, offset: usize, complete: bool) {
        if complete {
            let waits = |thread: &&super::slot::Thread| {
                thread.status.get() == Status::Phase && thread.value.get() == offset as u64
            };
            let waiting = self.threads.iter().filter(waits);
            waiting.for_each(|thread| thread.status.set(Status::Ready));
            self.woken.set(true);
            self.run.watch.met(self.number);
            self.progress.set(self.progress.get() + 1);
        }
    }
}
