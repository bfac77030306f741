//! The shared memory of a CTA, as a family lays it out.

use crate::units::Bytes;

/// How a kernel gets its shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// Static arrays, whose size is part of the PTX; at most 48 KiB.
    Static,
    /// The one dynamic allocation, whose size the launch passes.
    Dynamic,
}

/// C's tile on its way to global memory: `buffers` subtiles of `m x n` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EpilogueBuffers {
    /// Rows of C that one round of the CTA stores.
    pub m: u32,
    /// Columns of a subtile.
    pub n: u32,
    /// Subtiles that are in shared memory at once.
    pub buffers: u32,
}

/// The named regions of a CTA's shared memory, in this order:
///
/// ```text
/// | A_s, B_s of stage 0 | .. of stage 1 | ... | epilogue buffers of C | mbarriers | scratch |
/// ```
///
/// The one formula of a kernel's bytes: the family computes it from the geometry that its device code indexes with, and
/// plan, launch and simulator carry [`Self::total`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SmemLayout {
    /// Static arrays or the dynamic allocation. A kernel without shared memory has static arrays of 0 bytes.
    pub storage: Storage,
    /// Stages of the pipeline; 1 without one.
    pub stages: u32,
    /// A's tile of one stage, padding included.
    pub a_per_stage: Bytes,
    /// B's tile of one stage, padding included.
    pub b_per_stage: Bytes,
    /// Elements of padding after each row of A's and of B's tile.
    pub row_padding: [u32; 2],
    /// What `c` consists of; `None` where C goes from registers to global memory.
    pub epilogue: Option<EpilogueBuffers>,
    /// The epilogue buffers.
    pub c: Bytes,
    /// mbarriers, 8 bytes each.
    pub barriers: Bytes,
    /// What is neither: partial results of warps.
    pub scratch: Bytes,
}

impl SmemLayout {
    /// No shared memory.
    pub const NONE: Self = Self {
        storage: Storage::Static,
        stages: 1,
        a_per_stage: Bytes(0),
        b_per_stage: Bytes(0),
        row_padding: [0; 2],
        epilogue: None,
        c: Bytes(0),
        barriers: Bytes(0),
        scratch: Bytes(0),
    };

    /// A's tiles of all stages.
    pub const fn a(&self) -> Bytes {
        Bytes(self.stages * self.a_per_stage.get())
    }

    /// B's tiles of all stages.
    pub const fn b(&self) -> Bytes {
        Bytes(self.stages * self.b_per_stage.get())
    }

    /// All regions.
    pub const fn total(&self) -> Bytes {
        Bytes(self.a().get() + self.b().get() + self.c.get() + self.barriers.get() + self.scratch.get())
    }

    /// Static bytes.
    pub const fn static_bytes(&self) -> Bytes {
        match self.storage {
            Storage::Static => self.total(),
            Storage::Dynamic => Bytes(0),
        }
    }

    /// Dynamic bytes.
    pub const fn dynamic_bytes(&self) -> Bytes {
        match self.storage {
            Storage::Static => Bytes(0),
            Storage::Dynamic => self.total(),
        }
    }

    /// Whether tiles of A and B are in shared memory.
    pub const fn has_tiles(&self) -> bool {
        self.a_per_stage.get() > 0
    }
}
