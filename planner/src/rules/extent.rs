//! Numbers by themselves: what the planner computes with.

use super::{Rule, Violation};
use crate::template::{Shape, Template};

rule!(
    /// The largest extent that the planner computes with.
    EXTENT,
    "extent",
    "tile extents, parts of K and groups are at most 65536, stages at most 1024, warps and accumulators too, scratch \
     at most 1 MiB a warp",
    "the planner; no SM holds more"
);

rule!(
    /// The widest element of C.
    OUTPUT_BYTES,
    "output-bytes",
    "an element of C has at most 16 bytes",
    "the planner; the widest are complex numbers of two f64"
);

rule!(
    /// The largest extent of a matrix.
    INDEX,
    "index",
    "extents of matrices are at most 2147483647 elements, the kernels' index type",
    "this project's kernels; CUTLASS and cuBLAS take 32-bit extents too"
);

rule!(
    /// Nothing is zero.
    POSITIVE,
    "positive",
    "must be at least 1",
    "the planner"
);

/// Bytes of the widest element of C.
const MOST_OUTPUT_BYTES: u32 = 16;

/// Holds every number by itself against what the planner computes with.
pub(crate) fn check(template: &Template) -> Result<(), Violation> {
    const MIB: u32 = 1 << 20;
    for (what, got, most) in [
        ("tile m", template.tile.m, 1 << 16),
        ("tile n", template.tile.n, 1 << 16),
        ("tile k", template.tile.k, 1 << 16),
        ("stages", template.stages, 1024),
        ("warps", template.warps, 1024),
        ("accumulator buffers", template.accumulator_buffers, 1024),
        ("split k", template.split_k, 1 << 16),
        ("output bytes", template.output_bytes, u32::MAX),
    ] {
        if got == 0 {
            return Err(Violation::number(&POSITIVE, what, 0, Some(1)));
        }
        if got > most {
            return Err(Violation::count(&EXTENT, what, got, most));
        }
    }
    if template.output_bytes > MOST_OUTPUT_BYTES {
        let (got, most) = (template.output_bytes.into(), MOST_OUTPUT_BYTES.into());
        return Err(Violation::number(&OUTPUT_BYTES, "output bytes", got, Some(most)));
    }
    for (what, got, most) in [
        ("producer warps", template.producer_warps, 1024),
        ("groups", template.groups, 1 << 16),
        ("row padding of A", template.row_padding[0], 1 << 16),
        ("row padding of B", template.row_padding[1], 1 << 16),
        ("scratch bytes per warp", template.scratch_per_warp_bytes, MIB),
    ] {
        if got > most {
            return Err(Violation::count(&EXTENT, what, got, most));
        }
    }
    Ok(())
}

/// Holds the extents of a matrix product against the kernels' index type.
pub(crate) fn check_shape(shape: Shape) -> Result<(), Violation> {
    const MOST: u64 = i32::MAX as u64;
    for (what, extent) in named(shape) {
        check_positive(what, extent)?;
        if extent > MOST {
            return Err(Violation::number(&INDEX, what, extent, Some(MOST)));
        }
    }
    Ok(())
}

/// Refuses a matrix product without a single multiplication.
pub(crate) fn check_not_empty(shape: Shape) -> Result<(), Violation> {
    named(shape)
        .into_iter()
        .try_for_each(|(what, extent)| check_positive(what, extent))
}

const fn named(Shape { m, n, k }: Shape) -> [(&'static str, u64); 3] {
    [("m", m), ("n", n), ("k", k)]
}

fn check_positive(what: &'static str, extent: u64) -> Result<(), Violation> {
    match extent {
        0 => Err(Violation::number(&POSITIVE, what, 0, Some(1))),
        _ => Ok(()),
    }
}
