//! The memories of a GPU and their windows in the generic address space.

use std::collections::HashMap;

use crate::fault::FaultKind;
use crate::types::Space;

/// The bytes that a window spans.
pub(crate) const WINDOW_BYTES: u64 = 16 << 20;
/// The distance between the starts of two windows.
const WINDOW_STRIDE: u64 = 2 * WINDOW_BYTES;
/// Where global memory starts.
pub(crate) const GLOBAL_BASE: u64 = 0x7f20_0000_0000;
/// Addresses of functions: an index times [`FUNCTION_STRIDE`] from here.
pub(crate) const FUNCTION_BASE: u64 = 0x7f60_0000_0100;
pub(crate) const FUNCTION_STRIDE: u64 = 0x100;
/// The first bytes of shared memory are the system's.
pub(crate) const SHARED_RESERVED: u64 = 1024;

/// How `cvta` converts between shared and generic addresses, which differs by architecture. Null is in no window, and
/// comes back as another address with either, once it has been cut to the 32 bits of a shared pointer.
///
/// Read from the machine code that `ptxas` 13.0 makes for `sm_75`, `sm_80`, `sm_89`, `sm_90`, `sm_100` and `sm_120`.
/// The windows of local and constant memory are the same on all of them: 64-bit additions of the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedWindow {
    /// Before `sm_90`: `cvta.shared` adds the window's base and `cvta.to.shared` subtracts it, both with 64 bits. Null
    /// becomes the negated base; its low 32 bits, taken back, are not null because the borrow is lost.
    Sm75,
    /// From `sm_90` on: the base has zeros in its low 32 bits. `cvta.to.shared` keeps the low 32 bits of an address and
    /// clears the others; `cvta.shared` puts the base's high 32 bits (`SR_SWINHI`) above them. Null becomes 0, which
    /// taken back is the base: here it is lost with 64 bits too.
    Sm90,
}

impl SharedWindow {
    /// The window of the target that a `.target` directive names, such as `sm_90a`; none if it names no architecture.
    pub(crate) fn of_target(target: &str) -> Option<Self> {
        let number = target.strip_prefix("sm_")?;
        let number = number.trim_end_matches(|suffix: char| suffix.is_ascii_lowercase());
        Some(match number.parse::<u32>().ok()? {
            90.. => Self::Sm90,
            _ => Self::Sm75,
        })
    }

    /// Where the window of a space starts in the generic address space. Only that of shared memory, and only from
    /// `sm_90` on, has zeros in its low 32 bits.
    #[inline(always)]
    pub(crate) fn base_of(self, space: Space) -> u64 {
        let number = match space {
            Space::Shared => 0,
            Space::Local | Space::Frame => 1,
            Space::Constant => 2,
            Space::Param => 3,
            Space::Generic | Space::Global => return 0,
        };
        self.first() + number * WINDOW_STRIDE
    }

    /// The base of the first window, which is that of shared memory.
    #[inline(always)]
    fn first(self) -> u64 {
        match self {
            Self::Sm75 => 0x7f4a_9f00_0000,
            Self::Sm90 => 0x7f4a_0000_0000,
        }
    }

    /// The space that a generic address is in; everything outside of the windows is global.
    #[inline(always)]
    pub(crate) fn space_of(self, address: u64) -> Space {
        let offset = address.wrapping_sub(self.first());
        if offset >= 4 * WINDOW_STRIDE || offset % WINDOW_STRIDE >= WINDOW_BYTES {
            return Space::Global;
        }
        match offset / WINDOW_STRIDE {
            0 => Space::Shared,
            1 => Space::Local,
            2 => Space::Constant,
            _ => Space::Param,
        }
    }

    /// `cvta`
    #[inline(always)]
    pub(crate) fn cvta(self, space: Space, address: u64) -> u64 {
        match (self, space) {
            (Self::Sm90, Space::Shared) => self.first() | address & LOW_HALF,
            _ => address.wrapping_add(self.base_of(space)),
        }
    }

    /// `cvta.to`
    #[inline(always)]
    pub(crate) fn cvta_to(self, space: Space, address: u64) -> u64 {
        match (self, space) {
            (Self::Sm90, Space::Shared) => address & LOW_HALF,
            _ => address.wrapping_sub(self.base_of(space)),
        }
    }
}

const LOW_HALF: u64 = 0xffff_ffff;

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
    pub window: SharedWindow,
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
                let target = self.window.space_of(address);
                (target, address.wrapping_sub(self.window.base_of(target)))
            }
            Space::Global => (Space::Global, address),
            // The instructions of these spaces take 32 bits of a register.
            _ => (space, address & LOW_HALF),
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
        for window in [SharedWindow::Sm75, SharedWindow::Sm90] {
            for space in [Space::Shared, Space::Local, Space::Constant, Space::Param] {
                let base = window.base_of(space);
                assert_eq!(base as u32 == 0, (window, space) == (SharedWindow::Sm90, Space::Shared));
                assert_eq!(window.space_of(base), space);
                assert_eq!(window.space_of(base + WINDOW_BYTES - 1), space);
                assert_eq!(window.space_of(base + WINDOW_BYTES), Space::Global);
                let inside = base + 0x1234;
                assert_eq!(window.cvta_to(space, inside), 0x1234);
                assert_eq!(window.cvta(space, 0x1234), inside);
            }
            assert_eq!(window.space_of(0), Space::Global);
            assert_eq!(window.space_of(GLOBAL_BASE), Space::Global);
        }
    }

    #[test]
    fn the_target_says_which_window() {
        let rows = [
            ("sm_75", Some(SharedWindow::Sm75)),
            ("sm_89", Some(SharedWindow::Sm75)),
            ("sm_90", Some(SharedWindow::Sm90)),
            ("sm_90a", Some(SharedWindow::Sm90)),
            ("sm_120f", Some(SharedWindow::Sm90)),
            ("map_f64_to_f32", None),
            ("sm_", None),
        ];
        for (target, window) in rows {
            assert_eq!(SharedWindow::of_target(target), window, "{target}");
        }
    }
}
