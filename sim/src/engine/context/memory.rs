//! Accesses of the running thread through views: bounds, alignment, races, traffic.

use std::ops::Range;
use std::panic::Location;

use crate::access::{AccessKind, Instruction, Space};
use crate::analysis::Op;
use crate::analysis::shadow::Verdict;
use crate::analysis::source_locations::AccessClass;
use crate::analysis::sync_vars::{AtomicAccess, Synchronization};
use crate::analysis::traffic::Traffic;
use crate::buffer::Allocation;
use crate::fault::{FaultKind, OtherAccess};
use crate::launch::Checks;

use super::BlockContext;
use super::analysis::Analysis;
use super::global_memory::BufferAccess;

/// Whether an access is inside its view's addresses.
#[inline]
pub(super) fn stays_inside(part: &Range<usize>, address: usize, bytes: usize) -> bool {
    let end = address.wrapping_add(bytes);
    address >= part.start && end <= part.end && end >= address
}

/// Whether an access is inside its view's addresses and aligned.
#[inline]
fn is_valid(part: &Range<usize>, address: usize, bytes: usize) -> bool {
    stays_inside(part, address, bytes) && address & (bytes - 1) == 0
}

impl BlockContext {
    /// See [`crate::access::access`]. Not inlined: kernels may be compiled without optimization.
    #[inline(never)]
    pub(crate) fn access(
        &self,
        class: AccessClass,
        address: usize,
        part: Range<usize>,
        location: &'static Location<'static>,
    ) {
        if self.checks == Checks::Off {
            self.check_watchdog();
        } else if is_valid(&part, address, class.bytes.into()) {
            self.access_valid(class, address, location);
        } else {
            self.access_invalid(class, address, part, location);
        }
    }

    /// [`Self::load_shared`] of 4 bytes.
    #[inline(never)]
    pub(crate) fn load_shared_4(&self, address: usize, part: Range<usize>, location: &'static Location<'static>) {
        self.load_shared::<4>(address, part, location);
    }

    /// [`Self::load_shared`] of 2 bytes.
    #[inline(never)]
    pub(crate) fn load_shared_2(&self, address: usize, part: Range<usize>, location: &'static Location<'static>) {
        self.load_shared::<2>(address, part, location);
    }

    /// [`Self::access`] for a load from shared memory, which is most of what a kernel does. The common case calls
    /// nothing, and any other case is the last call, for which few registers need to be saved.
    #[inline(always)]
    fn load_shared<const BYTES: usize>(
        &self,
        address: usize,
        part: Range<usize>,
        location: &'static Location<'static>,
    ) {
        let class = AccessClass::of_lanes(Space::Shared, Op::Read, BYTES);
        if !self.checks_and_no_more || self.watchdog.is_expired() || !is_valid(&part, address, BYTES) {
            return self.access(class, address, part, location);
        }
        // Bytes that the block has written are inside an array or the dynamic memory.
        let offset = self.shared.unchecked_offset_of(address);
        let thread = self.thread();
        let mut analysis = self.analysis.borrow_mut();
        let Analysis {
            locations,
            sync,
            shadow,
            in_flight,
            traffic,
            ..
        } = &mut *analysis;
        let id = locations.known_id(location, class).filter(|_| in_flight.is_empty());
        let checked = id.filter(|&id| shadow.access_common(&sync.clocks, offset, BYTES, thread, Op::Read, id));
        let Some(id) = checked else {
            drop(analysis);
            return self.access_valid(class, address, location);
        };
        if self.checks != Checks::Full {
            return;
        }
        match traffic.join(thread, id) {
            Some(joining) => joining.record(offset as u64),
            None => {
                drop(analysis);
                self.count_number(id, class, offset as u64);
            }
        }
    }

    /// [`Self::access`] that is inside its view, and aligned.
    #[inline(never)]
    fn access_valid(&self, class: AccessClass, address: usize, location: &'static Location<'static>) {
        self.watch(location);
        match class.space {
            Space::Shared => match self.shared_access_common(class, address, location) {
                Some(false) => self.check_watchdog(),
                Some(true) => {
                    self.check_watchdog();
                    self.suspend();
                }
                None => self.shared_access_of_view(class, address, location),
            },
            Space::Global => match self.buffer_of(address) {
                Some(buffer) => self.access_buffer(buffer, BufferAccess::new(class, address, location, None)),
                None => self.outside_buffers(class.op, address, class.bytes.into(), location),
            },
        }
    }

    /// [`Self::access`] that is not inside its view, or not aligned.
    #[cold]
    #[inline(never)]
    fn access_invalid(
        &self,
        class: AccessClass,
        address: usize,
        part: Range<usize>,
        location: &'static Location<'static>,
    ) -> ! {
        self.watch(location);
        let bytes = usize::from(class.bytes);
        if !stays_inside(&part, address, bytes) {
            self.outside_part(class.space, class.op.into(), address, bytes, &part, location);
        }
        self.misaligned(class.space, address, bytes, location)
    }

    /// [`Self::access`] to shared memory in general.
    #[inline(never)]
    fn shared_access_of_view(&self, class: AccessClass, address: usize, location: &'static Location<'static>) {
        let bytes = usize::from(class.bytes);
        self.shared_access(class.op, address, bytes, location, None, Some(Instruction::Lanes));
    }

    /// Notes the value of the store that comes next, if the policy asks for it.
    #[inline]
    pub(crate) fn note_value(&self, address: usize, bytes: usize, value: *const u8) {
        if self.launch.config.policy.same_value_writes {
            self.value.set((address, bytes, value));
        }
    }

    /// Whether two unordered accesses are stores of the same value, which the policy allows.
    pub(super) fn stores_the_same(&self, op: Op, other: Option<AccessKind>) -> bool {
        let (address, bytes, value) = self.value.get();
        op == Op::Write && other == Some(AccessKind::Write) && !value.is_null() && {
            let there = std::ptr::with_exposed_provenance::<u8>(address);
            // SAFETY: the value's bytes, by `store`; and as many at the store's destination, which has been checked.
            (0..bytes).all(|at| unsafe { there.add(at).read_volatile() == value.add(at).read() })
        }
    }

    /// Checks that the declaration of a static array promises the alignment of an access. Where the simulator places
    /// the array says nothing of where a compiler does.
    pub(super) fn check_declared_alignment(&self, address: usize, bytes: usize, location: &'static Location<'static>) {
        if let Some(align) = self.shared.declared_alignment(address)
            && align < bytes
        {
            let (bytes, align) = (bytes as u32, align as u32);
            self.fault(FaultKind::DeclaredAlignment { bytes, align }, Some(location), None);
        }
    }

    /// See [`crate::access::skip`].
    pub(crate) fn skip(&self, class: AccessClass, location: &'static Location<'static>) {
        self.check_watchdog();
        if self.checks == Checks::Full {
            self.count_access(class, Traffic::SKIPPED, location);
        }
    }

    /// The common case of [`Self::shared_access`], which is most of what a kernel does: a plain access without a fault.
    /// Returns whether the thread has run ahead of its warp; `None` if it is another case, and nothing has changed.
    #[inline(always)]
    fn shared_access_common(
        &self,
        class: AccessClass,
        address: usize,
        location: &'static Location<'static>,
    ) -> Option<bool> {
        let bytes = usize::from(class.bytes);
        if bytes > size_of::<f32>() {
            self.check_declared_alignment(address, bytes, location);
        }
        // Bytes that the block has written are inside an array or the dynamic memory.
        let offset = self.shared.unchecked_offset_of(address);
        let thread = self.thread();
        let Analysis {
            locations,
            sync,
            shadow,
            in_flight,
            traffic,
            ..
        } = &mut *self.analysis.borrow_mut();
        if !in_flight.is_empty() {
            return None;
        }
        let id = locations.id(location, class);
        if !shadow.access_common(&sync.clocks, offset, bytes, thread, class.op, id) {
            return None;
        }
        Some(self.checks == Checks::Full && traffic.record(thread, id, class, offset as u64))
    }

    /// Checks an access of the running thread to shared memory. `counted` is the instruction that it counts as in the
    /// traffic; none for a part of an instruction that is counted as a whole.
    pub(super) fn shared_access(
        &self,
        op: Op,
        address: usize,
        bytes: usize,
        location: &'static Location<'static>,
        atomic: Option<AtomicAccess>,
        counted: Option<Instruction>,
    ) {
        let Some(offset) = self.shared.offset_of(address, bytes) else {
            self.outside_shared(op, address, bytes, location)
        };
        let thread = self.thread();
        let (pending, verdict, other, is_ahead) = {
            let analysis = &mut *self.analysis.borrow_mut();
            let class = AccessClass {
                instruction: counted.unwrap_or_default(),
                ..AccessClass::of_lanes(Space::Shared, op, bytes)
            };
            let id = analysis.locations.id(location, class);
            let pending = analysis.in_flight.find(offset, bytes);
            let shadow = &mut analysis.shadow;
            // While a copy may change the bytes at any time, their order with other accesses is meaningless.
            let mut check = |sync: &Synchronization| match pending {
                None => shadow.access(&sync.clocks, offset, bytes, thread, op, id),
                Some(_) => Verdict::default(),
            };
            let verdict = match atomic {
                None => check(&analysis.sync),
                Some(access) => analysis.sync.atomic(&self.run.order, thread, access, check),
            };
            let is_counted = counted.is_some() && self.checks == Checks::Full;
            let is_ahead = is_counted && analysis.traffic.record(thread, id, class, offset as u64);
            let other = verdict.conflict.map(|conflict| self.other_access(analysis, conflict));
            (pending, verdict, other, is_ahead)
        };
        self.check_watchdog();
        if let Some(pending) = pending {
            self.access_to_pending(op, offset, pending, location);
        }
        if verdict.uninitialized || other.is_some() {
            self.shared_faults(op, offset, verdict.uninitialized, other, location);
        }
        if is_ahead {
            self.suspend();
        }
    }

    /// Records the faults of an access to shared memory.
    #[cold]
    pub(super) fn shared_faults(
        &self,
        op: Op,
        offset: usize,
        uninitialized: bool,
        other: Option<OtherAccess>,
        location: &'static Location<'static>,
    ) {
        let offset = self.reported_offset(offset);
        if uninitialized {
            self.uninitialized_read(Space::Shared, offset, location);
        }
        if let Some(earlier) = &other
            && !self.stores_the_same(op, earlier.access)
        {
            let access = op.into();
            self.fault(FaultKind::SharedRace { access, offset }, Some(location), other);
        }
    }

    /// Records a read of memory that was never written.
    #[cold]
    pub(super) fn uninitialized_read(&self, space: Space, offset: u64, location: &'static Location<'static>) {
        self.fault(FaultKind::UninitializedRead { space, offset }, Some(location), None);
    }

    /// An access outside its view: ends the block.
    #[cold]
    pub(super) fn outside_part(
        &self,
        space: Space,
        kind: AccessKind,
        address: usize,
        bytes: usize,
        part: &Range<usize>,
        location: &'static Location<'static>,
    ) -> ! {
        let len = part.end - part.start;
        let bound = if address >= part.start {
            format!("at byte {} of a view of {len} bytes", address - part.start)
        } else {
            format!("{} bytes before a view of {len} bytes", part.start - address)
        };
        let kind = FaultKind::OutOfBounds {
            space,
            access: kind,
            bytes: bytes as u32,
            bound,
        };
        self.fatal(kind, Some(location), None)
    }

    /// A misaligned access: ends the block.
    #[cold]
    pub(super) fn misaligned(
        &self,
        space: Space,
        address: usize,
        bytes: usize,
        location: &'static Location<'static>,
    ) -> ! {
        let kind = FaultKind::Misaligned {
            space,
            bytes: bytes as u32,
            remainder: (address % bytes) as u32,
        };
        self.fatal(kind, Some(location), None)
    }

    /// An access outside shared memory or a buffer, as `bound` describes it: ends the block.
    #[cold]
    pub(super) fn out_of_bounds(
        &self,
        space: Space,
        op: Op,
        bytes: usize,
        bound: String,
        location: &'static Location<'static>,
    ) -> ! {
        let kind = FaultKind::OutOfBounds {
            space,
            access: op.into(),
            bytes: bytes as u32,
            bound,
        };
        self.fatal(kind, Some(location), None)
    }

    /// Describes an invalid address.
    pub(super) fn describe(&self, address: usize) -> String {
        const NEAR: usize = 16 << 20;
        if address < 4096 {
            return format!("at address {address}: a null pointer");
        }
        if let Some(text) = self.describe_shared(address, NEAR) {
            return text;
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
