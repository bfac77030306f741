//! TMA loads and stores of the running thread (`cp.async.bulk`).
//!
//! A copy is an agent: its accesses are checked when it starts, ordered after the knowledge of its thread, and a thread
//! that waits for it acquires them. A load reads global memory when it starts, and its bytes arrive when no thread of
//! the block can run without them. The hardware may write them at any time in between, and any access that could see
//! the difference is a race. A store is executed when it starts.

use std::collections::HashMap;
use std::ops::Range;
use std::panic::Location;
use std::ptr;

use crate::access::{AccessKind, Space};
use crate::analysis::Op;
use crate::analysis::agents::Operation;
use crate::bulk_copy::TensorBox;
use crate::fault::FaultKind;
use crate::schedule::Turns;
use crate::tensor_map::{TensorMapParts, TensorSwizzle};

use super::BlockContext;
use super::agent::Proxy;
use super::groups::Groups;
use super::mbarrier::MbarrierAccess;
use super::memory::stays_inside;

/// The TMA loads and stores of a block that are under way.
#[derive(Default)]
pub(super) struct BulkCopies {
    /// Loads whose bytes have not arrived, in the order of their starts.
    loads: Vec<Load>,
    /// By thread, its stores.
    stores: HashMap<u16, Groups<Store>>,
    /// Stores that may still read shared memory: their thread, their reads, their line.
    reading: Vec<(u16, Operation, &'static Location<'static>)>,
}

impl BulkCopies {
    /// Adds a load whose bytes have not arrived.
    pub(super) fn start_load(&mut self, load: Load) {
        self.loads.push(load);
    }

    /// Adds a store of a thread to its open group.
    pub(super) fn start_store(&mut self, thread: u16, store: Store, location: &'static Location<'static>) {
        self.reading.push((thread, store.reads, location));
        self.stores_of(thread).start(store);
    }

    /// Removes the load that completes next, the first one in the order of the schedule.
    fn next_load(&mut self, turns: &mut Turns) -> Option<Load> {
        let mut order: Vec<usize> = (0..self.loads.len()).collect();
        turns.arrange(&mut order);
        order.first().map(|&first| self.loads.remove(first))
    }

    fn stores_of(&mut self, thread: u16) -> &mut Groups<Store> {
        self.stores.entry(thread).or_default()
    }
}

/// A TMA load.
pub(super) struct Load {
    pub(super) operation: Operation,
    /// Rank and thread that started it.
    pub(super) issuer: (u32, u16),
    /// The first byte that it writes.
    pub(super) to: *mut u8,
    /// The bytes that it writes.
    pub(super) data: Vec<u8>,
    /// They are a `u32` that is added to the one there.
    pub(super) adds: bool,
    /// The offset of the mbarrier that it completes on.
    pub(super) mbarrier: usize,
    pub(super) location: &'static Location<'static>,
}

/// A TMA store.
#[derive(Clone, Copy)]
pub(super) struct Store {
    /// Its reads of shared memory.
    pub(super) reads: Operation,
    /// Its writes of global memory.
    pub(super) writes: Operation,
}

/// The part of a box's row that is inside the matrix.
struct Row {
    /// Its bytes in the box.
    in_box: Range<usize>,
    /// The address of the first of them.
    address: usize,
}

impl Row {
    /// The addresses of its bytes.
    fn in_matrix(&self) -> Range<usize> {
        self.address..self.address + self.in_box.len()
    }
}

/// The rows of the box that are inside its matrix, and none where the batch has no such matrix.
fn rows(parts: &TensorMapParts, tensor: &TensorBox) -> Vec<Row> {
    let matrix = match (parts.planes, tensor.plane) {
        (Some(planes), Some(plane)) => match u64::try_from(plane) {
            Ok(plane) if plane < planes.count => plane.saturating_mul(planes.stride_bytes),
            _ => return Vec::new(),
        },
        _ => 0,
    };
    // What lies past the last address is in no buffer, and a copy of it out of bounds.
    let address = |row: i64, bytes: i64| {
        let in_matrix = (row as u64).saturating_mul(parts.stride_bytes);
        let offset = matrix.saturating_add(in_matrix).saturating_add(bytes as u64);
        parts.address.saturating_add(offset).min(isize::MAX as u64) as usize
    };
    let [x, y] = tensor.coordinates;
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
            address: address(row, first * bytes),
        }
    };
    let inside = y.max(0)..(y + box_rows).min(height);
    if first < end {
        inside.map(row).collect()
    } else {
        Vec::new()
    }
}

impl BlockContext {
    /// `cp.async.bulk.tensor.2d.shared.global`, and `.3d`.
    ///
    /// # Safety
    /// As [`crate::bulk_copy::load`].
    pub(crate) unsafe fn bulk_load(
        &self,
        tensor: &TensorBox,
        mbarrier: &MbarrierAccess,
        ranks: Option<u16>,
        location: &'static Location<'static>,
    ) {
        let (parts, offset) = self.check_box(tensor, AccessKind::Write, location);
        let mbarrier = self.mbarrier_of_copy(mbarrier, location);
        let thread = self.threads.running_number();
        let operation = self.start_operation(std::iter::once(thread as u16));
        self.read_map(operation, tensor, location);
        let to = tensor.shared.addr();
        let mut data = vec![0; parts.box_bytes() as usize];
        let rows = rows(&parts, tensor);
        self.count_transfer(Space::Global, Op::Read, rows.iter().map(Row::in_matrix), location);
        for Row { in_box, address } in rows {
            self.operation_on_global(operation, Op::Read, address, in_box.len(), location);
            let bytes = (0..in_box.len()).map(|byte| {
                let from = ptr::with_exposed_provenance::<u8>(address + byte);
                // SAFETY: a byte of the matrix: the simulator has checked it, or the caller promises it.
                unsafe { *from }
            });
            let mut row: Vec<u8> = bytes.collect();
            if parts.element.bytes() == 4 {
                let (elements, _) = row.as_chunks_mut();
                elements
                    .iter_mut()
                    .for_each(|element| *element = parts.element.loaded(*element));
            }
            for (offset, byte) in in_box.zip(row) {
                data[parts.swizzle.place(to, offset)] = byte;
            }
        }
        let own = 1 << self.cluster.rank();
        let ranks = ranks.unwrap_or(own);
        for rank in (0..16).filter(|rank| (ranks & !own) >> rank & 1 == 1) {
            self.multicast_load(rank, offset, data.clone(), mbarrier, location);
        }
        if ranks & own == 0 {
            return self.note_change();
        }
        self.operation_on_shared(operation, (Op::Write, Proxy::Async), offset, data.len(), location);
        let written = offset..offset + data.len();
        self.count_transfer(Space::Shared, Op::Write, std::iter::once(written), location);
        self.bulk_copies.borrow_mut().start_load(Load {
            operation,
            issuer: (self.cluster.rank(), thread as u16),
            to: tensor.shared,
            data,
            adds: false,
            mbarrier,
            location,
        });
        self.note_change();
    }

    /// `cp.async.bulk.tensor.2d.global.shared`, and `.3d`.
    ///
    /// # Safety
    /// As [`crate::bulk_copy::store`].
    pub(crate) unsafe fn bulk_store(&self, tensor: &TensorBox, location: &'static Location<'static>) {
        let (parts, offset) = self.check_box(tensor, AccessKind::Read, location);
        // Observed on an H200: a store to 511 columns of 2 bytes overwrote the element after each row.
        let row_bytes = parts.extents[0] * parts.element.bytes();
        if !row_bytes.is_multiple_of(16) {
            let problem = format!(
                "a store to rows of {row_bytes} bytes, not a multiple of 16: it may also write the bytes after each row"
            );
            self.fault(FaultKind::BulkCopy { problem }, Some(location), None);
        }
        let thread = self.thread();
        let store = Store {
            reads: self.start_operation(std::iter::once(thread)),
            writes: self.start_operation(std::iter::once(thread)),
        };
        self.read_map(store.reads, tensor, location);
        let from = tensor.shared.addr();
        let rows = rows(&parts, tensor);
        self.count_transfer(Space::Global, Op::Write, rows.iter().map(Row::in_matrix), location);
        let read = rows
            .iter()
            .map(|row| offset + row.in_box.start..offset + row.in_box.end);
        self.count_transfer(Space::Shared, Op::Read, read, location);
        // What is outside the matrix is read, too, and discarded.
        let (mut next, box_bytes) = (0, parts.box_bytes() as usize);
        for Row { in_box, address } in rows {
            self.operation_on_global(store.writes, Op::Write, address, in_box.len(), location);
            // Swizzling permutes the 16-byte chunks of a row.
            let row = match parts.swizzle.row_bytes() {
                None => in_box.clone(),
                Some(bytes) => in_box.start / bytes * bytes..in_box.end.next_multiple_of(bytes),
            };
            self.discarded_read(store.reads, offset + next..offset + row.start, location);
            next = row.end;
            self.operation_on_shared(
                store.reads,
                (Op::Read, Proxy::Async),
                offset + row.start,
                row.len(),
                location,
            );
            for (byte, offset) in in_box.enumerate() {
                let to = ptr::with_exposed_provenance_mut::<u8>(address + byte);
                // SAFETY: a byte of the box and one of the matrix: the simulator has checked both, or the caller
                // promises them.
                unsafe { *to = *tensor.shared.add(parts.swizzle.place(from, offset)) };
            }
        }
        self.discarded_read(store.reads, offset + next..offset + box_bytes, location);
        self.bulk_copies.borrow_mut().start_store(thread, store, location);
        self.note_change();
    }

    /// `cp.async.bulk.commit_group`.
    pub(crate) fn bulk_commit(&self) {
        self.check_watchdog();
        self.bulk_copies.borrow_mut().stores_of(self.thread()).commit();
    }

    /// `cp.async.bulk.wait_group`, or `.read` with `only_reads`.
    pub(crate) fn bulk_wait(&self, pending: u32, only_reads: bool) {
        self.check_watchdog();
        let thread = self.thread();
        let covered = {
            let mut copies = self.bulk_copies.borrow_mut();
            let groups = copies.stores_of(thread);
            let covered = groups.covered(pending);
            if !only_reads {
                groups.forget(pending);
            }
            copies
                .reading
                .retain(|&(of, reads, _)| of != thread || covered.iter().all(|store| store.reads != reads));
            covered
        };
        for store in covered {
            self.acquire_operation(thread, store.reads);
            if !only_reads {
                self.acquire_operation(thread, store.writes);
            }
        }
    }

    /// Completes the next TMA load of the block; returns whether there was one.
    pub(super) fn complete_copy(&self, turns: &mut Turns) -> bool {
        let Some(load) = self.bulk_copies.borrow_mut().next_load(turns) else {
            return false;
        };
        if load.adds {
            // SAFETY: a word of shared memory: it was checked when the update started. Both have 4 bytes.
            let (there, added) = unsafe { (load.to.cast::<u32>(), load.data.as_ptr().cast::<u32>().read_unaligned()) };
            // SAFETY: as above.
            unsafe { there.write(there.read().wrapping_add(added)) };
        } else {
            // SAFETY: that many bytes of shared memory: they were checked when the copy started.
            unsafe { ptr::copy_nonoverlapping(load.data.as_ptr(), load.to, load.data.len()) };
        }
        self.on_behalf_of(load.issuer, || {
            self.mbarrier_complete(load.mbarrier, load.data.len() as u32, load.operation, load.location);
        });
        true
    }

    /// Records the copies that still access shared memory when the block ends, which the next block may have by then.
    pub(super) fn check_copies_at_exit(&self) {
        let copies = self.bulk_copies.take();
        let own = self.cluster.rank();
        let stores = copies
            .reading
            .iter()
            .map(|&(thread, _, line)| ((own, thread), line, false));
        let loads = copies.loads.iter().map(|load| (load.issuer, load.location, true));
        for (issuer, location, writes) in stores.chain(loads) {
            let (_, thread) = issuer;
            self.on_behalf_of(issuer, || {
                let kind = FaultKind::ExitDuringCopy { writes };
                self.record(thread.into(), kind, Some(location.into()), None);
            });
        }
    }

    /// Executes `effect` of a copy in this block: faults name the copy's issuer, rank and thread.
    fn on_behalf_of(&self, (rank, thread): (u32, u16), effect: impl FnOnce()) {
        let issuer = self.peer_at(rank).unwrap_or(self);
        issuer.visiting(self, thread.into(), effect);
    }

    /// Enters the operation's read of its tensor map, where that is in a buffer: it must not change meanwhile, and
    /// fences must follow earlier changes.
    fn read_map(&self, operation: Operation, tensor: &TensorBox, location: &'static Location<'static>) {
        if let Some(buffer) = self.buffer_of(tensor.map_address) {
            let bytes = size_of_val(&tensor.map);
            self.check_map_fences(buffer, tensor.map_address, location);
            self.operation_on_global(operation, Op::Read, tensor.map_address, bytes, location);
        }
    }

    /// Ends the block if the architecture has no bulk copies.
    pub(super) fn check_has_bulk_copies(&self, location: &'static Location<'static>) {
        let capability = self.compute_capability();
        if capability < 900 {
            let (major, minor) = (capability / 100, capability / 10 % 10);
            let problem = format!("compute capability {major}.{minor} has none: 9.0 is the first");
            self.fatal(FaultKind::BulkCopy { problem }, Some(location), None);
        }
    }

    /// The tensor map's fields, and the box's offset in shared memory.
    fn check_box(
        &self,
        tensor: &TensorBox,
        kind: AccessKind,
        location: &'static Location<'static>,
    ) -> (TensorMapParts, usize) {
        self.check_watchdog();
        self.watch(location);
        let refuse = |problem: String| -> ! { self.fatal(FaultKind::BulkCopy { problem }, Some(location), None) };
        let Some(parts) = TensorMapParts::decode_simulated(&tensor.map) else {
            refuse("the tensor map is none of the simulator's (TensorMapParts::encode_simulated)".to_owned())
        };
        let rank = 2 + u32::from(tensor.plane.is_some());
        if rank != parts.rank() {
            refuse(format!(
                "an instruction with {rank} coordinates, and a tensor map of rank {}",
                parts.rank()
            ))
        }
        // Observed on an H200, which ends the kernel with an illegal instruction; the PTX ISA does not say so, Triton's
        // tutorial of TMA does.
        let begins = i64::from(tensor.coordinates[0]) * parts.element.bytes() as i64;
        if begins % 16 != 0 {
            refuse(format!(
                "a box that begins {begins} bytes into the rows of its matrix: a multiple of 16 is allowed"
            ))
        }
        self.check_has_bulk_copies(location);
        let (address, bytes) = (tensor.shared.addr(), parts.box_bytes() as usize);
        if !stays_inside(&tensor.shared_part, address, bytes) {
            self.outside_part(Space::Shared, kind, address, bytes, &tensor.shared_part, location);
        }
        let alignment = TensorSwizzle::ALIGNMENT;
        if !address.is_multiple_of(alignment) {
            self.misaligned(Space::Shared, address, alignment, location);
        }
        (parts, self.shared_operand(kind, address, bytes, location))
    }
}
