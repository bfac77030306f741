//! What can give where a template does not fit: one change of a template at a time, with what it frees and what it
//! costs.
//!
//! [`MoveKind::ALL`] is the ladder: the least invasive first. [`moves`] tries each move once from where a worksheet
//! stands; [`fit`](crate::fit()) looks for the least invasive sequence. After every move the worksheet is computed
//! anew: a saving is never assumed. A pipeline whose buffer is loaded once gains nothing by fewer stages
//! (1CatAI/1Cat-vLLM#211).
//!
//! A legal move never raises the total, and what it leads to keeps every rule.

mod apply;
mod cost;
mod describe;
mod spilling;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use cuda_arch::Architecture;
use serde::Serialize;

use crate::template::{Shape, Template};
use crate::worksheet::Worksheet;

pub(crate) use apply::apply;
pub(crate) use cost::points;
pub use cost::{Change, Cost, operand_bytes_per_flop};
pub use spilling::spill_budget_bytes;

/// The kinds of moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveKind {
    /// Operands in dynamic instead of static shared memory: the limit is the opt-in limit then, not 48 KiB.
    OptIn,
    /// One stage less.
    DropStage,
    /// The epilogue's tile lies over the operands' buffers.
    ReuseOperands,
    /// The epilogue moves half as much at a time: half of its buffers, or of the longer side of its tile.
    HalveEpilogue,
    /// Results go straight from registers.
    DirectEpilogue,
    /// Stages of half the depth along K, as many as before.
    HalveK,
    /// Accumulators in registers instead of shared memory, with more warps where a thread would have too many.
    AccumulatorToRegisters,
    /// Narrow elements are widened after they leave shared memory: recomputed by each warp instead of staged once.
    WidenWhileLoading,
    /// Half of the tile's longer side; of equal sides, n.
    HalveLongerSide,
    /// Half of the tile's other side.
    HalveShorterSide,
    /// What is not an operand leaves for the L2 cache: CTAs share K and write partial sums to a workspace.
    SplitK,
    /// Accumulators in registers beyond what a thread has; the compiler spills the rest into shared memory.
    SpillRegisters,
}

impl MoveKind {
    /// The ladder.
    pub const ALL: [MoveKind; 12] = [
        MoveKind::OptIn,
        MoveKind::DropStage,
        MoveKind::ReuseOperands,
        MoveKind::HalveEpilogue,
        MoveKind::DirectEpilogue,
        MoveKind::HalveK,
        MoveKind::AccumulatorToRegisters,
        MoveKind::WidenWhileLoading,
        MoveKind::HalveLongerSide,
        MoveKind::HalveShorterSide,
        MoveKind::SplitK,
        MoveKind::SpillRegisters,
    ];

    /// What reports call it.
    pub const fn name(self) -> &'static str {
        match self {
            MoveKind::OptIn => "opt in to dynamic shared memory",
            MoveKind::DropStage => "drop a stage",
            MoveKind::ReuseOperands => "epilogue over the operands' buffers",
            MoveKind::HalveEpilogue => "halve the epilogue's tile",
            MoveKind::DirectEpilogue => "store results straight from registers",
            MoveKind::HalveK => "halve the depth of a stage",
            MoveKind::AccumulatorToRegisters => "accumulator into registers",
            MoveKind::WidenWhileLoading => "widen while loading",
            MoveKind::HalveLongerSide => "halve the longer tile side",
            MoveKind::HalveShorterSide => "halve the other tile side",
            MoveKind::SplitK => "spill to L2 by split-K",
            MoveKind::SpillRegisters => "spill registers into shared memory",
        }
    }
}

impl fmt::Display for MoveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A move, tried on one worksheet: of a [`Template`], or of another kernel with moves of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Move<T = Template, K = MoveKind> {
    /// Its kind.
    pub kind: K,
    /// The kind's name.
    pub name: &'static str,
    /// The total before.
    pub before_bytes: u64,
    /// The total after; the same where the move is not legal.
    pub after_bytes: u64,
    /// Whether it can be made.
    pub legal: bool,
    /// Whether it fits afterwards, the margin included.
    pub fits: bool,
    /// What it changes, or the rule that forbids it and the rule's source.
    pub reason: String,
    /// What it costs by the model.
    pub cost: Cost,
    /// The kernel afterwards; the one before where the move is not legal.
    pub template: T,
}

impl<T, K> Move<T, K> {
    pub(crate) fn verdict(&self) -> &'static str {
        if self.fits { "fits" } else { "does not fit yet" }
    }
}

impl<T, K> fmt::Display for Move<T, K> {
    /// One line: `drop a stage: 147456 -> 98304 B, fits; 4 -> 3 stages of 49152 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, reason, .. } = self;
        if !self.legal {
            return write!(f, "{name}: not possible; {reason}");
        }
        let (before, after, verdict) = (self.before_bytes, self.after_bytes, self.verdict());
        write!(
            f,
            "{name}: {before} -> {after} B, {verdict}; {reason}; {}",
            self.cost.text
        )
    }
}

/// Every move, tried once from this worksheet, in the ladder's order, legal or not.
///
/// `arch` is the worksheet's architecture. With `shape`, costs are those of this product; without, of large ones.
pub fn moves(sheet: &Worksheet, arch: &Architecture, shape: Option<Shape>) -> Vec<Move> {
    MoveKind::ALL
        .into_iter()
        .map(|kind| describe::attempt(kind, sheet, arch, shape))
        .collect()
}
