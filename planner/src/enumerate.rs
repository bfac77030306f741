//! The templates that a selection considers: per path the tiles that its instructions and existing libraries make.

use arrayvec::ArrayVec;
use cuda_arch::Architecture;

use crate::frontend::Frontend;
use crate::gemm_type::GemmType;
use crate::path::Path;
use crate::template::{Epilogue, EpilogueTile, Shape, Template, TileShape};
use crate::tensor_memory;

/// The tiles of a path.
struct Tiles {
    path: Path,
    /// Rows.
    m: &'static [u32],
    /// Columns.
    n: &'static [u32],
    /// Depths, in bytes of the wider operand.
    k_bytes: &'static [u32],
    /// The fewest stages that kernels of this path are built with.
    stages: u32,
    /// The least depth of all stages together, in bytes of the wider operand.
    depth_bytes: u32,
}

/// Every path's tiles.
///
/// Sources: CUTLASS's generator (`python/cutlass_library/generator.py`) for the tensor paths; DeepGEMM's
/// `heuristics/sm90.hpp` for 64 columns and fewer, for a depth of 128 bytes (one row of the widest swizzle) and for the
/// fewest stages: 3 on 9.0, and 4 of 128 bytes below 128 x 192; CUTLASS's `sgemm` and salykova/sgemm.cu for `simt`.
static TILES: [Tiles; 4] = [
    Tiles {
        path: Path::Simt,
        m: &[16, 32, 64, 128, 256],
        n: &[32, 64, 128, 256],
        k_bytes: &[32, 64],
        stages: 2,
        depth_bytes: 0,
    },
    Tiles {
        path: Path::MmaSync,
        m: &[16, 32, 64, 128, 256],
        n: &[16, 32, 64, 128, 192, 256],
        k_bytes: &[64, 128, 256],
        stages: 2,
        depth_bytes: 0,
    },
    Tiles {
        path: Path::Wgmma,
        m: &[64, 128, 256],
        n: &[16, 32, 64, 96, 128, 192, 256],
        k_bytes: &[128, 256],
        stages: 3,
        depth_bytes: 512,
    },
    Tiles {
        path: Path::Tcgen05,
        m: &[64, 128],
        n: &[16, 32, 64, 96, 128, 192, 256],
        k_bytes: &[128, 256],
        stages: 2,
        depth_bytes: 0,
    },
];

/// From this many outputs of a tile on, 9.0 does with the fewest stages alone: DeepGEMM asks for a fourth below 128 x
/// 192.
const LARGE_TILE: u64 = 128 * 192;

/// Clusters of up to 8 CTAs; the larger extent along m first, so that B, the wider operand of most tiles, is shared.
const CLUSTERS: [(u32, u32); 8] = [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 2), (2, 4)];

fn tiles_of(path: Path) -> &'static Tiles {
    // One row a path; a test holds it.
    TILES.iter().find(|tiles| tiles.path == path).unwrap_or(&TILES[0])
}

/// Templates of a path for a type, stages still open, no split, no cluster.
pub(crate) fn templates(arch: &Architecture, path: Path, ty: GemmType) -> impl Iterator<Item = Template> {
    let tiles = tiles_of(path);
    let bits = ty.staged_bits()[0].max(ty.staged_bits()[1]);
    let extents = tiles.k_bytes.iter().flat_map(move |&k| {
        tiles
            .m
            .iter()
            .flat_map(move |&m| tiles.n.iter().map(move |&n| (m, n, k)))
    });
    extents.map(move |(m, n, k_bytes)| {
        let tile = TileShape::new(m, n, k_bytes * 8 / bits);
        let template = Template::on_path(arch, path, ty, tile, 2);
        let through_smem = matches!(path, Path::Wgmma | Path::Tcgen05);
        let template = Template {
            epilogue: if through_smem { epilogue(tile) } else { Epilogue::Direct },
            ..template
        };
        // A second accumulator where tensor memory has room for it.
        let double = Template {
            accumulator_buffers: 2,
            ..template
        };
        match tensor_memory::columns(&double, arch) {
            Some(columns) if columns.fit() => double,
            _ => template,
        }
    })
}

/// CUTLASS's piece of C for a TMA store: up to 128 rows of 32 columns, two of them.
fn epilogue(tile: TileShape) -> Epilogue {
    let n = [32, 16, 8]
        .into_iter()
        .find(|n| tile.n.is_multiple_of(*n))
        .unwrap_or(tile.n);
    Epilogue::Own(EpilogueTile {
        m: tile.m.min(128),
        n,
        buffers: 2,
    })
}

/// The fewest stages, in the frontend's meaning, that a template of this tile is built with.
pub(crate) fn fewest_stages(template: &Template) -> u32 {
    let tiles = tiles_of(template.path);
    let bits = template.ty.staged_bits()[0].max(template.ty.staged_bits()[1]);
    let k_bytes = template.tile.k * bits / 8;
    let buffers = if template.frontend == Frontend::Cutlass {
        // sm90_mma_tma_gmma_ss_warpspecialized.hpp asserts two, and so do the others.
        2
    } else if template.tile.outputs() < LARGE_TILE {
        tiles.stages.max(tiles.depth_bytes.div_ceil(k_bytes.max(1)))
    } else {
        tiles.stages
    };
    template.frontend.stages(buffers, template.path)
}

/// Clusters that a template may have on this architecture for this shape: no wider than the grid.
pub(crate) fn clusters(
    arch: &Architecture,
    template: &Template,
    shape: &Shape,
    allowed: bool,
) -> ArrayVec<(u32, u32), 8> {
    // Multicast belongs to TMA loads; 12.x has none that is worth it.
    let multicast = allowed
        && arch.clusters
        && arch.compute_capability.major < 12
        && matches!(template.path, Path::Wgmma | Path::Tcgen05);
    let most = if multicast { CLUSTERS.len() } else { 1 };
    let tiles_m = shape.m.div_ceil(template.tile.m.into());
    let tiles_n = shape.n.div_ceil(template.tile.n.into());
    CLUSTERS[..most]
        .iter()
        .copied()
        .filter(|&(m, n)| (m == 1 || u64::from(m) <= tiles_m) && (n == 1 || u64::from(n) <= tiles_n))
        .collect()
}

/// Parts that k may be split into, so that each keeps several steps.
pub(crate) fn splits(template: &Template, shape: &Shape, most: u32) -> impl Iterator<Item = u32> {
    /// Steps that a part must keep to be worth its filling.
    const STEPS: u64 = 4;
    let steps = shape.k.div_ceil(template.tile.k.into());
    [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]
        .into_iter()
        .filter(move |&split| split == 1 || (split <= most && u64::from(split) * STEPS <= steps))
}

#[cfg(test)]
mod tests {
    use cuda_arch::ARCHITECTURES;

    use super::*;

    #[test]
    fn every_path_has_one_row() {
        for path in Path::ALL {
            assert_eq!(TILES.iter().filter(|tiles| tiles.path == path).count(), 1, "{path}");
            assert_eq!(tiles_of(path).path, path);
        }
    }

    #[test]
    fn every_tile_of_a_row_is_legal_somewhere() {
        for path in Path::ALL {
            let tiles = tiles_of(path);
            for (&m, &n) in tiles.m.iter().flat_map(|m| tiles.n.iter().map(move |n| (m, n))) {
                let legal = ARCHITECTURES.iter().any(|arch| {
                    GemmType::all().any(|ty| {
                        path.support(arch, ty).is_some()
                            && templates(arch, path, ty).any(|template| {
                                (template.tile.m, template.tile.n) == (m, n) && template.check(arch).is_ok()
                            })
                    })
                });
                // The accumulators of 256 threads at most must leave registers for what is multiplied.
                let most = if path == Path::MmaSync { 256 * 128 } else { 256 * 192 };
                assert_eq!(legal, m * n <= most, "{path} {m}x{n}");
            }
        }
    }

    #[test]
    fn the_fewest_stages_are_those_of_the_sources() {
        let sm_90 = cuda_arch::find("sm_90").expect("in the table");
        let fewest = |m, n, k, frontend| {
            let template = Template::on_path(sm_90, Path::Wgmma, GemmType::Bf16, TileShape::new(m, n, k), 2);
            fewest_stages(&Template { frontend, ..template })
        };
        assert_eq!(fewest(128, 256, 64, Frontend::Deepgemm), 3);
        assert_eq!(fewest(128, 192, 64, Frontend::Deepgemm), 3);
        assert_eq!(fewest(128, 128, 64, Frontend::Deepgemm), 4);
        assert_eq!(fewest(128, 128, 128, Frontend::Deepgemm), 3);
        assert_eq!(fewest(128, 128, 64, Frontend::Cutlass), 2);
    }

    #[test]
    fn clusters_exist_where_multicast_does_and_fit_the_grid() {
        let of = |arch, shape: Shape| {
            let arch = cuda_arch::find(arch).expect("in the table");
            let template = Template::usual(arch, GemmType::Bf16, TileShape::new(128, 128, 64), 3).expect("supported");
            clusters(arch, &template, &shape, true)
        };
        let (m, n, k) = (4096, 4096, 4096);
        assert_eq!(of("sm_90", Shape { m, n, k }).len(), CLUSTERS.len());
        assert_eq!(of("sm_120", Shape { m, n, k }).as_slice(), [(1, 1)]);
        assert_eq!(of("sm_80", Shape { m, n, k }).as_slice(), [(1, 1)]);
        assert_eq!(of("sm_100", Shape { m: 1, n, k }).as_slice(), [(1, 1), (1, 2), (1, 4)]);
    }

    #[test]
    fn parts_of_k_keep_several_steps() {
        let sm_90 = cuda_arch::find("sm_90").expect("in the table");
        let template = Template::usual(sm_90, GemmType::Bf16, TileShape::new(64, 64, 64), 4).expect("supported");
        let of = |k, most| splits(&template, &Shape { m: 64, n: 64, k }, most).last();
        assert_eq!(of(64, 32), Some(1));
        assert_eq!(of(64 * 8, 32), Some(2));
        assert_eq!(of(64 * 1024, 32), Some(32));
        assert_eq!(of(64 * 1024, 6), Some(6));
    }
}
