//! Asynchronous copies of the running thread.
//!
//! The source is read when a copy starts, the destination changes when its thread waits. The hardware does either at
//! any time between the two, so all that time an access to the destination is a fault, and so is a change of the
//! source.

use std::panic::Location;
use std::ptr;

use crate::access::{AccessKind, AsyncCopyAccess, Space};
use crate::analysis::Op;
use crate::analysis::in_flight::{AsyncCopy, Pending};
use crate::analysis::sites::{SiteKind, SiteSpace};
use crate::fault::{AsyncStep, FaultKind, MbarrierProblem, OtherAccess};
use crate::launch::Checks;

use super::memory::{BufferAccess, stays_inside};
use super::slot::{Analysis, Slot};

impl Slot {
    /// See [`crate::access::async_copy`].
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn async_copy(&self, access: AsyncCopyAccess, site: &'static Location<'static>) {
        self.check_watch();
        let looked_at = self.checks != Checks::Off;
        if looked_at {
            self.check_source(&access, site);
        }
        let mut copy = AsyncCopy {
            offset: None,
            to: access.to,
            bytes: access.bytes,
            from: access.from,
            valid: access.valid,
            data: [0; 16],
            site,
        };
        // SAFETY: so many bytes may be read: the simulator let it pass, or the caller's promise.
        unsafe { ptr::copy_nonoverlapping(copy.from, copy.data.as_mut_ptr(), copy.valid) };
        if looked_at {
            let offset = self.check_destination(&access, site);
            if self.analysis.borrow().in_flight.find(offset, copy.bytes).is_some() {
                // The fault is recorded. Of the two copies the first one stays.
                return;
            }
            copy.offset = Some(offset);
        }
        let thread = self.thread.get() as u16;
        self.analysis.borrow_mut().in_flight.start(thread, copy);
    }

    /// See [`crate::device::async_commit`].
    pub(crate) fn async_commit(&self) {
        self.check_watch();
        let thread = self.thread.get() as u16;
        self.analysis.borrow_mut().in_flight.commit(thread);
    }

    /// See [`crate::device::async_wait`].
    pub(crate) fn async_wait(&self, pending: u32) {
        self.check_watch();
        let thread = self.thread.get() as u16;
        let finished = self.analysis.borrow_mut().in_flight.wait(thread, pending);
        for copy in finished {
            self.check_finished(&copy);
            // SAFETY: so many bytes may be written: the simulator let it pass when the copy started, or its caller's
            // promise.
            unsafe { ptr::copy_nonoverlapping(copy.data.as_ptr(), copy.to, copy.bytes) };
        }
    }

    /// The source of a copy is read.
    fn check_source(&self, access: &AsyncCopyAccess, site: &'static Location<'static>) {
        let (address, bytes, valid) = (access.from.addr(), access.bytes, access.valid);
        if valid == 0 {
            return self.skip(Space::Global, AccessKind::Read, bytes, site);
        }
        if !stays_inside(&access.from_part, address, valid) {
            self.outside_part(Space::Global, AccessKind::Read, address, valid, &access.from_part, site);
        }
        if !address.is_multiple_of(bytes) {
            self.misaligned(Space::Global, address, bytes, site);
        }
        let Some(touched) = self.buffer_of(address) else {
            self.outside_buffers(Op::Read, address, valid, site)
        };
        let access = BufferAccess {
            bytes: valid,
            ..BufferAccess::new(source(bytes), address, site, None)
        };
        self.access_buffer(touched, access);
    }

    /// The destination of a copy is going to be written; where it starts in shared memory.
    fn check_destination(&self, access: &AsyncCopyAccess, site: &'static Location<'static>) -> usize {
        let (address, bytes) = (access.to.addr(), access.bytes);
        if !stays_inside(&access.to_part, address, bytes) {
            self.outside_part(Space::Shared, AccessKind::Write, address, bytes, &access.to_part, site);
        }
        if !address.is_multiple_of(bytes) {
            self.misaligned(Space::Shared, address, bytes, site);
        }
        self.shared_access(Op::Write, address, bytes, site, None, true);
        let offset = self
            .shared_offset(address, bytes)
            .expect("an access lies inside or ends the thread");
        self.compact_offset(offset)
    }

    /// A copy is over: its source must be what it was, and its destination is written now as far as other threads can
    /// know.
    fn check_finished(&self, copy: &AsyncCopy) {
        let Some(offset) = copy.offset else { return };
        if copy.valid > 0 {
            self.check_source_again(copy);
        }
        let thread = self.thread.get() as u16;
        let analysis = &mut *self.analysis.borrow_mut();
        let Analysis {
            sites, sync, shadow, ..
        } = analysis;
        let kind = SiteKind {
            space: SiteSpace::Shared,
            op: Op::Write,
            bytes: copy.bytes as u8,
        };
        let id = sites.id(copy.site, kind);
        let verdict = shadow.access(&sync.clocks, offset, copy.bytes, thread, Op::Write, id);
        debug_assert_eq!(verdict.conflict, None, "every access since the start has met the copy");
    }

    /// Nobody may have written the source since the copy started. Writes that nothing orders with the end of the copy
    /// race with a second read; others, the thread's own among them, show in what they changed.
    fn check_source_again(&self, copy: &AsyncCopy) {
        let address = copy.from.addr();
        let touched = self.buffer_of(address).expect("the copy has started");
        let mut now = [0; 16];
        // SAFETY: the bytes were read before, and buffers outlive the launch.
        unsafe { ptr::copy_nonoverlapping(copy.from, now.as_mut_ptr(), copy.valid) };
        if let Some(changed) = (0..copy.valid).find(|&i| now[i] != copy.data[i]) {
            let offset = address - touched.allocation.address() + changed;
            let conflict = touched.shadow.last_write(offset);
            return self.global_race(Op::Read, offset, conflict, copy.site);
        }
        let access = BufferAccess {
            bytes: copy.valid,
            is_repeat: true,
            ..BufferAccess::new(source(copy.bytes), address, copy.site, None)
        };
        self.access_buffer(touched, access);
    }

    /// An access meets a copy that is under way, or an mbarrier.
    #[cold]
    pub(super) fn meets_copy(&self, op: Op, offset: usize, pending: Pending, site: &'static Location<'static>) {
        let (access, offset) = (op.into(), self.real_offset(offset));
        let kind = if pending.is_mbarrier {
            let problem = MbarrierProblem::OrdinaryAccess { access };
            // An mbarrier is aligned to its 8 bytes, and so is whatever the access has of it.
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
            block: self.block_idx.get(),
            thread: self.thread_position(pending.thread.into()),
            site: pending.site.into(),
        };
        self.fault(kind, Some(site), Some(other));
    }
}

/// What the source of a copy of so many bytes is to the traffic, however many of them are read: they lie in one sector.
fn source(bytes: usize) -> SiteKind {
    SiteKind {
        space: SiteSpace::Global,
        op: Op::Read,
        bytes: bytes as u8,
    }
}
