//! What a move costs, by a model.

use alloc::string::String;

use serde::Serialize;

use super::MoveKind;
use crate::path::Path;
use crate::template::{Shape, Template};

/// A number before and after a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Before.
    pub before: u32,
    /// After.
    pub after: u32,
}

/// What a move costs, by the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// How invasive it is, on the scale that [`fit`](crate::fit()) minimises the sum of; 0 where it cannot be made.
    ///
    /// | move | points |
    /// |---|---|
    /// | opting in | 1 |
    /// | a stage that K is too short to fill | 1 |
    /// | a stage, 8 or more left | 2 |
    /// | a stage, 4 or more left | 6 |
    /// | a stage, 3 left | 10 |
    /// | a stage, 2 left (`wgmma`: 200) | 20 |
    /// | a stage, 1 left | 200 |
    /// | epilogue over the operands | 12 |
    /// | epilogue's tile halved | 14 |
    /// | results straight from registers | 25 |
    /// | depth of a stage halved | 30; 100 where a row of it becomes shorter than a sector of 32 B |
    /// | accumulators into registers | 35 |
    /// | widening while loading | 40 |
    /// | a tile side halved | 20 and 1 for every percent of operand traffic that it adds |
    /// | split-K | 90, and the traffic likewise |
    /// | spilling registers | 95 |
    ///
    /// The order is that of practice: the budget guide drops a stage first, so does sgl-project/sglang#28038; the
    /// longer side goes before the shorter, since it adds less traffic. The last stages are dear because without a
    /// second buffer loading is not hidden at all, and because `wgmma` keeps one buffer busy while it multiplies:
    /// DeepGEMM takes no fewer than 3 (heuristics/sm90.hpp). Where a shape is given and has no row for the half of a
    /// tile, halving adds no traffic.
    pub points: u32,
    /// Bytes of operands that are loaded for each operation, after to before; partial sums of split-K count where the
    /// shape is known. `None` where nothing is known of the kernel but its buffers.
    pub traffic_ratio: Option<f64>,
    /// Operations, after to before: above 1 where something is computed again instead of staged.
    pub work_ratio: f64,
    /// Buffers of operands.
    pub buffers: Change,
    /// Resident CTAs of an SM. Before is 0 where the template did not fit.
    pub blocks_per_sm: Change,
    /// Resident warps of an SM.
    pub warps_per_sm: Change,
    /// Registers of a thread that multiplies.
    pub registers_per_thread: Change,
    /// Global memory for partial sums: parts x m x n x bytes of a sum. `None` without a split or a shape.
    pub workspace_bytes: Option<u64>,
    /// In words. Empty where the move cannot be made.
    pub text: String,
}

/// The points of [`Cost::points`].
pub(crate) fn points(kind: MoveKind, before: &Template, after: &Template, shape: Option<Shape>) -> u32 {
    /// A sector of the caches, and the unit of the device memory.
    const SECTOR_BITS: u64 = 32 * 8;
    match kind {
        MoveKind::OptIn => 1,
        MoveKind::DropStage if !is_filled(before, shape) => 1,
        MoveKind::DropStage => match (after.stages, after.path) {
            (8.., _) => 2,
            (4.., _) => 6,
            (3.., _) => 10,
            (2, Path::Simt | Path::MmaSync | Path::Tcgen05) => 20,
            _ => 200,
        },
        MoveKind::ReuseOperands => 12,
        MoveKind::HalveEpilogue => 14,
        MoveKind::DirectEpilogue => 25,
        MoveKind::HalveK => {
            let [a, b] = after.ty.stored_bits();
            if u64::from(after.tile.k) * u64::from(a.min(b)) < SECTOR_BITS {
                100
            } else {
                30
            }
        }
        MoveKind::AccumulatorToRegisters => 35,
        MoveKind::WidenWhileLoading => 40,
        MoveKind::HalveLongerSide | MoveKind::HalveShorterSide => 20 + added_percent(before, after, shape),
        MoveKind::SplitK => 90 + added_percent(before, after, shape),
        MoveKind::SpillRegisters => 95,
    }
}

/// Whether the last buffer is ever filled: a CTA whose part of K has fewer steps leaves it empty.
pub(super) fn is_filled(template: &Template, shape: Option<Shape>) -> bool {
    shape.is_none_or(|shape| {
        let steps = shape
            .k
            .div_ceil(template.split_k.into())
            .div_ceil(template.tile.k.into());
        u64::from(template.buffers()) <= steps
    })
}

/// Traffic after to before.
pub(super) fn traffic_ratio(before: &Template, after: &Template, shape: Option<Shape>) -> f64 {
    operand_bytes_per_flop(after, shape) / operand_bytes_per_flop(before, shape)
}

fn added_percent(before: &Template, after: &Template, shape: Option<Shape>) -> u32 {
    let percent = libm::round((traffic_ratio(before, after, shape) - 1.0) * 100.0);
    // Saturates, and takes what is less than nothing as 0.
    percent as u32
}

/// Bytes of A and B, scales included, that CTAs load for each operation of the product (a multiplication and its
/// addition are two). With a shape: with the rows and columns that it has, and with the partial sums of split-K,
/// written and read; without: of whole tiles. CTAs of a cluster load what they share once.
pub fn operand_bytes_per_flop(template: &Template, shape: Option<Shape>) -> f64 {
    let [a_bytes, b_bytes] = template.ty.stored_bits().map(|bits| {
        let scale = template
            .ty
            .scale()
            .map_or(0.0, |scale| f64::from(scale.bytes) / f64::from(scale.elements));
        f64::from(bits) / 8.0 + scale
    });
    let (along_m, along_n) = (template.cluster.0.max(1), template.cluster.1.max(1));
    let rows = f64::from(template.tile.m) * f64::from(along_m);
    let columns = f64::from(template.tile.n) * f64::from(along_n);
    let Some(Shape { m, n, k }) = shape else {
        // An element of A serves the columns of a tile, an element of B its rows.
        return (a_bytes / columns + b_bytes / rows) / 2.0;
    };
    let (m, n, k) = (m.max(1) as f64, n.max(1) as f64, k.max(1) as f64);
    let operands = a_bytes * m * k * libm::ceil(n / columns) + b_bytes * n * k * libm::ceil(m / rows);
    let partial_sums = if template.split_k > 1 {
        2.0 * f64::from(template.split_k) * m * n * f64::from(template.ty.accumulator_bytes())
    } else {
        0.0
    };
    (operands + partial_sums) / (2.0 * m * n * k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GemmType, TileShape};

    #[test]
    fn traffic_of_nvfp4_tiles_with_their_scales() {
        // Operations per loaded byte, relative to 128 x 256: 128x128 0.75, 64x256 0.60, 64x128 0.50, 64x64 0.375.
        let arch = cuda_arch::find("sm_120").expect("in the table");
        let template = |m, n| Template::on_path(arch, Path::MmaSync, GemmType::Nvfp4, TileShape::new(m, n, 64), 4);
        for (m, n, relative) in [(128, 128, 0.75), (64, 256, 0.60), (64, 128, 0.50), (64, 64, 0.375)] {
            let ratio = traffic_ratio(&template(128, 256), &template(m, n), None);
            assert!((1.0 / ratio - relative).abs() < 1e-12, "{m}x{n}: {ratio}");
        }
    }

    #[test]
    fn few_rows_lose_nothing_by_a_lower_tile() {
        let arch = cuda_arch::find("sm_90").expect("in the table");
        let template = |m, n| Template::on_path(arch, Path::MmaSync, GemmType::Bf16, TileShape::new(m, n, 64), 3);
        let shape = Some(Shape {
            m: 16,
            n: 4096,
            k: 4096,
        });
        assert_eq!(added_percent(&template(128, 128), &template(64, 128), shape), 0);
        assert_eq!(added_percent(&template(128, 128), &template(64, 128), None), 50);
        // A, read for each of 32 columns of tiles, is an eighth of the traffic of B: a ninth more of both if it
        // doubles.
        assert_eq!(added_percent(&template(128, 128), &template(128, 64), shape), 11);
    }
}
