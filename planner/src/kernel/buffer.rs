//! A named buffer of a kernel: its shape, its type, how often it is there, and what it may share memory with.

use alloc::format;
use alloc::string::String;
use core::fmt;

use serde::{Serialize, Serializer};

/// The largest rows and columns of a buffer, in elements.
pub(super) const MOST_ELEMENTS: u32 = 1 << 16;
/// The most copies of a buffer in a stage.
pub(super) const MOST_COPIES: u32 = 256;
/// A count of rows, columns or copies. One with a name is the same wherever the name is, and may be halved there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The dimension's name, such as the `n` of `n128`; `None` for a number that no move changes.
    pub name: Option<String>,
    /// How many.
    pub count: u32,
}

impl Extent {
    /// A number that no move changes.
    pub const fn fixed(count: u32) -> Self {
        Self { name: None, count }
    }

    /// Whether it is the dimension of this name.
    pub fn is_named(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name)
    }
}

impl fmt::Display for Extent {
    /// Writes `128`, or `n128` for the dimension `n`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name.as_deref().unwrap_or_default(), self.count)
    }
}

/// The type of a buffer's elements: scales are a buffer of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementType {
    /// The name, as in `q=128x128:bf16`.
    pub name: &'static str,
    /// Bits of an element.
    pub bits: u32,
}

impl ElementType {
    /// bfloat16.
    pub const BF16: ElementType = element("bf16", 16);
    /// A barrier of 64 bits (PTX ISA 9.0, mbarrier).
    pub const MBARRIER: ElementType = element("mbarrier", 64);

    /// Every type of an element.
    pub const ALL: [ElementType; 15] = [
        element("f64", 64),
        element("f32", 32),
        element("tf32", 32),
        element("f16", 16),
        Self::BF16,
        element("e4m3", 8),
        element("e5m2", 8),
        element("e2m1", 4),
        element("ue8m0", 8),
        element("int8", 8),
        element("int32", 32),
        element("int64", 64),
        element("byte", 8),
        Self::MBARRIER,
        // 128 bytes (CUDA driver API, CUtensorMap).
        element("tensormap", 1024),
    ];

    /// Alignment unless another is asked for, in bytes: a row of all 32 banks, and what TMA writes to (PTX ISA 9.0,
    /// cp.async.bulk.tensor); for a barrier its own size. The 128-byte swizzle repeats every 1024.
    pub fn alignment(self) -> u32 {
        if self == Self::MBARRIER { 8 } else { 128 }
    }

    /// The type of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ty| ty.name == name)
    }
}

const fn element(name: &'static str, bits: u32) -> ElementType {
    ElementType { name, bits }
}

/// A buffer in the shared memory of a CTA, written
/// `NAME=ROWSxCOLUMNS:TYPE[xCOUNT][@stage][@static][@align=BYTES][@over=NAME][@after=NAME]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// Rows.
    pub rows: Extent,
    /// Columns, in elements.
    pub columns: Extent,
    /// The elements.
    pub ty: ElementType,
    /// Copies of it, in each stage where it is staged.
    pub copies: Extent,
    /// Whether each stage has its own (`@stage`); else it is there once.
    pub staged: bool,
    /// Whether it is a static array (`@static`), which ends at 48 KiB; else it is dynamic shared memory.
    pub is_static: bool,
    /// What each copy begins at a multiple of, in bytes (`@align`).
    pub align: u32,
    /// The buffer whose memory it shares (`@over`): the two are never alive at the same time.
    pub over: Option<String>,
    /// A buffer whose memory it may share (`@after`): it is first written after that one was last read.
    pub after: Option<String>,
}

impl Buffer {
    /// A dynamic buffer of `rows` x `columns` elements that is there once, begins at a multiple of the type's alignment
    /// and shares its memory with none.
    pub fn new(name: &str, rows: Extent, columns: Extent, ty: ElementType) -> Self {
        Self {
            name: name.into(),
            rows,
            columns,
            ty,
            copies: Extent::fixed(1),
            staged: false,
            is_static: false,
            align: ty.alignment(),
            over: None,
            after: None,
        }
    }

    /// Rows, columns and copies.
    pub(super) fn extents(&self) -> [&Extent; 3] {
        [&self.rows, &self.columns, &self.copies]
    }

    /// The same, to be changed.
    pub(super) fn extents_mut(&mut self) -> [&mut Extent; 3] {
        [&mut self.rows, &mut self.columns, &mut self.copies]
    }

    /// Bytes of all copies in one stage; each begins at a multiple of the alignment.
    pub fn stage_bytes(&self) -> u64 {
        // At most 2^16 x 2^16 x 2^10 bits, in 2^10 copies.
        let bits = u64::from(self.rows.count) * u64::from(self.columns.count) * u64::from(self.ty.bits);
        bits.div_ceil(8).next_multiple_of(self.align.into()) * u64::from(self.copies.count)
    }

    /// Bytes in all.
    pub fn bytes(&self, stages: u32) -> u64 {
        self.stage_bytes() * if self.staged { u64::from(stages) } else { 1 }
    }

    /// The shape in words: `128 x 128 bf16`, `2 x 128 x 128 bf16`, `4 mbarrier`.
    pub fn shape(&self) -> String {
        let [rows, columns, copies] = self.extents().map(|extent| extent.count);
        let name = self.ty.name;
        match (rows, columns, copies) {
            (1, 1, copies) => format!("{copies} {name}"),
            (_, _, 1) => format!("{rows} x {columns} {name}"),
            _ => format!("{copies} x {rows} x {columns} {name}"),
        }
    }
}

impl fmt::Display for Buffer {
    /// Writes what `Buffer::from_str` reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}x{}:{}", self.name, self.rows, self.columns, self.ty.name)?;
        if self.copies != Extent::fixed(1) {
            write!(f, "x{}", self.copies)?;
        }
        if self.staged {
            f.write_str("@stage")?;
        }
        if self.is_static {
            f.write_str("@static")?;
        }
        if self.align != self.ty.alignment() {
            write!(f, "@align={}", self.align)?;
        }
        let shared = [("over", &self.over), ("after", &self.after)];
        for (mark, name) in shared {
            if let Some(name) = name {
                write!(f, "@{mark}={name}")?;
            }
        }
        Ok(())
    }
}

impl Serialize for Buffer {
    /// As its text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
