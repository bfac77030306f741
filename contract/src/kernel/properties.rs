//! What a kernel's descriptor consists of.

use crate::major::Major;
use crate::shape::{GemmShape, Operand};

/// The devices that run a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Whether no later one runs it (`sm_90a`: PTX ISA, "wgmma.mma_async", "requires `sm_90a`").
    pub is_architecture_specific: bool,
}

impl Target {
    /// Every device from this compute capability on.
    pub const fn from(major: u32, minor: u32) -> Self {
        Self {
            compute_capability: (major, minor),
            is_architecture_specific: false,
        }
    }

    /// Whether a device of this compute capability runs it.
    pub const fn runs_on(self, (major, minor): (u32, u32)) -> bool {
        let needed = self.compute_capability;
        if self.is_architecture_specific {
            needed.0 == major && needed.1 == minor
        } else {
            needed.0 < major || needed.0 == major && needed.1 <= minor
        }
    }
}

/// The operands of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operands {
    /// Two matrices with these majors.
    Matrices([Major; 2]),
    /// A matrix with this major and a vector, whichever of A and B is which: C has one column or one row.
    MatrixAndVector(Major),
}

/// How operands are aligned: what loads of several elements demand of addresses, leading dimensions and extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Alignment {
    /// Elements of one load of A and of B, or of the unit that a tensor map counts in. Leading dimensions, strides of
    /// batches and addresses are multiples of it; so are extents along the contiguous index, unless
    /// [`residue`](Self::residue).
    pub elems: [u32; 2],
    /// Whether rows may end anywhere: what a load of 16 bytes or a box of a tensor map has past the end is zero.
    pub residue: bool,
}

impl Alignment {
    /// Single elements.
    pub const NONE: Self = Self::of([1; 2]);

    /// Whole vectors of so many elements.
    pub const fn of(elems: [u32; 2]) -> Self {
        Self { elems, residue: false }
    }

    /// 4 bytes of elements of 2 bytes, with predicated ends of rows.
    pub const PAIRS: Self = Self {
        elems: [2; 2],
        residue: true,
    };

    /// 16 bytes of elements of 2 bytes, with predicated ends of rows.
    pub const VECTORS_OF_8: Self = Self {
        elems: [8; 2],
        residue: true,
    };

    /// The same of elements of 4 bytes.
    pub const VECTORS_OF_4: Self = Self {
        elems: [4; 2],
        residue: true,
    };

    /// Elements of one load of an operand.
    pub(super) const fn of_operand(&self, operand: Operand) -> usize {
        self.elems[if matches!(operand, Operand::A) { 0 } else { 1 }] as usize
    }

    /// Whether an operand of a shape is so aligned.
    pub(super) fn fits(&self, shape: &GemmShape, operand: Operand) -> bool {
        let (_, columns, ld) = shape.extents(operand);
        let elems = self.of_operand(operand);
        let stride = shape.batch().stride(operand) as usize;
        (self.residue || columns.is_multiple_of(elems)) && ld.is_multiple_of(elems) && stride.is_multiple_of(elems)
    }
}

/// Extents of a CTA tile in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileShape {
    /// Rows of C. Of products with a vector as many as the longer side has: C has one row or column along the other.
    pub m: u32,
    /// Columns of C; as [`m`](Self::m) of products with a vector.
    pub n: u32,
    /// BLOCK_K: elements along K of a step.
    pub k: u32,
}

/// The tiles of a CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// One tile each.
    OneTilePerCta,
    /// No more CTAs than are resident at once; each computes tile after tile.
    Persistent,
    /// The same with two consumer warpgroups, each with a tile of its own: one computes while the other stores.
    PingPong,
}

/// The MMA instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MmaPath {
    /// `fma` of single threads.
    Simt,
    /// `mma.sync` of warps.
    MmaSync,
    /// `wgmma.mma_async` of warpgroups.
    Wgmma,
}

/// How A and B are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loads {
    /// Loads into registers, and stores to shared memory where there is any.
    Threads,
    /// `cp.async`, into a pipeline.
    CpAsync,
    /// TMA loads by tensor maps, whose rows of 128 bytes L2 serves in whole lines.
    Tma,
}

/// What a kernel does besides multiplying.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Features {
    /// `C = alpha * A * B + beta * C`.
    pub alpha_beta: bool,
    /// Bias, activation, C of f32 beside f16 and bf16.
    pub epilogue: bool,
    /// Strided batches in one launch: a grid row for each product, or persistent CTAs that go through the tiles of all.
    pub batch: bool,
    /// Groups of rows of A and C with a B each, in one launch, and nothing else ([`Batch::groups`](crate::Batch)).
    pub groups: bool,
    /// TMA stores of C where it is aligned.
    pub tma_store: bool,
    /// Programmatic dependent launch: the grid starts while the one before it ends, and waits for it
    /// (`griddepcontrol.wait`) before it accesses global memory.
    pub dependent_launch: bool,
    /// `setmaxnreg`: the producer warpgroup gives registers to the consumers.
    pub reallocates_registers: bool,
    /// Boxes of tensor maps with no more rows than the matrix, where it has fewer than the tile: the kernel zero-fills
    /// the rest.
    pub trimmed_boxes: bool,
}

impl Features {
    /// The product alone.
    pub const PRODUCT: Self = Self {
        alpha_beta: false,
        epilogue: false,
        batch: false,
        groups: false,
        tma_store: false,
        dependent_launch: false,
        reallocates_registers: false,
        trimmed_boxes: false,
    };
}

/// What a CTA that computes a part of K leaves for the reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SplitK {
    /// Partial accumulators of a tile in the workspace, in f32.
    pub elems_per_tile: u32,
    /// Threads that have them, equally many each.
    pub threads: u32,
    /// Counters of a tile: one for each group of threads that reduces its part alone.
    pub counters_per_tile: u32,
}

impl SplitK {
    /// Partial accumulators of a thread, in f32.
    pub const fn elems_per_thread(self) -> u32 {
        self.elems_per_tile / self.threads
    }
}
