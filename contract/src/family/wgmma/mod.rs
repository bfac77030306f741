//! f16 and bf16 by `wgmma`, with TMA loads into a pipeline of stages (`sm_90a`); f32 as the sum of three bf16.

mod instances;
mod tile;

use crate::dtype::DType;
use crate::family::{Family, dtype, major};
use crate::kernel::{Alignment, Features, Kernel, Loads, MmaPath, Operands, Schedule, SplitK};
use crate::major::Major;
use crate::precision::Precision;
use crate::smem::{EpilogueBuffers, SmemLayout, Storage};
use crate::units::Bytes;
pub use tile::{WgmmaTile, wgmma_tiles};

/// [`WgmmaTile::box_rows`] of a tile of `m x n` in clusters of so many CTAs.
pub(crate) const fn box_rows([m, n]: [u32; 2], cluster: u32, majors: [Major; 2], extents: [u32; 2]) -> [u32; 3] {
    let tile = WgmmaTile {
        m,
        n,
        cluster,
        ..wgmma_tiles::T128X256
    };
    tile.box_rows(majors, extents)
}

macro_rules! rows {
    ($($symbol:ident: $tile:ident, $element:ident, $a:ident, $b:ident;)*) => {
        [$(kernel(stringify!($symbol), wgmma_tiles::$tile, dtype!($element), [major!($a), major!($b)])),*]
    };
}

pub(super) const KERNELS: [Kernel; 64] = crate::wgmma_kernels!(rows);

macro_rules! emulated {
    ($($symbol:ident: $tile:ident, $a:ident, $b:ident;)*) => {
        [$(Kernel {
            family: Family::WGMMA_BF16X6,
            precision: Precision::EmulatedF32,
            ..kernel(stringify!($symbol), wgmma_tiles::$tile, DType::F32, [major!($a), major!($b)])
        }),*]
    };
}

/// Products of f32 by six of bf16.
pub(super) const EMULATED: [Kernel; 4] = crate::wgmma_bf16x6_kernels!(emulated);

const fn kernel(symbol: &'static str, tile: WgmmaTile, dtype: DType, majors: [Major; 2]) -> Kernel {
    Kernel {
        operands: Operands::Matrices(majors),
        // Tensor maps count addresses and leading dimensions in 16 bytes.
        alignment: Alignment::VECTORS_OF_8,
        producer_warps: WgmmaTile::WARPGROUP / 32,
        cluster: tile.cluster,
        schedule: if tile.ping_pong {
            Schedule::PingPong
        } else {
            Schedule::Persistent
        },
        mma: MmaPath::Wgmma,
        loads: Loads::Tma,
        smem: SmemLayout {
            storage: Storage::Dynamic,
            stages: tile.stages,
            a_per_stage: Bytes(tile.a_elems() * WgmmaTile::ELEMENT_BYTES),
            b_per_stage: Bytes(tile.b_elems() * WgmmaTile::ELEMENT_BYTES),
            epilogue: Some(EpilogueBuffers {
                m: tile.m,
                n: tile.c_columns() * WgmmaTile::ELEMENT_BYTES / dtype.size_bytes(),
                buffers: tile.c_subtiles,
            }),
            c: Bytes(tile.c_elems() * WgmmaTile::ELEMENT_BYTES),
            barriers: Bytes(8 * tile.barriers()),
            ..SmemLayout::NONE
        },
        supports: Features {
            alpha_beta: true,
            epilogue: true,
            tma_store: tile.parts == 1,
            batch: !tile.groups,
            groups: tile.groups,
            dependent_launch: true,
            reallocates_registers: tile.reallocates_registers(),
            trimmed_boxes: true,
        },
        split_k: if tile.supports_split_k() {
            Some(SplitK {
                elems_per_tile: tile.m * tile.n,
                counters_per_tile: tile.consumers(),
            })
        } else {
            None
        },
        ..Kernel::plain(
            Family::WGMMA,
            symbol,
            dtype,
            [tile.m, tile.n, WgmmaTile::K],
            tile.threads(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::wgmma_tiles::*;
    use super::*;

    #[test]
    fn the_layout_counts_what_a_block_holds() {
        // (128 + 256) rows of 128 bytes; four of them, 4 epilogue subtiles of 8 KiB, 8 barriers.
        assert_eq!(T128X256.stage_bytes(), Bytes(49_152));
        assert_eq!(T128X256.barriers_at(), Bytes(4 * 49_152 + 4 * 8_192));
        assert_eq!(T128X256.bytes(), Bytes(229_376 + 64));
        assert_eq!((T128X256.threads(), T64X64.threads()), (384, 256));
    }

    #[test]
    fn every_part_begins_at_a_pattern_of_the_swizzle() {
        for tile in [T128X256, T128X192, T128X128, T128X64, T64X128, T64X64] {
            let elems = WgmmaTile::ALIGNMENT.get() / WgmmaTile::ELEMENT_BYTES;
            for part in [
                tile.a_elems(),
                tile.stage_elems(),
                tile.pipeline_elems(),
                tile.c_subtile_elems(),
            ] {
                assert!(part.is_multiple_of(elems), "{tile:?}");
            }
            assert!(tile.barriers_at().get().is_multiple_of(8), "{tile:?}");
        }
    }

    #[test]
    fn boxes_have_the_rows_of_a_swizzle_atom() {
        use Major::{K, Mn};
        const LARGE: [u32; 2] = [1000, 1000];
        let rows = |tile: WgmmaTile, majors, extents| box_rows([tile.m, tile.n], tile.cluster, majors, extents);
        assert_eq!(rows(T128X256, [K, Mn], LARGE), [128, 64, 64]);
        // Each CTA of the cluster loads half of B.
        assert_eq!(rows(T128X256, [K, K], LARGE), [128, 128, 64]);
        assert_eq!(rows(T128X128, [Mn, K], LARGE), [64, 128, 64]);
        // Of 8 rows and 100 columns: all there are, of a K-major operand that no CTA loads for another.
        assert_eq!(rows(T128X128, [K, K], [8, 100]), [8, 100, 64]);
        assert_eq!(rows(T128X128, [Mn, Mn], [8, 100]), [64, 64, 64]);
        assert_eq!(rows(T128X256, [K, K], [8, 100]), [128, 128, 64]);
        assert_eq!(T64X64.loaded_rows([false, true], [64, 5]), [64, 64]);
    }

    #[test]
    fn layouts_carry_what_the_device_code_indexes_with() {
        for kernel in &KERNELS {
            assert!(
                kernel.smem.total().get() > 0 && kernel.tile.k == WgmmaTile::K,
                "{}",
                kernel.symbol
            );
        }
        let large = KERNELS
            .iter()
            .find(|kernel| kernel.symbol == "wgmma_nn_128x256_f16")
            .expect("a row");
        assert_eq!(large.smem.total(), T128X256.bytes());
    }
}
