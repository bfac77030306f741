//! What can give in a kernel of buffers: one change at a time, with what it frees and what it costs.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use cuda_arch::Architecture;
use serde::Serialize;

use super::attention::Attention;
use super::{Buffers, Kernel};
use crate::moves::{Change, Cost, Move, MoveKind};
use crate::template::{Accumulator, TileShape};
use crate::worksheet::Worksheet;

/// A change of a kernel of buffers. None of them changes what the kernel computes.
///
/// Of named buffers nothing is known but what their text says, so that only what it allows is done: an extent without a
/// name stays, and two buffers share memory only where one is marked as used after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelMove {
    /// Dynamic instead of static buffers: the limit is the opt-in limit then, not 48 KiB. 1 point.
    OptIn,
    /// One stage less. Points as in [`Cost::points`], but 25 for the last of FlashAttention's: one of K and V is loaded
    /// while the other is multiplied.
    DropStage,
    /// The buffer shares the memory of the one that it is used after. 12 points.
    ShareMemory(String),
    /// Half of the keys of a tile. 30 points.
    HalveKeys,
    /// Q in registers during the main loop; K and V take its place in shared memory. 35 points.
    QueriesToRegisters,
    /// P in registers between the two products. 35 points.
    ProbabilitiesToRegisters,
    /// Twice as many passes over the keys, each for half as many columns of O, with S computed in each: recomputed
    /// instead of staging V whole, the budget guide's strategy D. 60 points.
    RecomputeScores,
    /// Half of a named dimension, in every buffer that has it. 70 points: how much more is loaded is not known.
    HalveDimension(String),
    /// Half of the queries of a tile. 20 points and 1 for every percent of traffic that it adds.
    HalveQueries,
}

impl KernelMove {
    /// What reports call it.
    pub const fn name(&self) -> &'static str {
        match self {
            KernelMove::OptIn => MoveKind::OptIn.name(),
            KernelMove::DropStage => MoveKind::DropStage.name(),
            KernelMove::ShareMemory(_) => "share memory",
            KernelMove::HalveKeys => "halve the tile of keys",
            KernelMove::QueriesToRegisters => "Q into registers",
            KernelMove::ProbabilitiesToRegisters => "P into registers",
            KernelMove::RecomputeScores => "recompute instead of staging",
            KernelMove::HalveDimension(_) => "halve a dimension",
            KernelMove::HalveQueries => "halve the tile of queries",
        }
    }

    /// Every move that the kernel could have, legal or not, the least invasive first.
    pub(super) fn all(kernel: &Kernel) -> Vec<KernelMove> {
        match kernel {
            Kernel::Buffers(Buffers { buffers, .. }) => {
                let mut moves = Vec::from([KernelMove::OptIn, KernelMove::DropStage]);
                let sharing = buffers.iter().filter(|buffer| buffer.after.is_some());
                moves.extend(sharing.map(|buffer| KernelMove::ShareMemory(buffer.name.clone())));
                let named = buffers.iter().flat_map(|buffer| buffer.extents());
                for name in named.filter_map(|extent| extent.name.as_ref()) {
                    let halved = KernelMove::HalveDimension(name.clone());
                    if !moves.contains(&halved) {
                        moves.push(halved);
                    }
                }
                moves
            }
            Kernel::FlashAttention(_) => Vec::from([
                KernelMove::DropStage,
                KernelMove::HalveKeys,
                KernelMove::QueriesToRegisters,
                KernelMove::ProbabilitiesToRegisters,
                KernelMove::RecomputeScores,
                KernelMove::HalveQueries,
            ]),
        }
    }

    /// The kernel after the move.
    ///
    /// # Errors
    /// Why it cannot be made, in one line.
    fn change(&self, kernel: &Kernel) -> Result<Kernel, String> {
        match kernel {
            Kernel::Buffers(buffers) => self.change_buffers(buffers.clone()).map(Kernel::Buffers),
            Kernel::FlashAttention(attention) => self.change_attention(*attention).map(Kernel::FlashAttention),
        }
    }

    fn change_buffers(&self, mut kernel: Buffers) -> Result<Buffers, String> {
        let buffers = &mut kernel.buffers;
        match self {
            KernelMove::OptIn if buffers.iter().any(|buffer| buffer.is_static) => {
                buffers.iter_mut().for_each(|buffer| buffer.is_static = false);
            }
            KernelMove::OptIn => return Err("all buffers are in dynamic shared memory already".into()),
            KernelMove::DropStage if !buffers.iter().any(|buffer| buffer.staged) => {
                return Err("no buffer is marked @stage".into());
            }
            KernelMove::DropStage => kernel.stages = dropped(kernel.stages)?,
            KernelMove::ShareMemory(name) => {
                let after = buffers.iter_mut().find(|buffer| buffer.name == *name);
                let buffer = after.ok_or("no such buffer")?;
                buffer.over = Some(buffer.after.take().ok_or("it is marked to share memory with none")?);
            }
            KernelMove::HalveDimension(name) => {
                let extents = buffers.iter_mut().flat_map(|buffer| buffer.extents_mut());
                for extent in extents.filter(|extent| extent.is_named(name)) {
                    extent.count = half(extent.count)?;
                }
            }
            _ => return Err("it is a move of another kernel".into()),
        }
        Ok(kernel)
    }

    fn change_attention(&self, mut kernel: Attention) -> Result<Attention, String> {
        let into_registers = |home: &mut Accumulator, what: &str| match home {
            Accumulator::Registers => Err(format!("{what} is in registers already")),
            _ => {
                *home = Accumulator::Registers;
                Ok(())
            }
        };
        match self {
            KernelMove::DropStage => kernel.stages = dropped(kernel.stages)?,
            KernelMove::HalveKeys => kernel.tile.n = half(kernel.tile.n)?,
            KernelMove::HalveQueries => {
                kernel.tile.m = half(kernel.tile.m)?;
                // Half of the warps have as many rows each as before.
                kernel.warps = half(kernel.warps).map_err(|_| "half of the warps is none".to_string())?;
            }
            KernelMove::QueriesToRegisters => into_registers(&mut kernel.queries, "Q")?,
            KernelMove::ProbabilitiesToRegisters => into_registers(&mut kernel.probabilities, "P")?,
            KernelMove::RecomputeScores => kernel.passes *= 2,
            _ => return Err("it is a move of another kernel".into()),
        }
        // What a compiler said was about another kernel.
        kernel.registers_per_thread = match self {
            KernelMove::DropStage => kernel.registers_per_thread,
            _ => None,
        };
        Ok(kernel)
    }

    /// Tries the move on a worksheet.
    pub(super) fn attempt(&self, before: &Worksheet<Kernel>, arch: &Architecture) -> Move<Kernel, KernelMove> {
        let tried = self.change(&before.template).and_then(|kernel| {
            let after = kernel.worksheet(arch, before.margin_bytes)?;
            match after.total_bytes > before.total_bytes {
                true => Err(format!("it would raise the total to {} B", after.total_bytes)),
                false => Ok(after),
            }
        });
        let after = tried.as_ref().unwrap_or(before);
        Move {
            kind: self.clone(),
            name: self.name(),
            before_bytes: before.total_bytes,
            after_bytes: after.total_bytes,
            legal: tried.is_ok(),
            fits: after.fits,
            reason: match &tried {
                Ok(after) => self.reason(before, after),
                Err(why) => why.clone(),
            },
            cost: self.cost(before, after, tried.is_ok()),
            template: after.template.clone(),
        }
    }

    fn points(&self, before: &Kernel, after: &Kernel) -> u32 {
        match self {
            KernelMove::OptIn => 1,
            KernelMove::DropStage => match (after.stages(), after) {
                (8.., _) => 2,
                (4.., _) => 6,
                (3.., _) => 10,
                (2, _) => 20,
                (_, Kernel::FlashAttention(_)) => 25,
                (_, Kernel::Buffers(_)) => 200,
            },
            KernelMove::ShareMemory(_) => 12,
            KernelMove::HalveKeys => 30,
            KernelMove::QueriesToRegisters | KernelMove::ProbabilitiesToRegisters => 35,
            KernelMove::RecomputeScores => 60,
            KernelMove::HalveDimension(_) => 70,
            KernelMove::HalveQueries => {
                let added = traffic_ratio(before, after).map_or(0.0, |ratio| (ratio - 1.0) * 100.0);
                // Saturates, and takes what is less than nothing as 0.
                20 + libm::round(added) as u32
            }
        }
    }

    /// What a legal move changes.
    fn reason(&self, before: &Worksheet<Kernel>, after: &Worksheet<Kernel>) -> String {
        let extent = |of: fn(&TileShape) -> u32| match (&before.template, &after.template) {
            (Kernel::FlashAttention(old), Kernel::FlashAttention(new)) => {
                format!("{} -> {}", of(&old.tile), of(&new.tile))
            }
            _ => String::new(),
        };
        let change = match self {
            KernelMove::OptIn => format!(
                "with cuFuncSetAttribute(MAX_DYNAMIC_SHARED_SIZE_BYTES) the limit is {} instead of {} B",
                after.limit_bytes, before.limit_bytes
            ),
            KernelMove::DropStage => format!(
                "{} -> {} stages of {} B",
                before.buffers,
                after.buffers,
                before.stage_bytes()
            ),
            KernelMove::ShareMemory(name) => match after.component(name) {
                Some(line) => format!(
                    "{name} in the memory of {}, {} B",
                    shared_with(&after.template, name),
                    line.overlaid_bytes
                ),
                None => String::new(),
            },
            KernelMove::HalveKeys => format!("{} keys", extent(|tile| tile.n)),
            KernelMove::HalveQueries => {
                let warps = |kernel: &Kernel| kernel.threads() / 32;
                let [old, new] = [warps(&before.template), warps(&after.template)];
                format!("{} queries, {old} -> {new} warps", extent(|tile| tile.m))
            }
            KernelMove::QueriesToRegisters => "K and V are stored where Q was, after every warp has read it".into(),
            KernelMove::ProbabilitiesToRegisters => "each warp multiplies the rows of P that it computed".into(),
            KernelMove::RecomputeScores => match &after.template {
                Kernel::FlashAttention(new) => format!(
                    "{} passes over the keys, each for {} columns of V and O",
                    new.passes,
                    new.value_columns()
                ),
                Kernel::Buffers(_) => String::new(),
            },
            KernelMove::HalveDimension(name) => {
                let count = |kernel: &Kernel| match kernel {
                    Kernel::Buffers(buffers) => named_count(buffers, name),
                    Kernel::FlashAttention(_) => 0,
                };
                format!("{name}: {} -> {}", count(&before.template), count(&after.template))
            }
        };
        match self {
            KernelMove::OptIn => change,
            _ if after.total_bytes == before.total_bytes => format!("saves nothing here: {change}"),
            _ => change,
        }
    }

    fn cost(&self, before: &Worksheet<Kernel>, after: &Worksheet<Kernel>, legal: bool) -> Cost {
        let change = |of: fn(&Worksheet<Kernel>) -> u32| Change {
            before: of(before),
            after: of(after),
        };
        Cost {
            points: if legal {
                self.points(&before.template, &after.template)
            } else {
                0
            },
            traffic_ratio: traffic_ratio(&before.template, &after.template),
            work_ratio: work_ratio(&before.template, &after.template),
            buffers: change(|sheet| sheet.buffers),
            blocks_per_sm: change(|sheet| sheet.occupancy.blocks_per_sm),
            warps_per_sm: change(|sheet| sheet.occupancy.warps_per_sm),
            registers_per_thread: change(|sheet| sheet.registers.math),
            workspace_bytes: None,
            text: if legal {
                self.words(before, after)
            } else {
                String::new()
            },
        }
    }

    /// The cost of a legal move in words.
    fn words(&self, before: &Worksheet<Kernel>, after: &Worksheet<Kernel>) -> String {
        let registers = || {
            let [old, new] = [before.registers.math, after.registers.math];
            format!("about {old} -> {new} registers of a thread")
        };
        let ratio = traffic_ratio(&before.template, &after.template).unwrap_or(1.0);
        match (self, &after.template) {
            (KernelMove::OptIn, _) => "an attribute call before the first launch".into(),
            (KernelMove::DropStage, Kernel::FlashAttention(_)) if after.buffers == 1 => {
                "one of K and V is loaded while the other is multiplied".into()
            }
            (KernelMove::DropStage, _) if after.buffers == 1 => "loading is not hidden at all".into(),
            (KernelMove::DropStage, _) => {
                format!("{} -> {} buffers to hide loading behind", before.buffers, after.buffers)
            }
            (KernelMove::ShareMemory(_), _) => "a barrier between the last read and the first write".into(),
            (KernelMove::HalveKeys, _) => "O is rescaled twice as often, half of the bytes on the way".into(),
            (KernelMove::QueriesToRegisters, _) => {
                format!("{}; the first K waits until Q is read", registers())
            }
            (KernelMove::ProbabilitiesToRegisters, _) => registers(),
            (KernelMove::RecomputeScores, Kernel::FlashAttention(new)) => format!(
                "{} more FLOP for each tile of keys than with one pass, {:.2} x the operations of before; K is loaded \
                 {} times, {ratio:.2} x the loads",
                new.recomputed_flops(),
                work_ratio(&before.template, &after.template),
                new.passes
            ),
            (KernelMove::HalveQueries, _) => format!("{ratio:.2} x loads of K and V"),
            (KernelMove::RecomputeScores | KernelMove::HalveDimension(_), _) => {
                "more iterations; how much more is loaded, the buffers do not say".into()
            }
        }
    }
}

/// Every move of the kernel, tried once from this worksheet, the least invasive first, legal or not. `arch` is the
/// worksheet's architecture.
pub fn kernel_moves(sheet: &Worksheet<Kernel>, arch: &Architecture) -> Vec<Move<Kernel, KernelMove>> {
    let moves = KernelMove::all(&sheet.template);
    moves.iter().map(|kind| kind.attempt(sheet, arch)).collect()
}

/// Bytes that are loaded for each operation of the result, after to before.
fn traffic_ratio(before: &Kernel, after: &Kernel) -> Option<f64> {
    match (before, after) {
        (Kernel::FlashAttention(old), Kernel::FlashAttention(new)) => Some(new.bytes_per_flop() / old.bytes_per_flop()),
        _ => None,
    }
}

/// Operations of one result, after to before.
fn work_ratio(before: &Kernel, after: &Kernel) -> f64 {
    match (before, after) {
        (Kernel::FlashAttention(old), Kernel::FlashAttention(new)) => {
            f64::from(new.passes + 1) / f64::from(old.passes + 1)
        }
        _ => 1.0,
    }
}

/// The buffer whose memory one shares.
fn shared_with<'a>(kernel: &'a Kernel, name: &str) -> &'a str {
    let Kernel::Buffers(Buffers { buffers, .. }) = kernel else {
        return "";
    };
    let buffer = buffers.iter().find(|buffer| buffer.name == name);
    buffer.and_then(|buffer| buffer.over.as_deref()).unwrap_or_default()
}

fn named_count(kernel: &Buffers, name: &str) -> u32 {
    let extents = kernel.buffers.iter().flat_map(|buffer| buffer.extents());
    let named = extents.into_iter().find(|extent| extent.is_named(name));
    named.map_or(0, |extent| extent.count)
}

fn half(count: u32) -> Result<u32, String> {
    match count.is_multiple_of(2) {
        true => Ok(count / 2),
        false => Err(format!("{count} is odd and has no half")),
    }
}

fn dropped(stages: u32) -> Result<u32, String> {
    match stages {
        2.. => Ok(stages - 1),
        _ => Err("the last stage cannot be dropped".into()),
    }
}
