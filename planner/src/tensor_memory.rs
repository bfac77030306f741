//! Columns of tensor memory: 512 of 128 lanes of 4 bytes on an SM that has it.

use cuda_arch::Architecture;
use serde::Serialize;

use crate::template::{Accumulator, Template};

/// Columns of an SM (PTX ISA 9.0, "Tensor memory"; CUTLASS, `tmem_allocator_sm100.hpp`).
pub const COLUMNS: u32 = 512;

/// What a CTA takes of tensor memory, in columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Columns {
    /// For the accumulators.
    pub accumulator: u32,
    /// For the block scales.
    pub scales: u32,
    /// Both.
    pub needed: u32,
    /// What `tcgen05.alloc` gives: a power of two, 32 at least.
    pub allocated: u32,
}

impl Columns {
    /// Whether an SM has as many.
    pub const fn fit(&self) -> bool {
        self.needed <= COLUMNS
    }
}

/// The columns that a template takes; `None` where its accumulators are elsewhere.
pub(crate) fn columns(template: &Template, arch: &Architecture) -> Option<Columns> {
    if template.accumulator != Accumulator::TensorMemory || arch.tensor_memory_per_sm == 0 {
        return None;
    }
    let tile = template.tile;
    // A column holds a 32-bit accumulator of each of 128 rows; 64 rows leave half of the lanes empty.
    let accumulator = tile
        .n
        .saturating_mul(tile.m.div_ceil(128))
        .saturating_mul(template.accumulator_buffers);
    // An atom of 128 rows x 4 scales is stored as 32 lanes x 4 columns, for each quarter of the lanes again.
    let scales = template.ty.scale().map_or(0, |scale| {
        (tile.m.div_ceil(32) + tile.n.max(128).div_ceil(32)) * tile.k.div_ceil(4 * scale.elements)
    });
    let needed = accumulator.saturating_add(scales);
    Some(Columns {
        accumulator,
        scales,
        needed,
        allocated: needed.clamp(32, 1 << 30).next_power_of_two(),
    })
}
