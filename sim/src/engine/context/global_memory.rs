//! Global memory as a block sees it: the buffers that it has accessed, and their races.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;

use crate::access::Space;
use crate::analysis::Op;
use crate::analysis::global_shadow::{GlobalAccess, GlobalConflict};
use crate::analysis::source_locations::AccessClass;
use crate::analysis::sync_vars::{AtomicAccess, Synchronization};
use crate::buffer::Allocation;
use crate::engine::run::{Run, TrackedBuffer};
use crate::fault::FaultKind;
use crate::launch::Checks;

use super::BlockContext;
use super::analysis::Analysis;

/// The buffers and source locations of the run that a context has used.
#[derive(Default)]
pub(super) struct GlobalMemory {
    /// Buffers, in the order of their first access. None is ever removed.
    buffers: RefCell<Vec<Arc<TrackedBuffer>>>,
    /// By the context's number of a source location, the run's.
    locations: RefCell<Vec<u32>>,
}

impl GlobalMemory {
    /// The buffer that contains `address`.
    #[inline]
    fn buffer_of(&self, run: &Run, address: usize) -> Option<&TrackedBuffer> {
        let inside = |buffer: &&Arc<TrackedBuffer>| {
            address.wrapping_sub(buffer.allocation.address()) < buffer.allocation.bytes()
        };
        let known = self.buffers.borrow().iter().find(inside).map(Arc::as_ptr);
        let found = match known {
            Some(found) => found,
            None => {
                let found = run.track(Allocation::containing(address)?);
                let pointer = Arc::as_ptr(&found);
                self.buffers.borrow_mut().push(found);
                pointer
            }
        };
        // SAFETY: `buffers` owns it until the context is dropped: none is ever removed.
        Some(unsafe { &*found })
    }

    /// The run's number of a source location, which all contexts share.
    fn run_location(&self, run: &Run, id: u16, location: &'static Location<'static>) -> u32 {
        const UNKNOWN: u32 = u32::MAX;
        let mut numbers = self.locations.borrow_mut();
        let id = usize::from(id);
        if numbers.len() <= id {
            numbers.resize(id + 1, UNKNOWN);
        }
        if numbers[id] == UNKNOWN {
            numbers[id] = run.intern(location);
        }
        numbers[id]
    }
}

/// An access to a buffer.
pub(super) struct BufferAccess {
    /// The operation, and the bytes that it counts as in the traffic.
    pub(super) class: AccessClass,
    pub(super) address: usize,
    /// The bytes that are accessed.
    pub(super) bytes: usize,
    pub(super) location: &'static Location<'static>,
    pub(super) atomic: Option<AtomicAccess>,
    /// It was checked before: only its order with others matters now.
    pub(super) is_repeat: bool,
}

impl BufferAccess {
    /// An access to all the bytes that it counts as.
    #[inline]
    pub(super) fn new(
        class: AccessClass,
        address: usize,
        location: &'static Location<'static>,
        atomic: Option<AtomicAccess>,
    ) -> Self {
        Self {
            class,
            address,
            bytes: class.bytes.into(),
            location,
            atomic,
            is_repeat: false,
        }
    }
}

/// A thread or agent that accesses a buffer, as the shadow of global memory is asked about it.
pub(super) struct GlobalAccessor {
    /// The thread or agent.
    pub(super) thread: u16,
    pub(super) op: Op,
    /// The context's number of the source location.
    pub(super) id: u16,
    pub(super) location: &'static Location<'static>,
}

impl BlockContext {
    /// The buffer that contains `address`.
    #[inline]
    pub(super) fn buffer_of(&self, address: usize) -> Option<&TrackedBuffer> {
        self.global.buffer_of(&self.run, address)
    }

    /// Enters an access to `bytes` bytes from `offset` on into the buffer's shadow; returns the access that it races
    /// with.
    pub(super) fn enter_global(
        &self,
        buffer: &TrackedBuffer,
        sync: &Synchronization,
        GlobalAccessor {
            thread,
            op,
            id,
            location,
        }: GlobalAccessor,
        offset: usize,
        bytes: usize,
    ) -> Option<GlobalConflict> {
        let access = GlobalAccess {
            block: self.id.get().number,
            thread,
            epoch: sync.clocks.epoch(thread),
            op,
            location: self.global.run_location(&self.run, id, location),
            knows_blocks: sync.knows_blocks(thread),
        };
        buffer.shadow.access(
            access,
            offset,
            bytes,
            |earlier, epoch| sync.clocks.ordered(earlier, epoch, thread),
            |block, earlier, epoch| sync.ordered_in_grid(thread, block, earlier, epoch),
        )
    }

    /// The offset in its buffer of an access that must be inside it and outside a matrix's padding. Any other access
    /// ends the block.
    #[inline]
    pub(super) fn offset_in_buffer(
        &self,
        buffer: &TrackedBuffer,
        op: Op,
        address: usize,
        bytes: usize,
        location: &'static Location<'static>,
    ) -> usize {
        let allocation = &buffer.allocation;
        let offset = address - allocation.address();
        if offset + bytes > allocation.bytes() {
            self.faults.name_buffer(allocation.name());
            self.outside_buffers(op, address, bytes, location);
        }
        if allocation.is_padding(offset, bytes) {
            self.faults.name_buffer(allocation.name());
            let bound = format!("at byte {offset} of the buffer, in the padding between the rows of a matrix");
            self.out_of_bounds(Space::Global, op, bytes, bound, location);
        }
        offset
    }

    /// Checks an access of the running thread to a buffer, and counts it in the traffic.
    pub(super) fn access_buffer(&self, buffer: &TrackedBuffer, access: BufferAccess) {
        let BufferAccess {
            class,
            address,
            bytes,
            location,
            atomic,
            is_repeat,
        } = access;
        let op = class.op;
        let offset = self.offset_in_buffer(buffer, op, address, bytes, location);
        let allocation = &buffer.allocation;
        if op.reads() && !is_repeat && !allocation.is_written(offset, bytes) {
            self.faults.name_buffer(allocation.name());
            self.uninitialized_read(Space::Global, offset as u64, location);
        }
        if op.writes() {
            allocation.set_written(offset, bytes);
        }
        let thread = self.thread();
        let (conflict, is_ahead) = {
            let Analysis {
                locations,
                sync,
                traffic,
                ..
            } = &mut *self.analysis.borrow_mut();
            let id = locations.id(location, class);
            let check = |sync: &Synchronization| {
                let accessor = GlobalAccessor {
                    thread,
                    op,
                    id,
                    location,
                };
                self.enter_global(buffer, sync, accessor, offset, bytes)
            };
            let conflict = match atomic {
                None => check(sync),
                Some(access) => sync.atomic(&self.run.order, thread, access, check),
            };
            let is_counted = !is_repeat && self.checks == Checks::Full;
            (
                conflict,
                is_counted && traffic.record(thread, id, class, address as u64),
            )
        };
        if conflict.is_some() {
            self.faults.name_buffer(allocation.name());
            self.global_race(op, offset, conflict, location);
        }
        if is_ahead {
            self.suspend();
        }
        self.check_watchdog();
    }

    /// Records a race in a buffer, with the other access where it is known.
    #[cold]
    pub(super) fn global_race(
        &self,
        op: Op,
        offset: usize,
        conflict: Option<GlobalConflict>,
        location: &'static Location<'static>,
    ) {
        if self.stores_the_same(op, conflict.map(|conflict| conflict.op.into())) {
            return;
        }
        if conflict.is_some_and(|conflict| conflict.block != self.id.get().number) {
            self.run.note_race_between_blocks();
        }
        let other = conflict.map(|conflict| {
            let issuer = self.analysis.borrow().agents.issuer(conflict.thread);
            let location = self.run.location(conflict.location);
            self.access_elsewhere(conflict.op.into(), conflict.block, issuer, location)
        });
        let kind = FaultKind::GlobalRace {
            access: op.into(),
            offset: offset as u64,
        };
        self.fault(kind, Some(location), other);
    }

    /// An access outside every buffer: ends the block.
    #[cold]
    pub(super) fn outside_buffers(
        &self,
        op: Op,
        address: usize,
        bytes: usize,
        location: &'static Location<'static>,
    ) -> ! {
        let bound = self.describe(address);
        self.out_of_bounds(Space::Global, op, bytes, bound, location)
    }
}
