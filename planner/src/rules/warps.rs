//! What is demanded of the warps of a CTA, and of the CTAs of a cluster.

use cuda_arch::Architecture;

use super::{Rule, Value, Violation};
use crate::path::Path;
use crate::template::{Template, warp_grid};

/// The most warps of a CTA on every architecture: 1024 threads.
pub(crate) const MOST_WARPS: u32 = 32;

rule!(
    /// A whole number of warps shares the tile.
    WARPS,
    "warps",
    "the warps must divide the tile into equal parts that the instruction can make",
    "PTX ISA 9.0, mma: shapes m16n8k*; m8n8k4 for f64"
);

rule!(
    /// `wgmma` and the epilogue of `tcgen05` work in warpgroups.
    WARPGROUPS,
    "warpgroups",
    "warps must come in groups of 4",
    "PTX ISA 9.0, wgmma.mma_async; tcgen05.ld: a warp reaches a quarter of the lanes"
);

rule!(
    /// No thread without work.
    SIMT_WARPS,
    "simt_warps",
    "a thread without an element of C has nothing to do",
    "the planner"
);

rule!(
    /// The most threads of a CTA.
    THREADS,
    "threads",
    "a block has at most 1024 threads",
    "CUDA Programming Guide, table 30"
);

rule!(
    /// CTAs of a cluster.
    CLUSTER,
    "cluster",
    "clusters exist from 9.0 on, with at most 8 blocks, and kernels for 12.x are built for 1x1 alone",
    "CUDA Programming Guide, thread block clusters; CUTLASS sm120 builders: static_assert cluster shape 1x1x1"
);

/// Whether a CTA may have so many warps.
pub(super) fn check_warps(template: &Template, arch: &Architecture) -> Result<(), Violation> {
    let most = arch.threads_per_block;
    if template.threads() > most {
        return Err(Violation::count(&THREADS, "threads", template.threads(), most));
    }
    if matches!(template.path, Path::Wgmma | Path::Tcgen05) && !template.warps.is_multiple_of(4) {
        let nearest = template.warps.next_multiple_of(4);
        return Err(Violation::count(&WARPGROUPS, "warps", template.warps, nearest));
    }
    Ok(())
}

/// Warps that cannot share the tile; the nearest number that can.
pub(super) fn uneven_warps(template: &Template, group: u32, instruction: [u32; 2]) -> Violation {
    let nearest = (1..=MOST_WARPS / group)
        .filter(|&groups| warp_grid(template.tile, groups, instruction).is_some())
        .map(|groups| groups * group)
        .min_by_key(|&warps| warps.abs_diff(template.warps));
    Violation::count(&WARPS, "warps", template.warps, nearest)
}

/// Whether a cluster may have such extents.
pub(super) fn check_cluster(template: &Template, arch: &Architecture) -> Result<(), Violation> {
    let (m, n) = template.cluster;
    let blocks = u64::from(m) * u64::from(n);
    let most = match (arch.clusters, arch.compute_capability.major) {
        (false, _) | (true, 12) => 1,
        (true, _) => 8,
    };
    if blocks == 0 || blocks > most {
        return Err(Violation {
            rule: &CLUSTER,
            what: "cluster",
            got: Value::Pair(m, n),
            nearest: Some(if most == 1 {
                Value::Pair(1, 1)
            } else {
                Value::Pair(m.clamp(1, 2), n.clamp(1, 4))
            }),
        });
    }
    Ok(())
}
