//! The layout of static shared memory: the arrays of `shared_array!`, and the program's shared statics.

use std::panic::Location;

use crate::device::shared_statics;
use crate::fault::FaultKind;

use super::context::CANARY_BYTES;
use super::launched_grid::LaunchedGrid;

/// A static array of the block, as the arena lays it out.
#[derive(Clone, Copy)]
pub(super) struct StaticArray {
    /// The array's identity: the address of its static.
    pub(super) place: usize,
    pub(super) location: &'static Location<'static>,
    /// Offset from the arena's base.
    pub(super) offset: usize,
    pub(super) bytes: usize,
    /// The alignment of its declared type.
    pub(super) align: usize,
    /// Offset at which a compiler places it that lays out the arrays in this order.
    pub(super) real_offset: u64,
}

/// Static arrays in the order of their first use.
#[derive(Default)]
pub(super) struct Statics {
    arrays: Vec<StaticArray>,
    /// Offset of the next array in the arena.
    next: usize,
    /// Bytes that a compiler needs for all of them.
    bytes: u64,
    /// Shared statics that the kernel uses, by address. A compiler counts them as well.
    outside: Vec<usize>,
}

impl LaunchedGrid {
    /// The layout of a static array, the same in every arena of the launch.
    pub(super) fn place_static(
        &self,
        place: usize,
        bytes: usize,
        align: usize,
        location: &'static Location<'static>,
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
            location,
            offset,
            bytes,
            align,
            real_offset,
        };
        statics.next = end;
        statics.bytes = total;
        statics.arrays.push(array);
        Ok(array)
    }

    /// Start and end of `bytes` more bytes of static memory, if the limits allow them.
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

    /// Counts a shared static, which is outside the arenas.
    pub(super) fn count_static(&self, address: usize, bytes: usize) -> Result<(), FaultKind> {
        const ALIGN: usize = 16;
        let mut statics = self.statics.lock();
        statics.outside.push(address);
        let (_, end) = self.after(&statics, bytes, ALIGN)?;
        statics.bytes = end;
        Ok(())
    }

    /// Static shared memory used so far, in bytes.
    pub(super) fn static_bytes(&self) -> u64 {
        self.statics.lock().bytes
    }

    /// Whether an address is in a `#[address_space(shared)]` static.
    pub(super) fn is_shared_static(&self, address: usize) -> bool {
        shared_statics()
            .iter()
            .any(|known| address.wrapping_sub((known.address)().addr()) < known.bytes)
    }
}
