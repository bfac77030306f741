//! Bulk copies of plain bytes, without a tensor map (`cp.async.bulk`).

use std::panic::Location;
use std::ptr;

use crate::access::{AccessKind, Space};
use crate::analysis::Op;
use crate::bulk_copy::Bytes;
use crate::fault::FaultKind;

use super::BlockContext;
use super::agent::Proxy;
use super::bulk_copy::{Load, Store};
use super::mbarrier::MbarrierAccess;
use super::memory::stays_inside;

/// What the size and both addresses of a copy are multiples of, in bytes.
const UNIT: usize = 16;

impl BlockContext {
    /// `cp.async.bulk.shared::cluster.global`, to the block itself.
    ///
    /// # Safety
    /// As [`crate::bulk_copy::load_bytes`].
    pub(crate) unsafe fn bulk_load_bytes(
        &self,
        to: &Bytes,
        from: &Bytes,
        bytes: usize,
        mbarrier: &MbarrierAccess,
        location: &'static Location<'static>,
    ) {
        let offset = self.check_shared_bytes(to, AccessKind::Write, bytes, location);
        self.check_end(Space::Global, from, AccessKind::Read, bytes, location);
        let mbarrier = self.mbarrier_of_copy(mbarrier, location);
        let thread = self.threads.running_number();
        let operation = self.start_operation(std::iter::once(thread as u16));
        self.operation_on_global(operation, Op::Read, from.ptr.addr(), bytes, location);
        // SAFETY: that many bytes of a buffer: the simulator has checked it, or the caller promises it.
        let data = unsafe { std::slice::from_raw_parts(from.ptr, bytes) }.to_vec();
        self.operation_on_shared(operation, (Op::Write, Proxy::Async), offset, bytes, location);
        self.count_bytes(Space::Global, Op::Read, from.ptr.addr(), bytes, location);
        self.count_bytes(Space::Shared, Op::Write, offset, bytes, location);
        self.bulk_copies.borrow_mut().start_load(Load {
            operation,
            issuer: (self.cluster.rank(), thread as u16),
            to: to.ptr,
            data,
            adds: false,
            mbarrier,
            location,
        });
        self.note_change();
    }

    /// `cp.async.bulk.global.shared::cta`.
    ///
    /// # Safety
    /// As [`crate::bulk_copy::store_bytes`].
    pub(crate) unsafe fn bulk_store_bytes(
        &self,
        to: &Bytes,
        from: &Bytes,
        bytes: usize,
        location: &'static Location<'static>,
    ) {
        let offset = self.check_shared_bytes(from, AccessKind::Read, bytes, location);
        self.check_end(Space::Global, to, AccessKind::Write, bytes, location);
        let thread = self.thread();
        let store = Store {
            reads: self.start_operation(std::iter::once(thread)),
            writes: self.start_operation(std::iter::once(thread)),
        };
        self.operation_on_global(store.writes, Op::Write, to.ptr.addr(), bytes, location);
        self.operation_on_shared(store.reads, (Op::Read, Proxy::Async), offset, bytes, location);
        self.count_bytes(Space::Shared, Op::Read, offset, bytes, location);
        self.count_bytes(Space::Global, Op::Write, to.ptr.addr(), bytes, location);
        // SAFETY: that many bytes of both: the simulator has checked them, or the caller promises it.
        unsafe { ptr::copy_nonoverlapping(from.ptr, to.ptr, bytes) };
        self.bulk_copies.borrow_mut().start_store(thread, store, location);
        self.note_change();
    }

    /// `cp.async.bulk.shared::cluster.shared::cta`: to a block of the cluster, on an mbarrier there.
    pub(crate) fn bulk_copy_to_cluster(
        &self,
        to: u32,
        from: &Bytes,
        bytes: usize,
        mbarrier: u32,
        location: &'static Location<'static>,
    ) {
        let offset = self.check_shared_bytes(from, AccessKind::Read, bytes, location);
        let place = self.remote_place(to, bytes, Op::Write, location);
        if !place.host.addr().is_multiple_of(UNIT) {
            self.misaligned(Space::Shared, place.host.addr(), UNIT, location);
        }
        let reads = self.start_operation(std::iter::once(self.thread()));
        self.operation_on_shared(reads, (Op::Read, Proxy::Async), offset, bytes, location);
        self.count_bytes(Space::Shared, Op::Read, offset, bytes, location);
        place
            .peer
            .count_bytes(Space::Shared, Op::Write, place.offset, bytes, location);
        // SAFETY: that many bytes of shared memory, which the simulator has checked.
        let data = unsafe { std::slice::from_raw_parts(from.ptr, bytes) }.to_vec();
        self.start_remote_load(place, data, false, mbarrier, Proxy::Async, location);
    }

    /// Counts one end of a copy: `bytes` bytes from `start` on.
    fn count_bytes(&self, space: Space, op: Op, start: usize, bytes: usize, location: &'static Location<'static>) {
        self.count_transfer(space, op, std::iter::once(start..start + bytes), location);
    }

    /// The offset of the shared end of a copy.
    fn check_shared_bytes(
        &self,
        end: &Bytes,
        kind: AccessKind,
        bytes: usize,
        location: &'static Location<'static>,
    ) -> usize {
        self.check_watchdog();
        self.watch(location);
        self.check_has_bulk_copies(location);
        if bytes == 0 || !bytes.is_multiple_of(UNIT) {
            let problem = format!("{bytes} bytes: a multiple of {UNIT} is allowed");
            self.fatal(FaultKind::BulkCopy { problem }, Some(location), None);
        }
        self.check_end(Space::Shared, end, kind, bytes, location);
        self.shared_operand(kind, end.ptr.addr(), bytes, location)
    }

    /// Checks bounds and alignment of one end of a copy.
    fn check_end(
        &self,
        space: Space,
        end: &Bytes,
        kind: AccessKind,
        bytes: usize,
        location: &'static Location<'static>,
    ) {
        let address = end.ptr.addr();
        if !stays_inside(&end.part, address, bytes) {
            self.outside_part(space, kind, address, bytes, &end.part, location);
        }
        if !address.is_multiple_of(UNIT) {
            self.misaligned(space, address, UNIT, location);
        }
    }
}
