//! What is demanded of the parts of shared memory; how much there may be of it in all is the [budget](crate::budget)'s.

use cuda_arch::Architecture;

use super::{Rule, Violation};
use crate::budget::Budget;
use crate::template::{EpilogueTile, Template};

rule!(
    /// Buffers.
    STAGES,
    "stages",
    "the main loop needs a buffer: at least 1 stage, for Triton's mma.sync kernels 2, of which one lives in registers",
    "CUTLASS StageCount; Triton: num_stages - 1 buffers, (4 - 1) x (128 + 256) x 128 = 147456 B as users report"
);

rule!(
    /// The fewest stages that the selector considers.
    FEWEST_STAGES,
    "fewest_stages",
    "a pipeline needs 2 stages; wgmma kernels are built with at least 3, and with 4 of 128 bytes of k below 128 x 192",
    "DeepGEMM, csrc/jit_kernels/heuristics/sm90.hpp; double buffering elsewhere"
);

rule!(
    /// The epilogue's tile.
    EPILOGUE,
    "epilogue",
    "the epilogue's tile must divide the tile",
    "CUTLASS, epilogue/collective/builders: EpilogueTile"
);

rule!(
    /// Static shared memory.
    STATIC_BYTES,
    "static_bytes",
    "static shared memory is at most 49152 B on every architecture",
    "ptxas 13.0: `uses too much shared data (0x10000 bytes, 0xc000 max)`"
);

rule!(
    /// The safety margin.
    MARGIN,
    "margin",
    "the margin must leave some of the limit",
    "the planner"
);

/// Whether the main loop has a buffer at all.
pub(super) fn check_stages(template: &Template) -> Result<(), Violation> {
    if template.buffers() > 0 {
        return Ok(());
    }
    let least = template.frontend.stages(1, template.path);
    Err(Violation::count(&STAGES, "stages", template.stages, least))
}

/// Whether the epilogue moves equal parts of the tile.
pub(super) fn check_epilogue(template: &Template) -> Result<(), Violation> {
    let Some(EpilogueTile { m, n, buffers }) = template.epilogue.tile() else {
        return Ok(());
    };
    for (what, got, whole) in [("epilogue m", m, template.tile.m), ("epilogue n", n, template.tile.n)] {
        if got == 0 || !whole.is_multiple_of(got) {
            let nearest = (1..=whole)
                .filter(|part| whole.is_multiple_of(*part))
                .min_by_key(|part| part.abs_diff(got));
            return Err(Violation::count(&EPILOGUE, what, got, nearest));
        }
    }
    if !(1..=1024).contains(&buffers) {
        let nearest = buffers.clamp(1, 1024);
        return Err(Violation::count(&EPILOGUE, "epilogue buffers", buffers, nearest));
    }
    Ok(())
}

/// Whether the static part can be assembled.
pub(super) fn check_static_bytes(template: &Template, arch: &Architecture) -> Result<(), Violation> {
    let (got, budget) = (template.static_bytes.into(), Budget::by_default(arch));
    if budget.fits(got) {
        return Ok(());
    }
    let most = budget.usable_bytes();
    Err(Violation::number(&STATIC_BYTES, "static bytes", got, Some(most)))
}

/// The budget with a margin that is to stay free.
pub(crate) fn with_margin(budget: Budget, margin_bytes: u64) -> Result<Budget, Violation> {
    budget.less(margin_bytes).ok_or_else(|| {
        let most = budget.usable_bytes().saturating_sub(1);
        Violation::number(&MARGIN, "margin of bytes", margin_bytes, Some(most))
    })
}
