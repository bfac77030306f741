//! Small numbers for the source lines that access memory.

use std::collections::HashMap;
use std::panic::Location;

use super::Op;

/// The memory that a site accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum SiteSpace {
    /// A block's shared memory.
    Shared = 0,
    /// Device memory.
    Global = 1,
}

/// What happens at a site. One line that does two things is two sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SiteKind {
    /// Which memory.
    pub(crate) space: SiteSpace,
    /// What is done.
    pub(crate) op: Op,
    /// Bytes that one lane accesses at once.
    pub(crate) bytes: u8,
}

impl SiteKind {
    const fn code(self) -> u32 {
        (self.space as u32) << 16 | (self.op as u32) << 8 | self.bytes as u32
    }
}

/// Gives each pair of a place in the source and a [`SiteKind`] a number, from 0 on.
///
/// A direct-mapped cache keyed by the location's address answers the common case; a table keyed by its content keeps
/// copies of one location, of which the compiler makes several, under one number.
pub(crate) struct Sites {
    cache: Box<[Cached; Sites::CACHED]>,
    by_content: HashMap<(Content, u32), u16>,
    sites: Vec<(&'static Location<'static>, SiteKind)>,
}

type Content = (&'static str, u32, u32);

#[derive(Clone, Copy)]
struct Cached {
    /// Address of the location; 0 where there is none.
    location: usize,
    kind: u32,
    id: u16,
}

impl Sites {
    const CACHED: usize = 1024;
    /// The number that all sites share for which no other is left.
    pub(crate) const REST: u16 = u16::MAX;

    /// No sites yet.
    pub(crate) fn new() -> Self {
        let none = Cached {
            location: 0,
            kind: 0,
            id: 0,
        };
        Self {
            cache: Box::new([none; Self::CACHED]),
            by_content: HashMap::new(),
            sites: Vec::new(),
        }
    }

    /// The number of a site. The 65,536th site and all later ones share [`Sites::REST`].
    #[inline]
    pub(crate) fn id(&mut self, location: &'static Location<'static>, kind: SiteKind) -> u16 {
        let address = std::ptr::from_ref(location).addr();
        let code = kind.code();
        // Locations are 24 bytes on 64-bit hosts: neighbours differ in the bits from 3 on.
        let line = (address >> 3) ^ (address >> 13) ^ (code as usize >> 8).wrapping_mul(0x9d) ^ code as usize;
        let slot = line % Self::CACHED;
        let cached = self.cache[slot];
        if cached.location == address && cached.kind == code {
            return cached.id;
        }
        self.intern(location, kind, slot)
    }

    #[cold]
    fn intern(&mut self, location: &'static Location<'static>, kind: SiteKind, slot: usize) -> u16 {
        let content = (location.file(), location.line(), location.column());
        let sites = &mut self.sites;
        let id = *self.by_content.entry((content, kind.code())).or_insert_with(|| {
            if sites.len() <= usize::from(Self::REST) {
                sites.push((location, kind));
            }
            (sites.len() - 1) as u16
        });
        self.cache[slot] = Cached {
            location: std::ptr::from_ref(location).addr(),
            kind: kind.code(),
            id,
        };
        id
    }

    /// What has the number `id`: for [`Sites::REST`], the first of those that share it.
    ///
    /// # Panics
    /// When [`Sites::id`] has not returned `id`.
    pub(crate) fn get(&self, id: u16) -> (&'static Location<'static>, SiteKind) {
        self.sites[usize::from(id)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(op: Op, bytes: u8) -> SiteKind {
        SiteKind {
            space: SiteSpace::Shared,
            op,
            bytes,
        }
    }

    #[track_caller]
    fn here() -> &'static Location<'static> {
        Location::caller()
    }

    #[test]
    fn numbers_are_dense_and_stable() {
        let mut sites = Sites::new();
        let (a, b) = (here(), here());
        assert_eq!(sites.id(a, kind(Op::Read, 4)), 0);
        assert_eq!(sites.id(b, kind(Op::Read, 4)), 1);
        assert_eq!(sites.id(a, kind(Op::Write, 4)), 2);
        assert_eq!(sites.id(a, kind(Op::Read, 8)), 3);
        assert_eq!(sites.id(a, kind(Op::Read, 4)), 0);
        assert_eq!(sites.get(1), (b, kind(Op::Read, 4)));
        assert_eq!(sites.get(3), (a, kind(Op::Read, 8)));
    }

    #[test]
    fn copies_of_a_location_are_one_site() {
        let mut sites = Sites::new();
        let location = here();
        let copy: &'static Location<'static> = Box::leak(Box::new(*location));
        assert_eq!(sites.id(location, kind(Op::Read, 4)), sites.id(copy, kind(Op::Read, 4)));
    }

    #[test]
    fn too_many_sites_share_the_last_number() {
        let mut sites = Sites::new();
        let locations: Vec<&'static Location<'static>> = vec![here(), here(), here()];
        let mut ids = Vec::new();
        for bytes in 0..=255 {
            for op in [Op::Read, Op::Write, Op::AtomicLoad, Op::AtomicStore, Op::AtomicUpdate] {
                for space in [SiteSpace::Shared, SiteSpace::Global] {
                    for &location in &locations {
                        ids.push(sites.id(location, SiteKind { space, op, bytes }));
                    }
                }
            }
        }
        assert_eq!(ids.len(), 7680);
        assert!(ids.iter().enumerate().all(|(i, &id)| usize::from(id) == i));
        // As if 57,856 more had come.
        let filler = sites.get(0);
        sites.sites.resize(usize::from(Sites::REST), filler);
        let more = [here(), here(), here()].map(|location| sites.id(location, kind(Op::Read, 4)));
        assert_eq!(more, [Sites::REST; 3]);
        assert_eq!(sites.id(locations[0], kind(Op::Read, 0)), 0);
    }
}
