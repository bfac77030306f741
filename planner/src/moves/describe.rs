//! Moves in words and numbers.

use alloc::format;
use alloc::string::{String, ToString};

use cuda_arch::Architecture;

use super::cost::{is_filled, traffic_ratio};
use super::{Change, Cost, Move, MoveKind, apply, points, spill_budget_bytes};
use crate::path::Path;
use crate::template::{Accumulator, Shape, Template, warp_grid};
use crate::worksheet::{Worksheet, worksheet};

/// Latencies: arXiv 2606.22588 (L40: 222 to 339 cycles) and Chips and Cheese (GB202, B200: 130 and 150 ns) for the L2
/// cache; the same for shared memory.
const L2_LATENCY: &str = "250 to 350 cycles away where shared memory is 30";

/// Tries a move.
pub(crate) fn attempt(kind: MoveKind, before: &Worksheet, arch: &Architecture, shape: Option<Shape>) -> Move {
    let tried = apply(kind, &before.footprint(), arch, shape)
        .and_then(|after| Ok(worksheet(&after.template, arch, before.margin_bytes)?));
    let after = tried.as_ref().unwrap_or(before);
    let (legal, reason) = match &tried {
        Ok(after) => (true, reason(kind, before, after, arch, shape)),
        Err(refusal) => (false, refusal.to_string()),
    };
    Move {
        kind,
        name: kind.name(),
        before_bytes: before.total_bytes,
        after_bytes: after.total_bytes,
        legal,
        fits: after.fits,
        reason,
        cost: cost(kind, legal, before, after, shape),
        template: after.template,
    }
}

/// What a legal move changes.
fn reason(kind: MoveKind, before: &Worksheet, after: &Worksheet, arch: &Architecture, shape: Option<Shape>) -> String {
    let (old, new) = (&before.template, &after.template);
    let change = match kind {
        MoveKind::OptIn => format!(
            "with cuFuncSetAttribute(MAX_DYNAMIC_SHARED_SIZE_BYTES) the limit is {} instead of {} B",
            after.limit_bytes, before.limit_bytes
        ),
        MoveKind::DropStage => format!("{} -> {} stages of {} B", old.stages, new.stages, before.stage_bytes()),
        MoveKind::ReuseOperands => format!(
            "{} B of it stick out",
            after.component("epilogue").map_or(0, |line| line.bytes)
        ),
        MoveKind::HalveEpilogue => format!("{} -> {}", old.epilogue, new.epilogue),
        MoveKind::DirectEpilogue => format!("{} -> {}", old.epilogue, new.epilogue),
        MoveKind::HalveK => format!(
            "{} -> {} elements, {} stages as before",
            old.tile.k, new.tile.k, new.stages
        ),
        MoveKind::AccumulatorToRegisters => format!(
            "{} registers of accumulators, about {} in all, of each of {} threads{}",
            after.registers.accumulator,
            after.registers.math,
            new.warps * 32,
            warps(old, new)
        ),
        MoveKind::WidenWhileLoading => "shared memory holds elements as they are stored instead of 16-bit ones".into(),
        MoveKind::HalveLongerSide | MoveKind::HalveShorterSide => {
            format!("{} -> {}{}", old.tile, new.tile, warps(old, new))
        }
        MoveKind::SplitK => split_k(old, new, shape),
        MoveKind::SpillRegisters => {
            let spilled = new.static_bytes - old.static_bytes;
            let budget = spill_budget_bytes(arch, new.threads(), after.total_bytes - u64::from(spilled));
            format!(
                "{} of {} B that ptxas takes; by `.pragma \"enable_smem_spilling\"` with .maxntid {} in a \
                 whole-program kernel with static shared memory alone (PTX ISA 8.7 on)",
                spilled,
                budget,
                new.threads()
            )
        }
    };
    match kind {
        MoveKind::OptIn => change,
        _ if after.total_bytes == before.total_bytes => format!("saves nothing here: {change}"),
        _ => change,
    }
}

fn warps(old: &Template, new: &Template) -> String {
    if old.warps == new.warps {
        return String::new();
    }
    format!(", {} -> {} warps", old.warps, new.warps)
}

fn split_k(old: &Template, new: &Template, shape: Option<Shape>) -> String {
    let sum_bytes = new.ty.accumulator_bytes();
    let workspace = match workspace_bytes(new, shape) {
        Some(bytes) => format!("a workspace of {bytes} B"),
        None => format!("a workspace of {} x m x n x {sum_bytes} B", new.split_k),
    };
    let freed = match (old.accumulator, old.epilogue.tile()) {
        (Accumulator::SharedMemory, _) => "the accumulators in shared memory add up there",
        (_, Some(_)) => "the epilogue leaves shared memory for the kernel that adds up",
        (_, None) => "a block's tile and buffers stay as they are",
    };
    format!("partial sums of {} parts of K go to {workspace}; {freed}", new.split_k)
}

fn workspace_bytes(template: &Template, shape: Option<Shape>) -> Option<u64> {
    let shape = shape.filter(|_| template.split_k > 1)?;
    let sums = shape.m.saturating_mul(shape.n);
    Some(sums.saturating_mul(u64::from(template.split_k) * u64::from(template.ty.accumulator_bytes())))
}

fn cost(kind: MoveKind, legal: bool, before: &Worksheet, after: &Worksheet, shape: Option<Shape>) -> Cost {
    let (old, new) = (&before.template, &after.template);
    let change = |of: fn(&Worksheet) -> u32| Change {
        before: of(before),
        after: of(after),
    };
    let ratio = traffic_ratio(old, new, shape);
    Cost {
        points: if legal { points(kind, old, new, shape) } else { 0 },
        traffic_ratio: Some(ratio),
        work_ratio: 1.0,
        buffers: change(|sheet| sheet.buffers),
        blocks_per_sm: change(|sheet| sheet.occupancy.blocks_per_sm),
        warps_per_sm: change(|sheet| sheet.occupancy.warps_per_sm),
        registers_per_thread: change(|sheet| sheet.registers.math),
        workspace_bytes: workspace_bytes(new, shape),
        text: if legal {
            words(kind, before, after, ratio, shape)
        } else {
            String::new()
        },
    }
}

/// The cost of a legal move.
fn words(kind: MoveKind, before: &Worksheet, after: &Worksheet, ratio: f64, shape: Option<Shape>) -> String {
    let (old, new) = (&before.template, &after.template);
    let own = match kind {
        MoveKind::OptIn => "an attribute call before the first launch".into(),
        MoveKind::DropStage if !is_filled(old, shape) => "none: K is too short to fill the last buffer".into(),
        MoveKind::DropStage if after.buffers == 1 && new.stages == 1 => "loading is not hidden at all".into(),
        MoveKind::DropStage => format!("{} -> {} buffers to hide loading behind", before.buffers, after.buffers),
        MoveKind::ReuseOperands => "the next tile's loads wait for this tile's stores".into(),
        MoveKind::HalveEpilogue => "twice as many pieces, each with its barriers".into(),
        MoveKind::DirectEpilogue => match new.path {
            // In the fragments of mma and wgmma, 4 threads hold 8 neighbours of a row.
            Path::MmaSync | Path::Wgmma => format!("runs of {} B a store, of sectors of 32 B", 8 * new.output_bytes),
            Path::Simt | Path::Tcgen05 => "stores are no wider than the columns that a thread holds".into(),
        },
        MoveKind::HalveK => "twice as many waits for the same product, half of the bytes on the way".into(),
        MoveKind::AccumulatorToRegisters => {
            "none in time: accumulators are not loaded and stored for every step".into()
        }
        MoveKind::WidenWhileLoading => format!("{:.2} conversions of each element instead of 1", conversions(new)),
        MoveKind::HalveLongerSide | MoveKind::HalveShorterSide => format!("{ratio:.2} x operand traffic"),
        MoveKind::SplitK => {
            let traffic = shape.map_or("traffic for partial sums".into(), |_| format!("{ratio:.2} x traffic"));
            format!("{traffic}, {L2_LATENCY}; another kernel or pass; another order of summation")
        }
        MoveKind::SpillRegisters => "spilled accumulators are stored and loaded again for every use".into(),
    };
    let (blocks, warps) = (&before.occupancy, &after.occupancy);
    if before.fits && blocks.warps_per_sm != warps.warps_per_sm {
        return format!(
            "{own}; {} -> {} resident warps",
            blocks.warps_per_sm, warps.warps_per_sm
        );
    }
    own
}

/// How often an element is converted on average if each warp that multiplies it does.
fn conversions(template: &Template) -> f64 {
    let (along_m, along_n) = warp_grid(template.tile, template.warps, [8, 8]).unwrap_or((1, template.warps));
    let (m, n) = (f64::from(template.tile.m), f64::from(template.tile.n));
    (m * f64::from(along_n) + n * f64::from(along_m)) / (m + n)
}
