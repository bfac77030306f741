//! `cp.async` copies of the running thread.
//!
//! The simulator reads the source when a copy starts and writes the destination when its thread waits. The hardware
//! does either at any time between the two. Until the wait, therefore, an access to the destination is a fault, and so
//! is a change of the source.

use std::panic::Location;
use std::ptr;

use crate::access::{AccessKind, AsyncCopyAccess, Instruction, Space};
use crate::analysis::Op;
use crate::analysis::in_flight::{AsyncCopy, Pending};
use crate::analysis::source_locations::AccessClass;
use crate::analysis::traffic::Traffic;
use crate::fault::{AsyncStep, FaultKind, MbarrierProblem, OtherAccess};
use crate::launch::Checks;

use super::BlockContext;
use super::global_memory::BufferAccess;
use super::memory::stays_inside;

impl BlockContext {
    /// See [`crate::access::async_copy`].
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn async_copy(&self, access: AsyncCopyAccess, location: &'static Location<'static>) {
        self.check_watchdog();
        self.watch(location);
        let is_checked = self.checks != Checks::Off;
        if is_checked {
            self.check_source(&access, location);
        }
        let mut copy = AsyncCopy {
            offset: None,
            to: access.to,
            bytes: access.bytes,
            from: access.from,
            valid: access.valid,
            data: [0; 16],
            location,
        };
        // SAFETY: `valid` bytes may be read: the simulator has checked it, or the caller promises it.
        unsafe { ptr::copy_nonoverlapping(copy.from, copy.data.as_mut_ptr(), copy.valid) };
        if is_checked {
            let offset = self.check_destination(&access, location);
            if self.analysis.borrow().in_flight.find(offset, copy.bytes).is_some() {
                // The fault is recorded. Of the two copies the first one remains.
                return;
            }
            copy.offset = Some(offset);
        }
        self.analysis.borrow_mut().in_flight.start(self.thread(), copy);
    }

    /// See [`crate::device::async_commit`].
    pub(crate) fn async_commit(&self) {
        self.check_watchdog();
        self.analysis.borrow_mut().in_flight.commit(self.thread());
    }

    /// See [`crate::device::async_wait`].
    pub(crate) fn async_wait(&self, pending: u32) {
        self.check_watchdog();
        let finished = self.analysis.borrow_mut().in_flight.wait(self.thread(), pending);
        for copy in finished {
            self.check_finished(&copy);
            // SAFETY: `bytes` bytes may be written: the simulator checked it when the copy started, or its caller
            // promised it.
            unsafe { ptr::copy_nonoverlapping(copy.data.as_ptr(), copy.to, copy.bytes) };
        }
    }

    /// Checks the read of a copy's source.
    fn check_source(&self, access: &AsyncCopyAccess, location: &'static Location<'static>) {
        let (address, bytes, valid) = (access.from.addr(), access.bytes, access.valid);
        if valid == 0 {
            if self.checks == Checks::Full {
                self.count_access(source(bytes), Traffic::SKIPPED, location);
            }
            return;
        }
        if !stays_inside(&access.from_part, address, valid) {
            self.outside_part(
                Space::Global,
                AccessKind::Read,
                address,
                valid,
                &access.from_part,
                location,
            );
        }
        if !address.is_multiple_of(bytes) {
            self.misaligned(Space::Global, address, bytes, location);
        }
        let Some(buffer) = self.buffer_of(address) else {
            self.outside_buffers(Op::Read, address, valid, location)
        };
        let access = BufferAccess {
            bytes: valid,
            ..BufferAccess::new(source(bytes), address, location, None)
        };
        self.access_buffer(buffer, access);
    }

    /// Checks the write of a copy's destination; returns its offset in shared memory.
    fn check_destination(&self, access: &AsyncCopyAccess, location: &'static Location<'static>) -> usize {
        let (address, bytes) = (access.to.addr(), access.bytes);
        if !stays_inside(&access.to_part, address, bytes) {
            self.outside_part(
                Space::Shared,
                AccessKind::Write,
                address,
                bytes,
                &access.to_part,
                location,
            );
        }
        if !address.is_multiple_of(bytes) {
            self.misaligned(Space::Shared, address, bytes, location);
        }
        self.shared_access(Op::Write, address, bytes, location, None, Some(Instruction::CpAsync));
        self.shared_operand(AccessKind::Write, address, bytes, location)
    }

    /// Checks a copy that the thread has waited for: its source is unchanged, and its destination counts as written
    /// now.
    fn check_finished(&self, copy: &AsyncCopy) {
        let Some(offset) = copy.offset else { return };
        if copy.valid > 0 {
            self.check_source_again(copy);
        }
        let class = AccessClass::of_lanes(Space::Shared, Op::Write, copy.bytes);
        let analysis = &mut *self.analysis.borrow_mut();
        let id = analysis.locations.id(copy.location, class);
        let clocks = &analysis.sync.clocks;
        let verdict = analysis
            .shadow
            .access(clocks, offset, copy.bytes, self.thread(), Op::Write, id);
        debug_assert_eq!(
            verdict.conflict, None,
            "every access since the start was checked against the copy"
        );
    }

    /// Checks that no thread has written the source since the copy started. A write that is not ordered with the end of
    /// the copy races with a second read; any other, such as the thread's own, shows in the bytes that it changed.
    fn check_source_again(&self, copy: &AsyncCopy) {
        let address = copy.from.addr();
        let buffer = self.buffer_of(address).expect("the copy has started");
        let mut now = [0; 16];
        // SAFETY: the bytes were read before, and buffers outlive the launch.
        unsafe { ptr::copy_nonoverlapping(copy.from, now.as_mut_ptr(), copy.valid) };
        if let Some(changed) = (0..copy.valid).find(|&i| now[i] != copy.data[i]) {
            let offset = address - buffer.allocation.address() + changed;
            let conflict = buffer.shadow.last_write(offset);
            return self.global_race(Op::Read, offset, conflict, copy.location);
        }
        let access = BufferAccess {
            bytes: copy.valid,
            is_repeat: true,
            ..BufferAccess::new(source(copy.bytes), address, copy.location, None)
        };
        self.access_buffer(buffer, access);
    }

    /// Records an access to the destination of a pending copy, or to an mbarrier.
    #[cold]
    pub(super) fn access_to_pending(
        &self,
        op: Op,
        offset: usize,
        pending: Pending,
        location: &'static Location<'static>,
    ) {
        let (access, offset) = (op.into(), self.reported_offset(offset));
        let kind = if pending.is_mbarrier {
            let problem = MbarrierProblem::OrdinaryAccess { access };
            // The access may start inside the mbarrier, which is aligned to its 8 bytes.
            let offset = offset / 8 * 8;
            FaultKind::Mbarrier { offset, problem }
        } else {
            let missing = if pending.committed {
                AsyncStep::Wait
            } else {
                AsyncStep::Commit
            };
            FaultKind::AsyncPending {
                access,
                offset,
                missing,
            }
        };
        let other = OtherAccess {
            access: Some(AccessKind::Write),
            ..self.other_thread(pending.thread.into(), pending.location)
        };
        self.fault(kind, Some(location), Some(other));
    }
}

/// The class of a copy's source read. It counts as `bytes` bytes however many are read: all are in one sector.
fn source(bytes: usize) -> AccessClass {
    AccessClass {
        instruction: Instruction::CpAsync,
        ..AccessClass::of_lanes(Space::Global, Op::Read, bytes)
    }
}
