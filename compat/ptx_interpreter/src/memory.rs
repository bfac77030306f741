//! The memories of a GPU and their windows in the generic address space.

use std::collections::HashMap;

use crate::fault::FaultKind;
use crate::types::Space;

/// The bytes that a window spans.
pub(crate) const WINDOW_BYTES: u64 = 16 << 20;
/// Where the windows start in the generic address space. On a GPU the low 32 bits of these bases are not zero, so that
/// null, taken into a window and cut to 32 bits, is some address of the window and not null any more.
pub(crate) const SHARED_BASE: u64 = 0x7f4a_9f00_0000;
pub(crate) const LOCAL_BASE: u64 = 0x7f4a_a100_0000;
pub(crate) const CONSTANT_BASE: u64 = 0x7f4a_a300_0000;
pub(crate) const PARAM_BASE: u64 = 0x7f4a_a500_0000;
/// Where global memory starts.
pub(crate) const GLOBAL_BASE: u64 = 0x7f20_0000_0000;
/// Addresses of functions: an index times [`FUNCTION_STRIDE`] from here.
pub(crate) const FUNCTION_BASE: u64 = 0x7f60_0000_0100;
pub(crate) const FUNCTION_STRIDE: u64 = 0x100;
/// The first bytes of shared memory are the system's.
pub(crate) const SHARED_RESERVED: u64 = 1024;

/// What `cvta` adds to an address of the space.
pub(crate) fn base_of(space: Space) -> u64 {
    match space {
        Space::Shared => SHARED_BASE,
        Space::Local | Space::Frame => LOCAL_BASE,
        Space::Constant => CONSTANT_BASE,
        Space::Param => PARAM_BASE,
        Space::Generic | Space::Global => 0,
    }
}

/// The space that a generic address is in; everything outside of the windows is global.
#[inline(always)]
pub(crate) fn space_of(address: u64) -> Space {
    // The windows are equally far apart.
    const STRIDE: u64 = LOCAL_BASE - SHARED_BASE;
    let offset = address.wrapping_sub(SHARED_BASE);
    if offset >= 4 * STRIDE || offset % STRIDE >= WINDOW_BYTES {
        return Space::Global;
    }
    match offset / STRIDE {
        0 => Space::Shared,
        1 => Space::Local,
        2 => Space::Constant,
        _ => Space::Param,
    }
}

/// Log2 of the bytes that each allocation is rounded up to.
const GRANULE_SHIFT: u32 = 8;
const GRANULE: usize = 1 << GRANULE_SHIFT;

/// Allocations with gaps between them.
#[derive(Clone, Debug)]
pub(crate) struct Arena {
    base: u64,
    bytes: Vec<u8>,
    /// For each granule, 1 plus the index of its allocation in `spans`; 0 where none is.
    owners: Vec<u32>,
    /// Start and end of each allocation in `bytes`.
    spans: Vec<(usize, usize)>,
    /// Freed allocations by the granules that they take.
    free: HashMap<usize, Vec<u32>>,
}

impl Arena {
    pub fn new(base: u64) -> Self {
        Self {
            base,
            bytes: Vec::new(),
            owners: Vec::new(),
            spans: Vec::new(),
            free: HashMap::new(),
        }
    }

    /// Allocates zeroed bytes, with `gap` granules after them that belong to nothing.
    pub fn allocate(&mut self, bytes: usize, align: usize, gap: usize) -> u64 {
        let start = self.bytes.len().next_multiple_of(align.max(GRANULE));
        let granules = bytes.div_ceil(GRANULE).max(1);
        self.bytes.resize(start + (granules + gap) * GRANULE, 0);
        self.owners.resize(self.bytes.len() >> GRANULE_SHIFT, 0);
        self.spans.push((start, start + bytes));
        self.own(self.spans.len() as u32 - 1, granules, true);
        self.base + start as u64
    }

    fn own(&mut self, span: u32, granules: usize, owned: bool) {
        let first = self.spans[span as usize].0 >> GRANULE_SHIFT;
        self.owners[first..first + granules].fill(if owned { span + 1 } else { 0 });
    }

    /// Allocates bytes that [`Self::release`] can take back; what a former owner left in them stays.
    pub fn allocate_releasable(&mut self, bytes: usize) -> u64 {
        let granules = bytes.div_ceil(GRANULE).max(1);
        match self.free.get_mut(&granules).and_then(Vec::pop) {
            None => self.allocate(bytes, GRANULE, 1),
            Some(span) => {
                let start = self.spans[span as usize].0;
                self.spans[span as usize].1 = start + bytes;
                self.own(span, granules, true);
                self.base + start as u64
            }
        }
    }

    /// Takes back an allocation by its first address, and says how many bytes it had.
    pub fn release(&mut self, address: u64) -> Option<usize> {
        let span = self.span_at(address)?;
        let (start, end) = self.spans[span];
        if self.base + start as u64 != address {
            return None;
        }
        let granules = (end - start).div_ceil(GRANULE).max(1);
        self.own(span as u32, granules, false);
        self.free.entry(granules).or_default().push(span as u32);
        Some(end - start)
    }

    #[inline(always)]
    fn span_at(&self, address: u64) -> Option<usize> {
        let offset = address.wrapping_sub(self.base) as usize;
        match self.owners.get(offset >> GRANULE_SHIFT) {
            None | Some(0) => None,
            Some(&owner) => Some(owner as usize - 1),
        }
    }

    /// The bytes at an address, if all of them belong to one allocation.
    #[inline(always)]
    pub fn get(&mut self, address: u64, bytes: usize) -> Option<&mut [u8]> {
        let span = self.span_at(address)?;
        let offset = address.wrapping_sub(self.base) as usize;
        let (_, end) = self.spans[span];
        if bytes > end.saturating_sub(offset) {
            return None;
        }
        self.bytes.get_mut(offset..offset + bytes)
    }
}

/// The memories that the threads of a CTA have in common.
#[derive(Debug)]
pub(crate) struct Memory {
    pub global: Arena,
    pub constant: Arena,
    pub param: Vec<u8>,
    pub shared: Vec<u8>,
}

impl Memory {
    /// The bytes of an aligned access. `local` is the thread's own memory, which ends where its window does.
    #[inline(always)]
    pub fn access<'m>(
        &'m mut self,
        local: &'m mut [u8],
        space: Space,
        address: u64,
        bytes: usize,
        write: bool,
    ) -> Result<&'m mut [u8], FaultKind> {
        if address & (bytes as u64 - 1) != 0 {
            return Err(FaultKind::Misaligned { address, space, bytes });
        }
        self.bytes_at(local, space, address, bytes, write)
    }

    /// As [`Self::access`], for bytes of any number and alignment.
    #[inline(always)]
    pub fn bytes_at<'m>(
        &'m mut self,
        local: &'m mut [u8],
        space: Space,
        address: u64,
        bytes: usize,
        write: bool,
    ) -> Result<&'m mut [u8], FaultKind> {
        let (target, offset) = match space {
            Space::Generic => {
                let target = space_of(address);
                (target, address.wrapping_sub(base_of(target)))
            }
            Space::Global => (Space::Global, address),
            // The instructions of these spaces take 32 bits of a register.
            _ => (space, address & 0xffff_ffff),
        };
        if write && matches!(target, Space::Constant | Space::Param) {
            return Err(FaultKind::ReadOnly { address, space });
        }
        let found = match target {
            Space::Global | Space::Generic => self.global.get(offset, bytes),
            Space::Local | Space::Frame => {
                let start = (offset + local.len() as u64).wrapping_sub(WINDOW_BYTES) as usize;
                window(local, start, bytes)
            }
            Space::Shared if offset < SHARED_RESERVED => None,
            Space::Shared => window(&mut self.shared, offset as usize, bytes),
            Space::Constant => self.constant.get(offset, bytes),
            Space::Param => window(&mut self.param, offset as usize, bytes),
        };
        found.ok_or(FaultKind::OutOfBounds { address, space, bytes })
    }
}

#[inline(always)]
fn window(memory: &mut [u8], start: usize, bytes: usize) -> Option<&mut [u8]> {
    memory.get_mut(start..start.checked_add(bytes)?)
}

/// Reads 1, 2, 4 or 8 bytes.
#[inline(always)]
pub(crate) fn load(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => a.into(),
        [a, b] => u16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => unreachable!("accesses have 1, 2, 4 or 8 bytes"),
    }
}

/// Writes the low 1, 2, 4 or 8 bytes of a value.
#[inline(always)]
pub(crate) fn store(bytes: &mut [u8], value: u64) {
    let from = value.to_le_bytes();
    match bytes.len() {
        1 => bytes.copy_from_slice(&from[..1]),
        2 => bytes.copy_from_slice(&from[..2]),
        4 => bytes.copy_from_slice(&from[..4]),
        _ => bytes.copy_from_slice(&from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_bounded_and_apart() {
        let mut arena = Arena::new(GLOBAL_BASE);
        let first = arena.allocate(10, 1, 16);
        let second = arena.allocate(300, 1024, 16);
        assert_eq!(second % 1024, 0);
        assert!(arena.get(first + 6, 4).is_some() && arena.get(first + 7, 4).is_none());
        assert!(arena.get(second - 1, 1).is_none() && arena.get(second + 296, 4).is_some());
        assert!(arena.get(0, 1).is_none() && arena.get(u64::MAX, 1).is_none());
    }

    #[test]
    fn released_bytes_fault_until_they_are_given_again() {
        let mut arena = Arena::new(GLOBAL_BASE);
        let first = arena.allocate_releasable(24);
        assert_eq!(arena.release(first + 8), None);
        assert_eq!(arena.release(first), Some(24));
        assert!(arena.get(first, 1).is_none());
        assert_eq!(arena.allocate_releasable(100), first);
        assert!(arena.get(first + 99, 1).is_some());
    }

    #[test]
    fn generic_addresses_know_their_space() {
        for space in [Space::Shared, Space::Local, Space::Constant, Space::Param] {
            assert_ne!(base_of(space) as u32, 0);
            assert_eq!(space_of(base_of(space)), space);
            assert_eq!(space_of(base_of(space) + WINDOW_BYTES - 1), space);
            assert_eq!(space_of(base_of(space) + WINDOW_BYTES), Space::Global);
        }
        assert_eq!(space_of(0), Space::Global);
        assert_eq!(space_of(GLOBAL_BASE), Space::Global);
    }
}
