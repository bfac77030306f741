//! Accesses of the running thread through views: bounds, alignment, races, traffic.

use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

use crate::access::{AccessKind, Space};
use crate::analysis::Op;
use crate::analysis::global_shadow::{GlobalAccess, GlobalConflict};
use crate::analysis::shadow::Verdict;
use crate::analysis::sites::{SiteKind, SiteSpace};
use crate::analysis::sync_vars::{AtomicAccess, Synchronization};
use crate::analysis::traffic::Traffic;
use crate::buffer::Allocation;
use crate::fault::{FaultKind, OtherAccess};
use crate::launch::Checks;

use super::run::Touched;
use super::slot::{Analysis, Slot};
use super::statics::StaticArray;

/// What a view's access is.
fn plain(kind: AccessKind) -> Op {
    match kind {
        AccessKind::Read => Op::Read,
        AccessKind::Write | AccessKind::Atomic => Op::Write,
    }
}

/// Whether an access lies in its view's addresses.
#[inline]
pub(super) fn stays_inside(part: &Range<usize>, address: usize, bytes: usize) -> bool {
    let end = address.wrapping_add(bytes);
    address >= part.start && end <= part.end && end >= address
}

/// An access to a buffer.
pub(super) struct BufferAccess {
    /// What is done, and the bytes that it counts as in the traffic.
    pub(super) kind: SiteKind,
    pub(super) address: usize,
    /// The bytes that are accessed.
    pub(super) bytes: usize,
    pub(super) site: &'static Location<'static>,
    pub(super) atomic: Option<AtomicAccess>,
    /// It was looked at before: now only its order with others matters.
    pub(super) is_repeat: bool,
}

impl BufferAccess {
    /// An access to all the bytes that it counts as.
    #[inline]
    pub(super) fn new(
        kind: SiteKind,
        address: usize,
        site: &'static Location<'static>,
        atomic: Option<AtomicAccess>,
    ) -> Self {
        Self {
            kind,
            address,
            bytes: kind.bytes.into(),
            site,
            atomic,
            is_repeat: false,
        }
    }
}

impl Slot {
    /// See [`crate::access::access`].
    #[inline]
    pub(crate) fn access(
        &self,
        space: Space,
        kind: AccessKind,
        address: usize,
        bytes: usize,
        part: Range<usize>,
        site: &'static Location<'static>,
    ) {
        if self.checks == Checks::Off {
            self.check_watch();
            return;
        }
        if !stays_inside(&part, address, bytes) {
            self.outside_part(space, kind, address, bytes, &part, site);
        }
        if !address.is_multiple_of(bytes) {
            self.misaligned(space, address, bytes, site);
        }
        let op = plain(kind);
        match space {
            Space::Shared => self.shared_access(op, address, bytes, site, None, true),
            Space::Global => match self.buffer_of(address) {
                Some(touched) => {
                    let kind = SiteKind {
                        space: SiteSpace::Global,
                        op,
                        bytes: bytes as u8,
                    };
                    self.access_buffer(touched, BufferAccess::new(kind, address, site, None));
                }
                None => self.outside_buffers(op, address, bytes, site),
            },
        }
    }

    /// See [`crate::access::skip`].
    pub(crate) fn skip(&self, space: Space, kind: AccessKind, bytes: usize, site: &'static Location<'static>) {
        self.check_watch();
        if self.checks != Checks::Full {
            return;
        }
        let kind = SiteKind {
            space: match space {
                Space::Shared => SiteSpace::Shared,
                Space::Global => SiteSpace::Global,
            },
            op: plain(kind),
            bytes: bytes as u8,
        };
        let ahead = {
            let Analysis { sites, traffic, .. } = &mut *self.analysis.borrow_mut();
            let id = sites.id(site, kind);
            traffic.record(self.thread.get() as u16, id, kind, Traffic::SKIPPED)
        };
        if ahead {
            self.suspend();
        }
    }

    /// `counted`: it is an instruction's, and not a part of one that the traffic knows already.
    pub(super) fn shared_access(
        &self,
        op: Op,
        address: usize,
        bytes: usize,
        site: &'static Location<'static>,
        atomic: Option<AtomicAccess>,
        counted: bool,
    ) {
        let Some(offset) = self.shared_offset(address, bytes) else {
            self.outside_shared(op, address, bytes, site)
        };
        let offset = self.compact_offset(offset);
        let thread = self.thread.get() as u16;
        let (pending, verdict, other, ahead) = {
            let Analysis {
                sites,
                sync,
                shadow,
                in_flight,
                traffic,
                agents,
                ..
            } = &mut *self.analysis.borrow_mut();
            let kind = SiteKind {
                space: SiteSpace::Shared,
                op,
                bytes: bytes as u8,
            };
            let id = sites.id(site, kind);
            let pending = in_flight.find(offset, bytes);
            // While a copy may change the bytes at any time, its order with others says nothing.
            let mut check = |sync: &Synchronization| match pending {
                None => shadow.access(&sync.clocks, offset, bytes, thread, op, id),
                Some(_) => Verdict::default(),
            };
            let verdict = match atomic {
                None => check(sync),
                Some(access) => sync.atomic(&self.run.order, thread, access, check),
            };
            let ahead = counted && self.checks == Checks::Full && traffic.record(thread, id, kind, offset as u64);
            let other = verdict.conflict.map(|conflict| OtherAccess {
                access: Some(conflict.op.into()),
                block: self.block_idx.get(),
                thread: self.thread_position(agents.issuer(conflict.thread).into()),
                site: sites.get(conflict.site).0.into(),
            });
            (pending, verdict, other, ahead)
        };
        self.check_watch();
        if let Some(pending) = pending {
            self.meets_copy(op, offset, pending, site);
        }
        if verdict.uninitialized || other.is_some() || ahead {
            self.shared_verdict(op, offset, verdict.uninitialized, other, site, ahead);
        }
    }

    #[cold]
    fn shared_verdict(
        &self,
        op: Op,
        offset: usize,
        uninitialized: bool,
        other: Option<OtherAccess>,
        site: &'static Location<'static>,
        ahead: bool,
    ) {
        let offset = self.real_offset(offset);
        if uninitialized {
            let kind = FaultKind::UninitializedRead {
                space: Space::Shared,
                offset,
            };
            self.fault(kind, Some(site), None);
        }
        if other.is_some() {
            let access = op.into();
            self.fault(FaultKind::SharedRace { access, offset }, Some(site), other);
        }
        if ahead {
            self.suspend();
        }
    }

    pub(super) fn access_buffer(&self, touched: &Touched, access: BufferAccess) {
        let BufferAccess {
            kind,
            address,
            bytes,
            site,
            atomic,
            is_repeat,
        } = access;
        let op = kind.op;
        let allocation = &touched.allocation;
        let offset = address - allocation.address();
        if offset + bytes > allocation.bytes() {
            self.outside_buffers(op, address, bytes, site);
        }
        if allocation.is_padding(offset, bytes) {
            let bound = format!("at byte {offset} of the buffer, in the padding between the rows of a matrix");
            self.out_of_bounds(Space::Global, op, bytes, bound, site);
        }
        if op.reads() && !is_repeat && !allocation.is_written(offset, bytes) {
            let kind = FaultKind::UninitializedRead {
                space: Space::Global,
                offset: offset as u64,
            };
            self.fault(kind, Some(site), None);
        }
        if op.writes() {
            allocation.set_written(offset, bytes);
        }
        let thread = self.thread.get() as u16;
        let (conflict, ahead) = {
            let Analysis {
                sites, sync, traffic, ..
            } = &mut *self.analysis.borrow_mut();
            let id = sites.id(site, kind);
            let who = GlobalAccess {
                block: self.block.get(),
                thread,
                stamp: sync.clocks.stamp(thread),
                op,
                site: self.run_site(id, site),
                knows_blocks: sync.knows_blocks(thread),
            };
            let check = |sync: &Synchronization| {
                touched.shadow.access(
                    who,
                    offset,
                    bytes,
                    |earlier, stamp| sync.clocks.ordered(earlier, stamp, thread),
                    |block, earlier, stamp| sync.ordered_in_grid(thread, block, earlier, stamp),
                )
            };
            let conflict = match atomic {
                None => check(sync),
                Some(access) => sync.atomic(&self.run.order, thread, access, check),
            };
            let ahead = !is_repeat && self.checks == Checks::Full && traffic.record(thread, id, kind, address as u64);
            (conflict, ahead)
        };
        if conflict.is_some() {
            self.global_race(op, offset, conflict, site);
        }
        if ahead {
            self.suspend();
        }
        self.check_watch();
    }

    /// Records a race in a buffer, with the other access where that is known.
    #[cold]
    pub(super) fn global_race(
        &self,
        op: Op,
        offset: usize,
        conflict: Option<GlobalConflict>,
        site: &'static Location<'static>,
    ) {
        if conflict.is_some_and(|conflict| conflict.block != self.block.get()) {
            self.run.note_race_between_blocks();
        }
        let other = conflict.map(|conflict| OtherAccess {
            access: Some(conflict.op.into()),
            block: self.grid_dim().position(conflict.block),
            thread: self.thread_position(self.analysis.borrow().agents.issuer(conflict.thread).into()),
            site: self.run.site(conflict.site).into(),
        });
        let kind = FaultKind::GlobalRace {
            access: op.into(),
            offset: offset as u64,
        };
        self.fault(kind, Some(site), other);
    }

    /// The offset in the arena of an access that lies in one of the block's parts.
    #[inline]
    pub(super) fn shared_offset(&self, address: usize, bytes: usize) -> Option<usize> {
        let offset = self.arena.offset(address)?;
        let dynamic = self.arena.static_bytes();
        let end = offset + bytes;
        if offset >= dynamic {
            return (end - dynamic <= self.run.config.dynamic_bytes as usize).then_some(offset);
        }
        let arrays = self.arrays.borrow();
        let inside = |array: &StaticArray| offset >= array.offset && end <= array.offset + array.bytes;
        arrays.iter().any(inside).then_some(offset)
    }

    /// The offset with the dynamic part first, and without what the arena leaves between the parts: what the block does
    /// not use then takes no shadow. It moves by multiples of 128 bytes, which no bank notices.
    #[inline]
    pub(super) fn compact_offset(&self, offset: usize) -> usize {
        let dynamic = self.arena.static_bytes();
        if offset >= dynamic {
            offset - dynamic
        } else {
            offset + (self.arena.bytes() - dynamic)
        }
    }

    /// What a compiler would have as the offset in the block's shared memory: static arrays without canaries, then the
    /// dynamic part.
    pub(super) fn real_offset(&self, compact: usize) -> u64 {
        let dynamic = self.arena.bytes() - self.arena.static_bytes();
        if compact < dynamic {
            return self.run.static_bytes() + compact as u64;
        }
        let offset = compact - dynamic;
        let arrays = self.arrays.borrow();
        let array = arrays
            .iter()
            .find(|array| (array.offset..array.offset + array.bytes).contains(&offset));
        array.map_or(offset as u64, |array| {
            array.real_offset + (offset - array.offset) as u64
        })
    }

    /// The buffer that `address` lies in.
    #[inline]
    pub(super) fn buffer_of(&self, address: usize) -> Option<&Touched> {
        let inside =
            |touched: &&Arc<Touched>| address.wrapping_sub(touched.allocation.address()) < touched.allocation.bytes();
        let known = self.touched.borrow().iter().find(inside).map(Arc::as_ptr);
        let found = match known {
            Some(found) => found,
            None => {
                let found = self.run.touch(Allocation::containing(address)?);
                let pointer = Arc::as_ptr(&found);
                self.touched.borrow_mut().push(found);
                pointer
            }
        };
        // SAFETY: what the slot has met it keeps until it goes: nothing is taken out of `touched`.
        Some(unsafe { &*found })
    }

    // Faults of accesses.

    #[cold]
    pub(super) fn outside_part(
        &self,
        space: Space,
        kind: AccessKind,
        address: usize,
        bytes: usize,
        part: &Range<usize>,
        site: &'static Location<'static>,
    ) -> ! {
        let len = part.end - part.start;
        let bound = if address >= part.start {
            format!("at byte {} of a view of {len} bytes", address - part.start)
        } else {
            format!("{} bytes before a view of {len} bytes", part.start - address)
        };
        let bytes = bytes as u32;
        let kind = FaultKind::OutOfBounds {
            space,
            access: kind,
            bytes,
            bound,
        };
        self.fatal(kind, Some(site), None)
    }

    #[cold]
    pub(super) fn misaligned(&self, space: Space, address: usize, bytes: usize, site: &'static Location<'static>) -> ! {
        let kind = FaultKind::Misaligned {
            space,
            bytes: bytes as u32,
            remainder: (address % bytes) as u32,
        };
        self.fatal(kind, Some(site), None)
    }

    #[cold]
    pub(super) fn out_of_bounds(
        &self,
        space: Space,
        op: Op,
        bytes: usize,
        bound: String,
        site: &'static Location<'static>,
    ) -> ! {
        let kind = FaultKind::OutOfBounds {
            space,
            access: op.into(),
            bytes: bytes as u32,
            bound,
        };
        self.fatal(kind, Some(site), None)
    }

    #[cold]
    pub(super) fn outside_shared(&self, op: Op, address: usize, bytes: usize, site: &'static Location<'static>) -> ! {
        let given = self.run.config.dynamic_bytes as usize;
        let dynamic = self.arena.dynamic().addr();
        // From the start of the dynamic part on, nothing but dynamic memory can be meant.
        if address >= dynamic && address - dynamic < 1 << 30 {
            let kind = FaultKind::DynamicSharedTooSmall {
                given_bytes: given as u64,
                needed_bytes: (address - dynamic + bytes) as u64,
            };
            self.fatal(kind, Some(site), None);
        }
        let bound = self.describe(address);
        self.out_of_bounds(Space::Shared, op, bytes, bound, site)
    }

    #[cold]
    pub(super) fn outside_buffers(&self, op: Op, address: usize, bytes: usize, site: &'static Location<'static>) -> ! {
        let bound = self.describe(address);
        self.out_of_bounds(Space::Global, op, bytes, bound, site)
    }

    /// What is known of an address that should not have been used.
    pub(super) fn describe(&self, address: usize) -> String {
        const NEAR: usize = 16 << 20;
        if address < 4096 {
            return format!("at address {address}: a null pointer");
        }
        if let Some(offset) = self.arena.offset(address) {
            let arrays = self.arrays.borrow();
            let before = arrays.iter().rfind(|array| array.offset <= offset);
            return match before {
                Some(array) if offset < self.arena.static_bytes() => format!(
                    "at byte {} of a static shared array of {} bytes",
                    offset - array.offset,
                    array.bytes
                ),
                _ => format!(
                    "at byte {} of the block's shared memory",
                    self.real_offset(self.compact_offset(offset))
                ),
            };
        }
        let end = self.arena.base().addr() + self.arena.bytes();
        if (end..end + NEAR).contains(&address) {
            let dynamic = self.arena.dynamic().addr();
            return format!(
                "at byte {} of {} bytes of dynamic shared memory",
                address - dynamic,
                self.run.config.dynamic_bytes
            );
        }
        let start = self.arena.base().addr();
        if address < start && start - address < NEAR {
            return format!("{} bytes before the block's shared memory", start - address);
        }
        match Allocation::below(address).filter(|below| address - below.address() < below.bytes() + NEAR) {
            Some(below) => format!(
                "at byte {} of a buffer of {} bytes",
                address - below.address(),
                below.bytes()
            ),
            None => "outside every buffer of the simulator".to_owned(),
        }
    }
}
