//! Bytes and elements as different types: the slides pass a byte count where an element offset is read.

use core::fmt;

/// A size or an offset in bytes.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u32);

/// A count or an offset in elements of the type at hand.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Elems(pub u32);

impl Bytes {
    /// The number of bytes.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The smallest multiple of `alignment` that is not below `self`; `None` where that exceeds `u32`.
    pub const fn align_up(self, alignment: u32) -> Option<Bytes> {
        match self.0.checked_next_multiple_of(alignment) {
            Some(bytes) => Some(Bytes(bytes)),
            None => None,
        }
    }

    /// The sum, or `None` where it exceeds `u32`.
    pub const fn checked_add(self, other: Bytes) -> Option<Bytes> {
        match self.0.checked_add(other.0) {
            Some(bytes) => Some(Bytes(bytes)),
            None => None,
        }
    }
}

impl Elems {
    /// The number of elements.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The bytes that this many elements of `elem_bytes` each take, or `None` where that exceeds `u32`.
    pub const fn to_bytes(self, elem_bytes: u32) -> Option<Bytes> {
        match self.0.checked_mul(elem_bytes) {
            Some(bytes) => Some(Bytes(bytes)),
            None => None,
        }
    }
}

impl fmt::Display for Bytes {
    /// Writes the plain number followed by ` B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}
