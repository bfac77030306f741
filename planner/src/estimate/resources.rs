//! Bytes and clocks of single resources.

use libm::{ceil, sqrt};

use super::{LONE_WARP, Machine, SHARED_MEMORY_BYTES, TENSOR_EFFICIENCY};
use crate::path::Path;
use crate::template::{Accumulator, Template, Widening, warp_grid};

/// What a subpartition reaches of its rate with so many warps on average.
pub(super) fn filled(warps: f64) -> f64 {
    if warps <= 1.0 {
        warps * LONE_WARP
    } else {
        (LONE_WARP + (warps - 1.0) * (1.0 - LONE_WARP)).min(1.0)
    }
}

/// Bytes of an element of A and of B where they are loaded from, their scales included.
pub(super) fn bytes_per_element(template: &Template) -> [f64; 2] {
    let scale = template
        .ty
        .scale()
        .map_or(0.0, |scale| f64::from(scale.bytes) / f64::from(scale.elements));
    template.ty.stored_bits().map(|bits| f64::from(bits) / 8.0 + scale)
}

/// What [`operands_from_dram`] needs.
pub(super) struct Operands {
    /// Tiles along m and n.
    pub(super) tiles: [f64; 2],
    /// Bytes of A that a row of tiles needs, and of B that a column needs, over all of k.
    pub(super) panel: [f64; 2],
    pub(super) split: f64,
    /// CTAs at work at a time.
    pub(super) wave: f64,
    /// Bytes that the L2 cache keeps.
    pub(super) cache: f64,
}

/// Bytes of A and B that come out of device memory.
pub(super) fn operands_from_dram(operands: Operands) -> f64 {
    let Operands {
        tiles: [tiles_m, tiles_n],
        panel: [panel_a, panel_b],
        split,
        wave,
        cache,
    } = operands;
    let once = tiles_m * panel_a + tiles_n * panel_b;
    if once <= cache {
        return once;
    }
    // A wave's tiles as the rectangle that needs least of A and B together: kernels walk over C in groups for that.
    let area = (wave / split).max(1.0).min(tiles_m * tiles_n);
    let high = sqrt(area * panel_b / panel_a).clamp(1.0, tiles_m);
    let wide = (area / high).clamp(1.0, tiles_n);
    let high = (area / wide).clamp(1.0, tiles_m);
    let waves = tiles_m * tiles_n / (high * wide);
    let streamed = waves * (high * panel_a + wide * panel_b);
    // Where the rectangle's rows of A stay in the cache, the walk along n loads them once; and so for B.
    let keep_a = if high * panel_a <= cache {
        tiles_m * panel_a + tiles_n * panel_b * (tiles_m / high)
    } else {
        f64::INFINITY
    };
    let keep_b = if wide * panel_b <= cache {
        tiles_n * panel_b + tiles_m * panel_a * (tiles_n / wide)
    } else {
        f64::INFINITY
    };
    streamed.min(keep_a).min(keep_b).max(once)
}

/// Clocks that one CTA's step keeps the multiplying units busy, and shared memory.
pub(super) fn step_clocks(template: &Template, machine: &Machine<'_>) -> (f64, f64) {
    let (compute, shared) = operand_clocks(template, machine);
    let sums = match template.accumulator {
        // Read and written once a step.
        Accumulator::SharedMemory => {
            2.0 * (template.tile.outputs() * u64::from(template.ty.accumulator_bytes())) as f64
        }
        Accumulator::Registers | Accumulator::TensorMemory => 0.0,
    };
    (compute, shared + sums / SHARED_MEMORY_BYTES)
}

/// The same with accumulators in registers or tensor memory.
fn operand_clocks(template: &Template, machine: &Machine<'_>) -> (f64, f64) {
    let [m, n, k] = [template.tile.m, template.tile.n, template.tile.k].map(f64::from);
    let bits = if machine.support.widens(template.ty) {
        match template.widening {
            Widening::Loading => template.ty.stored_bits(),
            Widening::Staging => [16; 2],
        }
    } else {
        template.ty.staged_bits()
    };
    let [a, b] = bits.map(|bits| f64::from(bits) / 8.0);
    let flops = machine.flops
        * if template.path == Path::Simt {
            1.0
        } else {
            TENSOR_EFFICIENCY
        };
    match template.path {
        Path::Simt => {
            let warps = f64::from(template.warps.max(1));
            // A thread's square of outputs; the lanes of a warp as 4 x 8 such squares.
            let side = sqrt(m * n / (warps * 32.0)).max(1.0);
            // Vector loads of 16 bytes; a warp's share of A or B is one wavefront each.
            let words = template.ty.accumulator_bytes().max(4) as f64;
            let loads = 2.0 * (side * words / 16.0).max(1.0);
            let multiplications = side * side * 2.0 * 32.0 / flops;
            // Each of four schedulers issues one instruction a clock, loads and multiplications alike.
            let issued = (side * side + loads) / 4.0;
            (warps * k * multiplications.max(issued), warps * k * loads)
        }
        Path::MmaSync => {
            let (along_m, along_n) = warp_grid(template.tile, template.warps, [8, 8]).unwrap_or((1, template.warps));
            let reads = (m * f64::from(along_n) * a + n * f64::from(along_m) * b) * k;
            // cp.async and stores share the way with the reads; a TMA load has its own.
            let writes = if template.loads_by_tma(machine.arch) {
                0.0
            } else {
                (m * a + n * b) * k
            };
            (2.0 * m * n * k / flops, (reads + writes) / SHARED_MEMORY_BYTES)
        }
        Path::Wgmma => {
            // Every instruction of 64 rows reads its rows of A and all its columns of B.
            let (_, across) = warp_grid(template.tile, template.warps / 4, [64, 8]).unwrap_or((1, 1));
            let reads = (m * f64::from(across) * a + m / 64.0 * n * b) * k;
            (2.0 * m * n * k / flops, reads / SHARED_MEMORY_BYTES)
        }
        Path::Tcgen05 => {
            // 64 rows use half of the lanes.
            let rows = ceil(m / 128.0) * 128.0;
            let reads = (m * a + ceil(m / 128.0) * n * b) * k;
            (2.0 * rows * n * k / flops, reads / SHARED_MEMORY_BYTES)
        }
    }
}
