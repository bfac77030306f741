//! Bulk copies of the running thread between global and shared memory.
//!
//! A copy is an agent: its accesses are looked at when it starts, with what its thread knows, and whoever waits for it
//! learns of them. A copy into shared memory reads when it starts, and its bytes arrive when nobody in the block can go
//! on without them; the hardware may do so at any time in between, and whoever could see the difference races with it.
//! A copy out of shared memory is done when it starts.

use std::ops::Range;
use std::panic::Location;
use std::ptr;

use crate::access::{AccessKind, Space};
use crate::bulk_copy::TensorBox;
use crate::fault::FaultKind;
use crate::schedule::Turns;
use crate::tensor_map::{TensorMapParts, TensorSwizzle};

use super::mbarrier::MbarrierAccess;
use super::memory::stays_inside;
use super::operations::{Arriving, Store};
use super::slot::Slot;

/// A row of a box, as far as it lies in the matrix.
struct Row {
    /// Its bytes in the box.
    in_box: Range<usize>,
    /// The address of the first of them.
    address: usize,
}

/// The rows of the box at `coordinates` that lie in the matrix.
fn rows(parts: &TensorMapParts, [x, y]: [i32; 2]) -> Vec<Row> {
    let [columns, height] = parts.extents.map(|extent| extent as i64);
    let [box_columns, box_rows] = parts.box_extents.map(i64::from);
    let (x, y) = (i64::from(x), i64::from(y));
    let (first, end) = (x.max(0), (x + box_columns).min(columns));
    let bytes = parts.element.bytes() as i64;
    let row = |row: i64| {
        let start = (row - y) * box_columns;
        let in_box = (start + first - x) * bytes..(start + end - x) * bytes;
        Row {
            in_box: in_box.start as usize..in_box.end as usize,
            address: (parts.address as i64 + row * parts.stride_bytes as i64 + first * bytes) as usize,
        }
    };
    let inside = y.max(0)..(y + box_rows).min(height);
    if first < end {
        inside.map(row).collect()
    } else {
        Vec::new()
    }
}

impl Slot {
    /// `cp.async.bulk.tensor.2d.shared.global`.
    ///
    /// # Safety
    /// As [`crate::bulk_copy::load`].
    pub(crate) unsafe fn bulk_load(
        &self,
        tensor: &TensorBox,
        mbarrier: &MbarrierAccess,
        ranks: Option<u16>,
        site: &'static Location<'static>,
    ) {
        let (parts, offset) = self.check_box(tensor, AccessKind::Write, site);
        let mbarrier = self.mbarrier_of_copy(mbarrier, site);
        let thread = self.thread.get();
        let operation = self.start_operation(std::iter::once(thread as u16));
        let to = tensor.shared.addr();
        let mut data = vec![0; parts.box_bytes() as usize];
        for Row { in_box, address } in rows(&parts, tensor.coordinates) {
            self.operation_on_global(operation, false, address, in_box.len(), site);
            for (byte, offset) in in_box.enumerate() {
                let from = ptr::with_exposed_provenance::<u8>(address + byte);
                // SAFETY: a byte of the matrix: the simulator let it pass, or the caller's promise.
                data[parts.swizzle.place(to, offset)] = unsafe { *from };
            }
        }
        let own = 1 << self.rank;
        let ranks = ranks.unwrap_or(own);
        for rank in (0..16).filter(|rank| (ranks & !own) >> rank & 1 == 1) {
            self.also_arrives(rank, offset, data.clone(), mbarrier, site);
        }
        if ranks & own == 0 {
            return self.note_change();
        }
        self.operation_on_shared(operation, true, offset, data.len(), site);
        self.operations.borrow_mut().arriving.push(Arriving {
            operation,
            thread,
            to: tensor.shared,
            data,
            mbarrier,
            site,
        });
        self.note_change();
    }

    /// `cp.async.bulk.tensor.2d.global.shared`.
    ///
    /// # Safety
    /// As [`crate::bulk_copy::store`].
    pub(crate) unsafe fn bulk_store(&self, tensor: &TensorBox, site: &'static Location<'static>) {
        let (parts, offset) = self.check_box(tensor, AccessKind::Read, site);
        // Seen on an H200: of a matrix with 511 columns of 2 bytes the element behind each row was overwritten.
        let row_bytes = parts.extents[0] * parts.element.bytes();
        if !row_bytes.is_multiple_of(16) {
            let problem = format!(
                "a store to rows of {row_bytes} bytes, which are no multiple of 16: it may also write what is behind a row"
            );
            self.fault(FaultKind::BulkCopy { problem }, Some(site), None);
        }
        let thread = self.thread.get() as u16;
        let store = Store {
            reads: self.start_operation(std::iter::once(thread)),
            writes: self.start_operation(std::iter::once(thread)),
        };
        let from = tensor.shared.addr();
        for Row { in_box, address } in rows(&parts, tensor.coordinates) {
            self.operation_on_global(store.writes, true, address, in_box.len(), site);
            // A swizzled row stays where it is, its chunks change places.
            let row = match parts.swizzle {
                TensorSwizzle::None => in_box.clone(),
                TensorSwizzle::Bytes128 => in_box.start / 128 * 128..in_box.end.next_multiple_of(128),
            };
            self.operation_on_shared(store.reads, false, offset + row.start, row.len(), site);
            for (byte, offset) in in_box.enumerate() {
                let to = ptr::with_exposed_provenance_mut::<u8>(address + byte);
                // SAFETY: a byte of the box and one of the matrix: the simulator let both pass, or the caller's
                // promise.
                unsafe { *to = *tensor.shared.add(parts.swizzle.place(from, offset)) };
            }
        }
        self.operations
            .borrow_mut()
            .stores
            .entry(thread)
            .or_default()
            .start(store);
        self.note_change();
    }

    /// `cp.async.bulk.commit_group`.
    pub(crate) fn bulk_commit(&self) {
        self.check_watch();
        let thread = self.thread.get() as u16;
        self.operations.borrow_mut().stores.entry(thread).or_default().commit();
    }

    /// `cp.async.bulk.wait_group`, or with `only_reads` its form `.read`.
    pub(crate) fn bulk_wait(&self, pending: u32, only_reads: bool) {
        self.check_watch();
        let thread = self.thread.get() as u16;
        let covered = {
            let mut operations = self.operations.borrow_mut();
            let groups = operations.stores.entry(thread).or_default();
            let covered = groups.covered(pending);
            if !only_reads {
                groups.forget(pending);
            }
            covered
        };
        for store in covered {
            self.acquire_operation(thread, store.reads);
            if !only_reads {
                self.acquire_operation(thread, store.writes);
            }
        }
    }

    /// Lets the bytes of a copy arrive, the first one in the order of the schedule; tells whether there was any.
    pub(super) fn complete_copy(&self, turns: &mut Turns) -> bool {
        let copy = {
            let arriving = &mut self.operations.borrow_mut().arriving;
            let mut order: Vec<usize> = (0..arriving.len()).collect();
            turns.arrange(&mut order);
            match order.first() {
                None => return false,
                Some(&first) => arriving.remove(first),
            }
        };
        // SAFETY: so many bytes of shared memory: they were looked at when the copy started.
        unsafe { ptr::copy_nonoverlapping(copy.data.as_ptr(), copy.to, copy.data.len()) };
        self.thread.set(copy.thread);
        self.mbarrier_complete(copy.mbarrier, copy.data.len() as u32, copy.operation, copy.site);
        true
    }

    /// What the tensor map says, and where the box lies in shared memory.
    fn check_box(
        &self,
        tensor: &TensorBox,
        kind: AccessKind,
        site: &'static Location<'static>,
    ) -> (TensorMapParts, usize) {
        self.check_watch();
        let refuse = |problem: String| -> ! { self.fatal(FaultKind::BulkCopy { problem }, Some(site), None) };
        let Some(parts) = TensorMapParts::decode_simulated(&tensor.map) else {
            refuse("the tensor map is none of the simulator's (TensorMapParts::encode_simulated)".to_owned())
        };
        let capability = self.compute_capability();
        if capability < 900 {
            let (major, minor) = (capability / 100, capability / 10 % 10);
            refuse(format!("compute capability {major}.{minor} has none: 9.0 is the first"));
        }
        let (address, bytes) = (tensor.shared.addr(), parts.box_bytes() as usize);
        if !stays_inside(&tensor.shared_part, address, bytes) {
            self.outside_part(Space::Shared, kind, address, bytes, &tensor.shared_part, site);
        }
        let alignment = TensorSwizzle::ALIGNMENT;
        if !address.is_multiple_of(alignment) {
            self.misaligned(Space::Shared, address, alignment, site);
        }
        (parts, self.operand_in_shared(kind, address, bytes, site))
    }
}
