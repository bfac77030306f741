//! Shared memory of a block: the arena, the static arrays in it, and the kinds of addresses.
//!
//! A byte of shared memory has several addresses:
//! - the *host address*, which kernels hold as a pointer;
//! - the *arena offset* from the arena's first byte;
//! - the *offset*, by which the analysis knows it: dynamic memory first, then the arena's static part, without the
//!   unused bytes between the two, so that these take no shadow memory. Offsets differ from the arena's by multiples of
//!   128 bytes, so banks are the same;
//! - the *reported offset* in messages: static arrays as a compiler lays them out, then dynamic memory;
//! - the *shared address* of PTX (below 2^18), equal to the host address modulo 1,024.

use std::cell::RefCell;
use std::panic::Location;

use crate::access::AccessKind;
use crate::analysis::Op;
use crate::device::shared_statics;
use crate::engine::run::Config;
use crate::engine::statics::StaticArray;
use crate::fault::{FaultKind, SourceLocation};

use super::BlockContext;
use super::arena::Arena;

/// Alignment that host addresses and shared addresses have in common, in bytes.
const WINDOW_BYTES: usize = 1024;

/// Shared memory of the block that a context runs.
pub(super) struct SharedMemory {
    arena: Arena,
    /// The static arrays that blocks of this context have reached.
    arrays: RefCell<Vec<StaticArray>>,
    /// Dynamic shared memory of the launch, in bytes.
    dynamic_bytes: usize,
    /// The value of uninitialized bytes.
    poison: u8,
}

impl SharedMemory {
    /// # Errors
    /// The system has no memory for the arena.
    pub(super) fn new(config: &Config) -> std::io::Result<Self> {
        let dynamic_bytes = config.dynamic_bytes as usize;
        Ok(Self {
            arena: Arena::new(config.static_capacity(), dynamic_bytes)?,
            arrays: RefCell::default(),
            dynamic_bytes,
            poison: config.poison,
        })
    }

    /// Makes all memory uninitialized and repairs the canaries.
    pub(super) fn start_block(&self) {
        self.arena
            .poison(self.arena.static_bytes(), self.dynamic_bytes, self.poison);
        self.arrays.borrow().iter().for_each(|array| self.start_array(array));
    }

    /// Makes a static array uninitialized, followed by a canary.
    fn start_array(&self, array: &StaticArray) {
        self.arena.poison(array.offset, array.bytes, self.poison);
        self.arena.lay_canary(array.offset + array.bytes);
    }

    /// Whether a host address is in the arena.
    pub(super) fn contains(&self, address: usize) -> bool {
        self.arena.offset(address).is_some()
    }

    /// The offset of `bytes` bytes at a host address, if one array or the dynamic memory contains them all.
    #[inline]
    pub(super) fn offset_of(&self, address: usize, bytes: usize) -> Option<usize> {
        let offset = self.arena.offset(address)?;
        let dynamic = self.arena.static_bytes();
        let end = offset + bytes;
        if offset >= dynamic {
            return (end - dynamic <= self.dynamic_bytes).then_some(offset - dynamic);
        }
        let arrays = self.arrays.borrow();
        let inside = |array: &StaticArray| offset >= array.offset && end <= array.offset + array.bytes;
        arrays.iter().any(inside).then(|| self.compact(offset))
    }

    /// The offset of a host address in the arena, whatever is there; beyond all of them if it is not in the arena.
    ///
    /// What [`Self::compact`] computes, with one branch in place of three: every access takes it.
    #[inline]
    pub(super) fn unchecked_offset_of(&self, address: usize) -> usize {
        let (static_bytes, bytes) = (self.arena.static_bytes(), self.arena.bytes());
        let offset = address
            .wrapping_sub(self.arena.base().addr())
            .wrapping_sub(static_bytes);
        let offset = match offset < bytes - static_bytes {
            true => offset,
            // In the static part `offset` is negative.
            false => offset.wrapping_add(bytes),
        };
        debug_assert_eq!(
            self.arena.offset(address).map(|at| self.compact(at)),
            (offset < bytes).then_some(offset)
        );
        offset
    }

    /// The declared alignment of the static array at a host address, if there is one.
    pub(super) fn declared_alignment(&self, address: usize) -> Option<usize> {
        let offset = self.arena.offset(address)?;
        let arrays = self.arrays.borrow();
        let inside = |array: &&StaticArray| (array.offset..array.offset + array.bytes).contains(&offset);
        arrays.iter().find(inside).map(|array| array.align)
    }

    /// The offset of an arena offset.
    fn compact(&self, arena_offset: usize) -> usize {
        let dynamic = self.arena.static_bytes();
        match arena_offset.checked_sub(dynamic) {
            Some(offset) => offset,
            None => arena_offset + (self.arena.bytes() - dynamic),
        }
    }

    /// The reported offset of an offset. `static_bytes` are those that a compiler needs for all arrays.
    fn reported_offset(&self, offset: usize, static_bytes: impl FnOnce() -> u64) -> u64 {
        let dynamic = self.arena.bytes() - self.arena.static_bytes();
        let Some(offset) = offset.checked_sub(dynamic) else {
            return static_bytes() + offset as u64;
        };
        let arrays = self.arrays.borrow();
        let array = arrays
            .iter()
            .find(|array| (array.offset..array.offset + array.bytes).contains(&offset));
        array.map_or(offset as u64, |array| {
            array.real_offset + (offset - array.offset) as u64
        })
    }

    /// The shared address of dynamic memory.
    fn window(&self) -> usize {
        self.arena.dynamic().addr() % WINDOW_BYTES
    }

    /// The offset of a shared address.
    pub(super) fn offset_of_shared_address(&self, address: u32) -> usize {
        (address as usize).wrapping_sub(self.window())
    }

    /// The host address of a shared address; outside the arena if the shared address is invalid.
    pub(super) fn host_address_of(&self, address: u32) -> usize {
        self.host_address(self.offset_of_shared_address(address))
    }

    /// The host address of an offset.
    pub(super) fn host_address(&self, offset: usize) -> usize {
        let dynamic_bytes = self.arena.bytes() - self.arena.static_bytes();
        let base = self.arena.base().addr();
        match offset.checked_sub(dynamic_bytes) {
            Some(static_offset) if offset < self.arena.bytes() => base + static_offset,
            Some(_) => base.wrapping_add(offset),
            None => self.arena.dynamic().addr() + offset,
        }
    }

    /// Reads two bytes at a shared address; at the arena's start if the address is invalid.
    pub(super) fn read_u16(&self, address: u32) -> u16 {
        let offset = self.arena.offset(self.host_address_of(address));
        // An arena has at least 1,024 bytes, and its length is even.
        let offset = offset.unwrap_or_default() & !1;
        // SAFETY: two bytes of the arena.
        unsafe { self.arena.base().add(offset).cast::<u16>().read_unaligned() }
    }

    /// The byte at a shared address.
    pub(super) fn read_u8(&self, address: u32) -> u8 {
        // Pairs of bytes are aligned.
        self.read_u16(address & !1).to_le_bytes()[(address & 1) as usize]
    }

    /// Describes a host address near or in the arena.
    fn describe(&self, address: usize, near: usize, static_bytes: impl FnOnce() -> u64) -> Option<String> {
        if let Some(offset) = self.arena.offset(address) {
            let arrays = self.arrays.borrow();
            let before = arrays.iter().rfind(|array| array.offset <= offset);
            return Some(match before {
                Some(array) if offset < self.arena.static_bytes() => format!(
                    "at byte {} of a static shared array of {} bytes",
                    offset - array.offset,
                    array.bytes
                ),
                _ => format!(
                    "at byte {} of the block's shared memory",
                    self.reported_offset(self.compact(offset), static_bytes)
                ),
            });
        }
        let start = self.arena.base().addr();
        let end = start + self.arena.bytes();
        if (end..end + near).contains(&address) {
            return Some(format!(
                "at byte {} of {} bytes of dynamic shared memory",
                address - self.arena.dynamic().addr(),
                self.dynamic_bytes
            ));
        }
        (address < start && start - address < near)
            .then(|| format!("{} bytes before the block's shared memory", start - address))
    }
}

impl BlockContext {
    /// The block's copy of a static array.
    pub(crate) fn shared_array(
        &self,
        place: usize,
        bytes: usize,
        align: usize,
        location: &'static Location<'static>,
    ) -> *mut u8 {
        let SharedMemory { arena, arrays, .. } = &self.shared;
        let known = arrays.borrow().iter().find(|array| array.place == place).copied();
        let array = known.unwrap_or_else(|| {
            let capacity = arena.static_bytes();
            match self.launch.place_static(place, bytes, align, location, capacity) {
                Ok(array) => {
                    self.shared.start_array(&array);
                    arrays.borrow_mut().push(array);
                    array
                }
                Err(kind) => self.fatal(kind, Some(location), None),
            }
        });
        // SAFETY: the run places arrays inside the static part.
        unsafe { arena.base().add(array.offset) }
    }

    /// Makes the program's shared statics look uninitialized.
    pub(super) fn poison_statics(&self) {
        for known in shared_statics().iter().filter(|known| known.is_mut) {
            // SAFETY: a `static mut` of this size. Kernels alone use it, and the run holds the lock under which they
            // do.
            unsafe { (known.address)().write_bytes(self.shared.poison, known.bytes) };
        }
    }

    /// Counts the shared statics that the block has written as its shared memory.
    pub(super) fn note_statics(&self) {
        for known in shared_statics().iter().filter(|known| known.is_mut) {
            let start = (known.address)();
            // SAFETY: as above.
            let written = (0..known.bytes).any(|i| unsafe { start.add(i).read_volatile() } != self.shared.poison);
            if !written || self.launch.knows_static(start.addr()) {
                continue;
            }
            if let Err(kind) = self.launch.count_static(start.addr(), known.bytes) {
                let location = SourceLocation {
                    file: known.file,
                    line: known.line,
                    column: 1,
                };
                self.record(0, kind, Some(location), None);
            }
        }
    }

    /// Records every static array whose canary was overwritten, and repairs the canary.
    pub(super) fn check_canaries(&self) {
        let SharedMemory { arena, arrays, .. } = &self.shared;
        for array in arrays.borrow().iter() {
            let canary = array.offset + array.bytes;
            if !arena.canary_is_alive(canary) {
                let kind = FaultKind::Overrun {
                    bytes: array.bytes as u64,
                };
                let thread = self.threads.running_number();
                self.record(thread, kind, Some(array.location.into()), None);
                arena.lay_canary(canary);
            }
        }
    }

    /// The start of dynamic shared memory.
    pub(crate) fn dynamic_shared_mem(&self) -> *mut u8 {
        self.shared.arena.dynamic()
    }

    /// Dynamic shared memory, in bytes.
    pub(crate) fn dynamic_shared_bytes(&self) -> u32 {
        self.launch.config.dynamic_bytes
    }

    /// Static and dynamic shared memory, in bytes, as far as the run has reached the static arrays.
    pub(crate) fn total_shared_bytes(&self) -> u64 {
        self.launch.static_bytes() + u64::from(self.launch.config.dynamic_bytes)
    }

    /// Whether an address is in the block's shared memory.
    pub(crate) fn is_shared(&self, address: usize) -> bool {
        self.shared.contains(address) || self.launch.is_shared_static(address)
    }

    /// The offset of `bytes` bytes of shared memory at a host address. Any other address ends the block.
    pub(super) fn shared_operand(
        &self,
        kind: AccessKind,
        address: usize,
        bytes: usize,
        location: &'static Location<'static>,
    ) -> usize {
        let op = if kind == AccessKind::Read { Op::Read } else { Op::Write };
        match self.shared.offset_of(address, bytes) {
            Some(offset) => offset,
            None => self.outside_shared(op, address, bytes, location),
        }
    }

    /// See [`crate::wgmma::shared_address`].
    pub(crate) fn shared_address(&self, address: usize, location: &'static Location<'static>) -> u32 {
        let offset = self.shared_operand(AccessKind::Read, address, 1, location);
        (self.shared.window() + offset) as u32
    }

    /// The offset that messages report.
    pub(super) fn reported_offset(&self, offset: usize) -> u64 {
        self.shared.reported_offset(offset, || self.launch.static_bytes())
    }

    /// Describes an address near or in the block's shared memory.
    pub(super) fn describe_shared(&self, address: usize, near: usize) -> Option<String> {
        self.shared.describe(address, near, || self.launch.static_bytes())
    }

    /// An access outside the block's shared memory: ends the block.
    #[cold]
    pub(super) fn outside_shared(
        &self,
        op: Op,
        address: usize,
        bytes: usize,
        location: &'static Location<'static>,
    ) -> ! {
        let dynamic = self.shared.arena.dynamic().addr();
        // From the start of the dynamic part on, only dynamic memory can be meant.
        if address >= dynamic && address - dynamic < 1 << 30 {
            let kind = FaultKind::DynamicSharedTooSmall {
                given_bytes: self.shared.dynamic_bytes as u64,
                needed_bytes: (address - dynamic + bytes) as u64,
            };
            self.fatal(kind, Some(location), None);
        }
        let bound = self.describe(address);
        self.out_of_bounds(crate::access::Space::Shared, op, bytes, bound, location)
    }
}
