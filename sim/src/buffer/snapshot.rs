//! The contents of a buffer at one time, to be restored or compared.

use std::sync::Arc;

/// The contents of an allocation at one time.
pub(crate) struct Snapshot {
    pub(super) pages: Vec<Page>,
    pub(super) written: Option<Vec<u64>>,
}

/// A part of a snapshot. Results that are not computed yet are most often all of one value.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Page {
    Same(u8),
    Bytes(Arc<[u8]>),
}

impl Page {
    pub(super) fn of(bytes: &[u8]) -> Self {
        match bytes.first() {
            Some(&first) if bytes.iter().all(|&byte| byte == first) => Self::Same(first),
            _ => Self::Bytes(bytes.into()),
        }
    }

    /// Whether it has this contents.
    pub(super) fn is(&self, contents: &[u8]) -> bool {
        match self {
            Self::Same(byte) => contents.iter().all(|other| other == byte),
            Self::Bytes(bytes) => **bytes == *contents,
        }
    }

    fn byte(&self, at: usize) -> u8 {
        match self {
            Self::Same(byte) => *byte,
            Self::Bytes(bytes) => bytes[at],
        }
    }

    /// Its length, if it is known here.
    fn len(&self) -> Option<usize> {
        match self {
            Self::Same(_) => None,
            Self::Bytes(bytes) => Some(bytes.len()),
        }
    }
}

impl Snapshot {
    pub(super) const PAGE_BYTES: usize = 4096;

    /// Its first `bytes` bytes.
    pub(crate) fn to_bytes(&self, bytes: usize) -> Vec<u8> {
        let page = |(number, page): (usize, &Page)| {
            let len = (bytes - number * Self::PAGE_BYTES).min(Self::PAGE_BYTES);
            (0..len).map(|at| page.byte(at)).collect::<Vec<u8>>()
        };
        self.pages.iter().enumerate().flat_map(page).collect()
    }

    /// The first differing byte and how many differ, of `bytes` bytes.
    pub(crate) fn difference(&self, other: &Self, bytes: usize) -> Option<(u64, u64)> {
        let pages = self.pages.iter().zip(&other.pages).enumerate();
        let mut differing = pages.filter(|(_, (a, b))| a != b).flat_map(|(number, (a, b))| {
            let start = number * Self::PAGE_BYTES;
            let len = a.len().or(b.len()).unwrap_or(Self::PAGE_BYTES).min(bytes - start);
            (0..len)
                .filter(|&at| a.byte(at) != b.byte(at))
                .map(move |at| start + at)
        });
        let first = differing.next()?;
        Some((first as u64, 1 + differing.count() as u64))
    }
}
