//! The usual template of a path: what the fast kernels of existing libraries have where nothing else is asked for.

use cuda_arch::Architecture;

use crate::frontend::Frontend;
use crate::gemm_type::GemmType;
use crate::path::Path;
use crate::rules;
use crate::template::{Accumulator, Epilogue, Template, TileShape, Widening};

impl Template {
    /// The usual template for a tile: the architecture's best path, warps for the tile's size, results stored directly,
    /// no split, no cluster. `None` where the architecture has no instructions for the type.
    pub fn usual(arch: &Architecture, ty: GemmType, tile: TileShape, stages: u32) -> Option<Self> {
        Some(Self::on_path(arch, Path::best(arch, ty)?, ty, tile, stages))
    }

    /// The usual template on a given path.
    pub fn on_path(arch: &Architecture, path: Path, ty: GemmType, tile: TileShape, stages: u32) -> Self {
        let usual = Self {
            ty,
            path,
            tile,
            stages,
            frontend: Frontend::Tilewright,
            warps: usual_warps(path, ty, tile),
            producer_warps: usual_producers(arch, path),
            accumulator: Accumulator::of_path(path),
            accumulator_buffers: 1,
            epilogue: Epilogue::Direct,
            output_bytes: ty.output_bytes(),
            widening: Widening::Loading,
            row_padding: [0; 2],
            cp_async: false,
            scratch_per_warp_bytes: 0,
            static_bytes: 0,
            operands_static: false,
            split_k: 1,
            cluster: (1, 1),
            registers_per_thread: None,
            barriers: 1,
            groups: 0,
        };
        // What another number of warps can mend.
        let of_warps = [
            &rules::WARPS,
            &rules::WGMMA_N,
            &rules::ACCUMULATOR_REGISTERS,
            &rules::BLOCK_REGISTERS,
        ];
        if !matches!(usual.check(arch), Err(broken) if of_warps.contains(&broken.rule)) {
            return usual;
        }
        // Not every tile can be divided among the usual warps: the nearest number that the rules allow, if any is.
        let warps = |warps| Self { warps, ..usual };
        let others = (1..=rules::MOST_WARPS)
            .map(warps)
            .filter(|other| other.check(arch).is_ok());
        others
            .min_by_key(|other| other.warps.abs_diff(usual.warps))
            .unwrap_or(usual)
    }
}

/// Warps as the fast kernels of each path have them.
fn usual_warps(path: Path, ty: GemmType, tile: TileShape) -> u32 {
    match path {
        // 8 x 8 accumulators a thread, 256 threads at most: the configurations that win in f32.
        Path::Simt => (tile.outputs() / (32 * 64)).clamp(1, 8) as u32,
        // CUTLASS: 4 warps up to 128 x 128, 8 above; a warp's tile is at least 16 x 32. Accumulators of 8 bytes count
        // twice.
        Path::MmaSync => match tile.outputs().saturating_mul((ty.accumulator_bytes() / 4).into()) {
            0..1024 => 1,
            1024..4096 => 2,
            4096..32768 => 4,
            _ => 8,
        },
        // A warpgroup for each 64 rows, two at most: more would leave a thread too few registers for its accumulators.
        Path::Wgmma => 4 * (tile.m / 64).clamp(1, 2),
        Path::Tcgen05 => 4,
    }
}

/// One warpgroup copies for `wgmma` and the TMA kernels of `mma.sync`; a warp copies and a warp issues for `tcgen05`.
fn usual_producers(arch: &Architecture, path: Path) -> u32 {
    match path {
        Path::Simt => 0,
        Path::MmaSync if !path.loads_by_tma(arch) => 0,
        Path::MmaSync | Path::Wgmma => 4,
        Path::Tcgen05 => 4,
    }
}
