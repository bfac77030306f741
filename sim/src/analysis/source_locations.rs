//! Numbers for the source locations that access memory.

use std::collections::HashMap;
use std::panic::Location;

use crate::access::{Instruction, Space};

use super::Op;

/// The class of the accesses at a source location. A location with accesses of two classes has two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(C)]
pub(crate) struct AccessClass {
    /// The memory.
    pub(crate) space: Space,
    /// The operation.
    pub(crate) op: Op,
    /// Bytes that one lane accesses at once.
    pub(crate) bytes: u8,
    /// The instruction.
    pub(crate) instruction: Instruction,
}

impl AccessClass {
    /// Loads, stores and atomics of single lanes.
    #[inline]
    pub(crate) const fn of_lanes(space: Space, op: Op, bytes: usize) -> Self {
        Self {
            space,
            op,
            bytes: bytes as u8,
            instruction: Instruction::Lanes,
        }
    }

    /// Its bytes, in the order in which they are in memory: a register holds them as they are.
    const fn code(self) -> u32 {
        u32::from_ne_bytes([self.space as u8, self.op as u8, self.bytes, self.instruction as u8])
    }
}

/// Numbers for pairs of a source location and an [`AccessClass`], from 0 on.
///
/// A direct-mapped cache keyed by the location's address serves the common case. A table keyed by its content gives the
/// copies of one location, of which the compiler makes several, one number.
pub(crate) struct SourceLocations {
    cache: Box<[Cached; SourceLocations::CACHED]>,
    by_content: HashMap<(Content, u32), u16>,
    locations: Vec<(&'static Location<'static>, AccessClass)>,
}

type Content = (&'static str, u32, u32);

#[derive(Clone, Copy)]
struct Cached {
    /// Address of the location; 0 if the entry is empty.
    location: usize,
    class: u32,
    id: u16,
}

impl SourceLocations {
    const CACHED: usize = 1024;
    /// The number that all locations share once the others are used up.
    pub(crate) const REST: u16 = u16::MAX;

    /// No locations yet.
    pub(crate) fn new() -> Self {
        let none = Cached {
            location: 0,
            class: 0,
            id: 0,
        };
        Self {
            cache: Box::new([none; Self::CACHED]),
            by_content: HashMap::new(),
            locations: Vec::new(),
        }
    }

    /// The number of a location and class. The 65,536th pair and all later ones share [`SourceLocations::REST`].
    #[inline]
    pub(crate) fn id(&mut self, location: &'static Location<'static>, class: AccessClass) -> u16 {
        match self.known_id(location, class) {
            Some(id) => id,
            None => self.intern(location, class),
        }
    }

    /// The number of a location and class, if it is among those that were asked for lately.
    #[inline(always)]
    pub(crate) fn known_id(&self, location: &'static Location<'static>, class: AccessClass) -> Option<u16> {
        let cached = self.cache[Self::entry(location, class)];
        let is_same = cached.location == std::ptr::from_ref(location).addr() && cached.class == class.code();
        is_same.then_some(cached.id)
    }

    /// The entry of the cache for a location and class.
    #[inline(always)]
    fn entry(location: &'static Location<'static>, class: AccessClass) -> usize {
        let address = std::ptr::from_ref(location).addr();
        // Fibonacci hashing: neighbors, and locations a power of two apart, get entries far from each other.
        let hash = (address as u64 ^ u64::from(class.code()) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> (u64::BITS - Self::CACHED.ilog2())) as usize
    }

    #[cold]
    fn intern(&mut self, location: &'static Location<'static>, class: AccessClass) -> u16 {
        let entry = Self::entry(location, class);
        // Two locations of one entry use its neighbor as well, so that a loop with both of them stays fast.
        let neighbor = self.cache[entry ^ 1];
        if neighbor.location == std::ptr::from_ref(location).addr() && neighbor.class == class.code() {
            return neighbor.id;
        }
        let content = (location.file(), location.line(), location.column());
        let locations = &mut self.locations;
        let id = *self.by_content.entry((content, class.code())).or_insert_with(|| {
            if locations.len() <= usize::from(Self::REST) {
                locations.push((location, class));
            }
            (locations.len() - 1) as u16
        });
        self.cache[entry ^ 1] = self.cache[entry];
        self.cache[entry] = Cached {
            location: std::ptr::from_ref(location).addr(),
            class: class.code(),
            id,
        };
        id
    }

    /// The location and class of the number `id`: for [`SourceLocations::REST`], the first pair that shares it.
    ///
    /// # Panics
    /// If [`SourceLocations::id`] has not returned `id`.
    pub(crate) fn get(&self, id: u16) -> (&'static Location<'static>, AccessClass) {
        self.locations[usize::from(id)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(op: Op, bytes: u8) -> AccessClass {
        AccessClass::of_lanes(Space::Shared, op, bytes.into())
    }

    #[track_caller]
    fn here() -> &'static Location<'static> {
        Location::caller()
    }

    #[test]
    fn numbers_are_dense_and_stable() {
        let mut numbers = SourceLocations::new();
        let (a, b) = (here(), here());
        assert_eq!(numbers.id(a, class(Op::Read, 4)), 0);
        assert_eq!(numbers.id(b, class(Op::Read, 4)), 1);
        assert_eq!(numbers.id(a, class(Op::Write, 4)), 2);
        assert_eq!(numbers.id(a, class(Op::Read, 8)), 3);
        assert_eq!(numbers.id(a, class(Op::Read, 4)), 0);
        assert_eq!(numbers.get(1), (b, class(Op::Read, 4)));
        assert_eq!(numbers.get(3), (a, class(Op::Read, 8)));
    }

    #[test]
    fn copies_of_a_location_share_a_number() {
        let mut numbers = SourceLocations::new();
        let location = here();
        let copy: &'static Location<'static> = Box::leak(Box::new(*location));
        assert_eq!(
            numbers.id(location, class(Op::Read, 4)),
            numbers.id(copy, class(Op::Read, 4))
        );
    }

    #[test]
    fn too_many_locations_share_the_last_number() {
        let mut numbers = SourceLocations::new();
        let locations: Vec<&'static Location<'static>> = vec![here(), here(), here()];
        let mut ids = Vec::new();
        for bytes in 0..=255 {
            for op in [Op::Read, Op::Write, Op::AtomicLoad, Op::AtomicStore, Op::AtomicUpdate] {
                for space in [Space::Shared, Space::Global] {
                    for &location in &locations {
                        ids.push(numbers.id(location, AccessClass::of_lanes(space, op, bytes)));
                    }
                }
            }
        }
        assert_eq!(ids.len(), 7680);
        assert!(ids.iter().enumerate().all(|(i, &id)| usize::from(id) == i));
        // As if 57,856 more had come.
        let filler = numbers.get(0);
        numbers.locations.resize(usize::from(SourceLocations::REST), filler);
        let more = [here(), here(), here()].map(|location| numbers.id(location, class(Op::Read, 4)));
        assert_eq!(more, [SourceLocations::REST; 3]);
        assert_eq!(numbers.id(locations[0], class(Op::Read, 0)), 0);
    }
}
