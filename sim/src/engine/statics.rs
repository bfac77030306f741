//! Static shared memory: the arrays of `shared_array!`, and the program's shared statics.

use std::panic::Location;

use crate::device::shared_statics;
use crate::fault::{FaultKind, Site};

use super::arena::CANARY_BYTES;
use super::run::Run;
use super::slot::Slot;

/// A static array of the block, as the arena lays it out.
#[derive(Clone, Copy)]
pub(super) struct StaticArray {
    /// The place in the source, by the address of its static.
    pub(super) place: usize,
    pub(super) site: &'static Location<'static>,
    /// From the arena's base.
    pub(super) offset: usize,
    pub(super) bytes: usize,
    /// Where a compiler that lays out the arrays in this order puts it.
    pub(super) real_offset: u64,
}

/// Static arrays in the order in which they were met.
#[derive(Default)]
pub(super) struct Statics {
    arrays: Vec<StaticArray>,
    /// Where the next one goes in the arena.
    next: usize,
    /// What a compiler would need for all of them.
    bytes: u64,
    /// Shared statics that the kernel uses, by address. A compiler would count them as well.
    outside: Vec<usize>,
}

impl Run {
    /// Where the static array of a place in the source lies in every arena of the run.
    pub(super) fn place_static(
        &self,
        place: usize,
        bytes: usize,
        align: usize,
        site: &'static Location<'static>,
        capacity: usize,
    ) -> Result<StaticArray, FaultKind> {
        let mut statics = self.statics.lock();
        if let Some(known) = statics.arrays.iter().find(|array| array.place == place) {
            return Ok(*known);
        }
        let align = align.max(1);
        let (real_offset, total) = self.after(&statics, bytes, align)?;
        let offset = statics.next.next_multiple_of(align.max(CANARY_BYTES));
        let end = offset + bytes + CANARY_BYTES;
        if end > capacity {
            return Err(FaultKind::SharedLimit {
                static_bytes: total,
                dynamic_bytes: self.config.dynamic_bytes.into(),
                limit_bytes: capacity as u64,
                limit: "the simulator's room for static arrays".to_owned(),
            });
        }
        let array = StaticArray {
            place,
            site,
            offset,
            bytes,
            real_offset,
        };
        statics.next = end;
        statics.bytes = total;
        statics.arrays.push(array);
        Ok(array)
    }

    /// Where `bytes` more of static memory would start and end, if the limits allow them.
    fn after(&self, statics: &Statics, bytes: usize, align: usize) -> Result<(u64, u64), FaultKind> {
        let limits = &self.config.limits;
        let start = statics.bytes.next_multiple_of(align as u64);
        let end = start + bytes as u64;
        let dynamic = u64::from(self.config.dynamic_bytes);
        let exceeded = |limit_bytes: u32, limit: String| {
            Err(FaultKind::SharedLimit {
                static_bytes: end,
                dynamic_bytes: dynamic,
                limit_bytes: limit_bytes.into(),
                limit,
            })
        };
        if end > limits.static_shared_bytes.into() {
            return exceeded(limits.static_shared_bytes, "the most that may be static".to_owned());
        }
        if end + dynamic > limits.shared_bytes.into() {
            return exceeded(limits.shared_bytes, limits.shared_limit_name());
        }
        Ok((start, end))
    }

    /// Whether the shared static at this address is counted.
    pub(super) fn knows_static(&self, address: usize) -> bool {
        self.statics.lock().outside.contains(&address)
    }

    /// Counts a shared static, which lies outside the arenas.
    pub(super) fn count_static(&self, address: usize, bytes: usize) -> Result<(), FaultKind> {
        const ALIGN: usize = 16;
        let mut statics = self.statics.lock();
        statics.outside.push(address);
        let (_, end) = self.after(&statics, bytes, ALIGN)?;
        statics.bytes = end;
        Ok(())
    }

    /// Static shared memory met so far, in bytes.
    pub(super) fn static_bytes(&self) -> u64 {
        self.statics.lock().bytes
    }

    /// Whether an address is in a `#[address_space(shared)]` static.
    pub(super) fn is_shared_static(&self, address: usize) -> bool {
        crate::device::shared_statics()
            .iter()
            .any(|known| address.wrapping_sub((known.address)().addr()) < known.bytes)
    }
}

impl Slot {
    /// This block's copy of a static array.
    pub(crate) fn shared_array(
        &self,
        place: usize,
        bytes: usize,
        align: usize,
        site: &'static Location<'static>,
    ) -> *mut u8 {
        let known = self
            .arrays
            .borrow()
            .iter()
            .find(|array| array.place == place)
            .map(|array| array.offset);
        let offset = known.unwrap_or_else(|| {
            let array = match self
                .run
                .place_static(place, bytes, align, site, self.arena.static_bytes())
            {
                Ok(array) => array,
                Err(kind) => self.fatal(kind, Some(site), None),
            };
            self.prepare_array(&array);
            self.arrays.borrow_mut().push(array);
            array.offset
        });
        // SAFETY: the run places arrays inside the static part.
        unsafe { self.arena.base().add(offset) }
    }

    /// Makes a static array look as fresh as on a GPU.
    pub(super) fn prepare_array(&self, array: &StaticArray) {
        self.arena.poison(array.offset, array.bytes, self.run.config.poison);
        self.arena.lay_canary(array.offset + array.bytes);
    }

    /// Makes the program's shared statics look uninitialised.
    pub(super) fn poison_statics(&self) {
        for known in shared_statics().iter().filter(|known| known.is_mut) {
            // SAFETY: a `static mut` of this size. Kernels alone use it, and the run holds the lock under which they
            // do.
            unsafe { (known.address)().write_bytes(self.run.config.poison, known.bytes) };
        }
    }

    /// Counts the shared statics that the block has written as its shared memory.
    pub(super) fn note_statics(&self) {
        for known in shared_statics().iter().filter(|known| known.is_mut) {
            let start = (known.address)();
            // SAFETY: as above.
            let written = (0..known.bytes).any(|i| unsafe { start.add(i).read_volatile() } != self.run.config.poison);
            if !written || self.run.knows_static(start.addr()) {
                continue;
            }
            if let Err(kind) = self.run.count_static(start.addr(), known.bytes) {
                let site = Site {
                    file: known.file,
                    line: known.line,
                    column: 1,
                };
                self.record(0, kind, Some(site), None);
            }
        }
    }

    /// Notes every static array behind which something was written.
    pub(super) fn check_canaries(&self) {
        let arrays = self.arrays.borrow();
        for array in arrays.iter() {
            let canary = array.offset + array.bytes;
            if !self.arena.canary_is_alive(canary) {
                let kind = FaultKind::Overrun {
                    bytes: array.bytes as u64,
                };
                self.record(self.thread.get(), kind, Some(Site::from(array.site)), None);
                self.arena.lay_canary(canary);
                debug_assert!(canary + CANARY_BYTES <= self.arena.static_bytes());
            }
        }
    }

    /// The start of the dynamic part.
    pub(crate) fn dynamic_shared_mem(&self) -> *mut u8 {
        self.arena.dynamic()
    }

    /// Bytes of the dynamic part.
    pub(crate) fn dynamic_shared_bytes(&self) -> u32 {
        self.run.config.dynamic_bytes
    }

    /// Bytes of shared memory, static and dynamic, as far as the run has met them.
    pub(crate) fn total_shared_bytes(&self) -> u64 {
        self.run.static_bytes() + u64::from(self.run.config.dynamic_bytes)
    }

    /// Whether an address is in the block's shared memory.
    pub(crate) fn is_shared(&self, address: usize) -> bool {
        self.arena.offset(address).is_some() || self.run.is_shared_static(address)
    }
}
