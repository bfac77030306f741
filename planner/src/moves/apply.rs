//! What each move makes of a template, and when it makes nothing.

use core::fmt;

use cuda_arch::Architecture;

use super::MoveKind;
use super::spilling::spill_budget_bytes;
use crate::footprint::Footprint;
use crate::path::Path;
use crate::registers::math_registers;
use crate::rules::{self, Violation};
use crate::template::{Accumulator, Epilogue, EpilogueTile, Shape, Template, TileShape, Widening};

/// Why a move cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It does not apply.
    Nothing(&'static str),
    /// The template afterwards would break a rule.
    Broken(Violation),
    /// Shared memory would grow to so many bytes.
    Raises(u64),
    /// Spilled registers need so many bytes, and the compiler takes at most so many.
    SpillBudget { needed: u64, budget: u64 },
}

impl From<Violation> for Refusal {
    fn from(violation: Violation) -> Self {
        Refusal::Broken(violation)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Nothing(why) => f.write_str(why),
            Refusal::Broken(violation) => violation.fmt(f),
            Refusal::Raises(bytes) => write!(f, "it would raise the total to {bytes} B"),
            Refusal::SpillBudget { needed, budget } => write!(
                f,
                "{needed} B would be spilled, of which ptxas takes {budget} B at most into shared memory at this block \
                 size (static shared memory counts) and the rest into local memory (measured, ptxas 13.0)"
            ),
        }
    }
}

/// What a template takes after a move.
pub(crate) fn apply(
    kind: MoveKind,
    before: &Footprint,
    arch: &Architecture,
    shape: Option<Shape>,
) -> Result<Footprint, Refusal> {
    let template = change(kind, &before.template, arch, shape)?;
    let after = Footprint::new(&template, arch, before.budget.margin_bytes)?;
    if after.total_bytes > before.total_bytes {
        return Err(Refusal::Raises(after.total_bytes));
    }
    Ok(after)
}

fn change(kind: MoveKind, template: &Template, arch: &Architecture, shape: Option<Shape>) -> Result<Template, Refusal> {
    let t = *template;
    match kind {
        MoveKind::OptIn if t.operands_static => Ok(Template {
            operands_static: false,
            ..t
        }),
        MoveKind::OptIn => Err(Refusal::Nothing("the operands are in dynamic shared memory already")),
        MoveKind::DropStage => drop_stage(t),
        MoveKind::ReuseOperands => match t.epilogue {
            Epilogue::Own(tile) => Ok(Template {
                epilogue: Epilogue::Reuse(tile),
                ..t
            }),
            Epilogue::Reuse(_) => Err(Refusal::Nothing("the epilogue lies over the operands' buffers already")),
            Epilogue::Direct => Err(NO_EPILOGUE),
        },
        MoveKind::HalveEpilogue => halve_epilogue(t),
        MoveKind::DirectEpilogue => match t.epilogue {
            Epilogue::Own(_) | Epilogue::Reuse(_) => Ok(Template {
                epilogue: Epilogue::Direct,
                ..t
            }),
            Epilogue::Direct => Err(NO_EPILOGUE),
        },
        MoveKind::HalveK => Ok(Template {
            tile: TileShape {
                k: half(t.tile.k)?,
                ..t.tile
            },
            ..t
        }),
        MoveKind::AccumulatorToRegisters => match t.accumulator {
            Accumulator::SharedMemory => Ok(accumulators_in_registers(t, arch)?),
            Accumulator::Registers => Err(Refusal::Nothing("the accumulators are in registers already")),
            Accumulator::TensorMemory => Err(Refusal::Nothing("the accumulators are in tensor memory")),
        },
        MoveKind::WidenWhileLoading => match t.widening {
            Widening::Staging if t.support(arch)?.widens(t.ty) => Ok(Template {
                widening: Widening::Loading,
                registers_per_thread: None,
                ..t
            }),
            _ => Err(Refusal::Nothing(
                "shared memory holds the elements as they are stored already",
            )),
        },
        MoveKind::HalveLongerSide => halve_side(t, t.tile.n >= t.tile.m, arch),
        MoveKind::HalveShorterSide => halve_side(t, t.tile.n < t.tile.m, arch),
        MoveKind::SplitK => split_k(t, arch, shape),
        MoveKind::SpillRegisters => spill_registers(t, arch),
    }
}

const NO_EPILOGUE: Refusal = Refusal::Nothing("results go straight from registers already");

fn half(extent: u32) -> Result<u32, Refusal> {
    if extent.is_multiple_of(2) {
        Ok(extent / 2)
    } else {
        Err(Refusal::Nothing("an odd extent has no half"))
    }
}

fn drop_stage(t: Template) -> Result<Template, Refusal> {
    let least = t.frontend.stages(1, t.path);
    if t.stages <= least {
        let (fewer, least) = (u64::from(t.stages - 1), u64::from(least));
        return Err(Violation::number(&rules::STAGES, "stages", fewer, Some(least)).into());
    }
    Ok(Template {
        stages: t.stages - 1,
        ..t
    })
}

fn halve_epilogue(t: Template) -> Result<Template, Refusal> {
    /// The widest store of a thread.
    const VECTOR: u64 = 16;
    let tile = t.epilogue.tile().ok_or(NO_EPILOGUE)?;
    let smaller = if tile.buffers > 1 {
        EpilogueTile {
            buffers: tile.buffers.div_ceil(2),
            ..tile
        }
    } else if tile.n >= tile.m {
        EpilogueTile {
            n: half(tile.n)?,
            ..tile
        }
    } else {
        EpilogueTile {
            m: half(tile.m)?,
            ..tile
        }
    };
    let bytes = u64::from(smaller.m) * u64::from(smaller.n) * u64::from(t.output_bytes);
    if bytes < u64::from(t.warps) * 32 * VECTOR {
        return Err(Refusal::Nothing(
            "a smaller piece has less than a 16-byte store for each thread",
        ));
    }
    Ok(Template {
        epilogue: match t.epilogue {
            Epilogue::Reuse(_) => Epilogue::Reuse(smaller),
            Epilogue::Own(_) | Epilogue::Direct => Epilogue::Own(smaller),
        },
        ..t
    })
}

/// Accumulators that were in shared memory in registers, with as many warps as it takes.
fn accumulators_in_registers(t: Template, arch: &Architecture) -> Result<Template, Violation> {
    let with = |warps| Template {
        accumulator: Accumulator::Registers,
        registers_per_thread: None,
        warps,
        ..t
    };
    let refused = match with(t.warps).check(arch) {
        Ok(_) => return Ok(with(t.warps)),
        Err(violation) => violation,
    };
    // A thread's share halves with every doubling.
    (1..=5)
        .map(|doublings| with(t.warps << doublings))
        .find(|template| template.check(arch).is_ok())
        .ok_or(refused)
}

/// Half of n or of m. The warps stay, which halves a thread's accumulators, unless the smaller tile has no equal parts
/// for so many.
fn halve_side(t: Template, along_n: bool, arch: &Architecture) -> Result<Template, Refusal> {
    let tile = if along_n {
        TileShape {
            n: half(t.tile.n)?,
            ..t.tile
        }
    } else {
        TileShape {
            m: half(t.tile.m)?,
            ..t.tile
        }
    };
    // A piece that divided the whole but not the half is as long as twice a divisor of the half.
    let within = |piece: u32, side: u32| if side.is_multiple_of(piece) { piece } else { piece / 2 };
    let piece = |piece: EpilogueTile| EpilogueTile {
        m: within(piece.m, tile.m),
        n: within(piece.n, tile.n),
        ..piece
    };
    let smaller = Template {
        tile,
        epilogue: match t.epilogue {
            Epilogue::Direct => Epilogue::Direct,
            Epilogue::Own(whole) => Epilogue::Own(piece(whole)),
            Epilogue::Reuse(whole) => Epilogue::Reuse(piece(whole)),
        },
        registers_per_thread: None,
        ..t
    };
    let fewest = match t.path {
        Path::Wgmma | Path::Tcgen05 => 4,
        Path::Simt | Path::MmaSync => 1,
    };
    let mut warps = t.warps;
    loop {
        let tried = Template { warps, ..smaller };
        match tried.check(arch) {
            Ok(_) => return Ok(tried),
            Err(violation) if warps / 2 < fewest => return Err(violation.into()),
            Err(_) => warps /= 2,
        }
    }
}

/// Twice as many parts of K. Partial sums go straight to the workspace, in the order in which threads hold them;
/// conversion and what else the epilogue does is done by who adds them up.
fn split_k(t: Template, arch: &Architecture, shape: Option<Shape>) -> Result<Template, Refusal> {
    let split_k = t.split_k.saturating_mul(2);
    if let Some(shape) = shape
        && shape.k.div_ceil(t.tile.k.into()) < u64::from(split_k)
    {
        return Err(Refusal::Nothing("K has fewer steps than that many parts"));
    }
    let t = Template {
        split_k,
        epilogue: Epilogue::Direct,
        ..t
    };
    match t.accumulator {
        // A CTA has as many accumulators as before: a workspace can take over adding up, not the accumulators of one
        // pass.
        Accumulator::SharedMemory => Ok(accumulators_in_registers(t, arch)?),
        Accumulator::Registers | Accumulator::TensorMemory => Ok(t),
    }
}

/// Accumulators into registers, what is beyond a thread's registers back into shared memory.
fn spill_registers(t: Template, arch: &Architecture) -> Result<Template, Refusal> {
    if !t.operands_static {
        return Err(Refusal::Nothing(
            "`enable_smem_spilling` is not allowed for dynamic shared memory (PTX ISA 9.0; an error of ptxas 13.0)",
        ));
    }
    if t.producer_warps > 0 && matches!(t.path, Path::MmaSync | Path::Wgmma) {
        return Err(Refusal::Nothing(
            "`enable_smem_spilling` is not allowed with setmaxnreg, by which warps hand registers over (PTX ISA 9.0; \
             ptxas 13.0 does not notice)",
        ));
    }
    if t.accumulator != Accumulator::SharedMemory {
        return Err(Refusal::Nothing(
            "the kernel could spill into shared memory (whole-program, static memory alone, PTX ISA 8.7 on), but that \
             takes memory and frees none",
        ));
    }
    let wished = Template {
        accumulator: Accumulator::Registers,
        registers_per_thread: None,
        ..t
    };
    let excess = math_registers(&wished).saturating_sub(arch.registers_per_thread);
    if excess == 0 {
        return Err(Refusal::Nothing("the accumulators fit into registers without spilling"));
    }
    let capped = Template {
        registers_per_thread: Some(arch.registers_per_thread),
        ..wished
    };
    let others = Footprint::new(&capped, arch, 0)?.total_bytes;
    let needed = 4 * u64::from(excess) * u64::from(t.threads());
    let budget = spill_budget_bytes(arch, t.threads(), others);
    if needed > budget {
        return Err(Refusal::SpillBudget { needed, budget });
    }
    Ok(Template {
        // At most 48 KiB.
        static_bytes: t.static_bytes.saturating_add(needed as u32),
        ..capped
    })
}
