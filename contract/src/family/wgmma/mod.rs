//! f16 and bf16 by `wgmma`, with TMA loads into a pipeline of stages (`sm_90a`); f32 as the sum of three bf16, or
//! rounded to tf32.

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

/// [`WgmmaTile::box_rows`] of a kernel with tensor maps.
pub(crate) const fn box_rows(kernel: &Kernel, majors: [Major; 2], extents: [u32; 2]) -> [u32; 3] {
    let Kernel { tile, cluster, .. } = *kernel;
    let is_transposed = kernel.is_transposed;
    let [m, n] = if is_transposed {
        [tile.n, tile.m]
    } else {
        [tile.m, tile.n]
    };
    let tile = WgmmaTile {
        m,
        n,
        cluster,
        k: tile.k,
        element_bytes: kernel.operand_dtype().size_bytes(),
        is_transposed,
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

macro_rules! tf32 {
    ($($symbol:ident: $tile:ident, $a:ident, $b:ident;)*) => {
        [$(Kernel {
            family: Family::WGMMA_TF32,
            precision: Precision::Tf32,
            alignment: Alignment::VECTORS_OF_4,
            // There is none for an M-major A beside an N-major B: one of them has to be transposed.
            may_transpose: match [major!($a), major!($b)] {
                [Major::K, Major::Mn] => [true, false],
                [Major::Mn, Major::K] => [false, true],
                _ => [false; 2],
            },
            ..kernel(stringify!($symbol), wgmma_tiles::$tile, DType::F32, [major!($a), major!($b)])
        }),*]
    };
}

/// Products of f32 that are rounded to tf32.
pub(super) const TF32: [Kernel; 9] = crate::wgmma_tf32_kernels!(tf32);

const fn kernel(symbol: &'static str, tile: WgmmaTile, dtype: DType, majors: [Major; 2]) -> Kernel {
    let [of_a, of_b] = [tile.a_elems() * tile.element_bytes, tile.b_elems() * tile.element_bytes];
    let [m, n] = tile.of_c();
    Kernel {
        operands: Operands::Matrices(majors),
        // Tensor maps count addresses and leading dimensions in 16 bytes.
        alignment: Alignment::VECTORS_OF_8,
        producer_warps: WgmmaTile::WARPGROUP / 32,
        cluster: tile.cluster,
        is_transposed: tile.is_transposed,
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
            a_per_stage: Bytes(if tile.is_transposed { of_b } else { of_a }),
            b_per_stage: Bytes(if tile.is_transposed { of_a } else { of_b }),
            epilogue: if tile.c_subtiles == 0 {
                None
            } else {
                Some(EpilogueBuffers {
                    m: tile.m,
                    n: tile.c_columns() * WgmmaTile::ELEMENT_BYTES / dtype.size_bytes(),
                    buffers: tile.c_subtiles,
                })
            },
            c: Bytes(tile.c_elems() * WgmmaTile::ELEMENT_BYTES),
            barriers: Bytes(8 * tile.barriers()),
            scratch: Bytes(8 * tile.flags()),
            ..SmemLayout::NONE
        },
        supports: Features {
            alpha_beta: true,
            epilogue: true,
            tma_store: tile.c_subtiles > 0 && tile.parts == 1,
            batch: !tile.groups,
            groups: tile.groups,
            dependent_launch: true,
            reallocates_registers: tile.reallocates_registers(),
            trimmed_boxes: true,
        },
        split_k: if tile.supports_split_k() {
            Some(SplitK {
                elems_per_tile: tile.m * tile.n,
                threads: tile.readers() * WgmmaTile::WARPGROUP,
                counters_per_tile: tile.consumers(),
            })
        } else {
            None
        },
        ..Kernel::plain(Family::WGMMA, symbol, dtype, [m, n, tile.k], tile.threads())
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
        let rows = |tile: WgmmaTile, majors, extents| tile.box_rows(majors, extents);
        assert_eq!(rows(T128X256, [K, Mn], LARGE), [128, 64, 64]);
        // Each CTA of the cluster loads half of B.
        assert_eq!(rows(T128X256, [K, K], LARGE), [128, 128, 64]);
        assert_eq!(rows(T128X128, [Mn, K], LARGE), [64, 128, 64]);
        // Of 8 rows and 100 columns: all there are, of a K-major operand that no CTA loads for another.
        assert_eq!(rows(T128X128, [K, K], [8, 100]), [8, 100, 64]);
        assert_eq!(rows(T128X128, [Mn, Mn], [8, 100]), [64, 64, 64]);
        assert_eq!(rows(T128X256, [K, K], [8, 100]), [128, 128, 64]);
        assert_eq!(T64X64.loaded_rows([false, true], [64, 5]), [64, 64]);
        // Of tf32 a swizzle atom has 32. Of the transpose it is A that the CTAs of a cluster share.
        assert_eq!(rows(F128X256, [Mn, K], LARGE), [32, 128, 64]);
        assert_eq!(rows(F256X128, [K, Mn], LARGE), [128, 32, 64]);
        for kernel in KERNELS.iter().chain(&TF32) {
            let Operands::Matrices(majors) = kernel.operands else {
                unreachable!()
            };
            let rows = kernel.box_rows(LARGE);
            assert!(majors[0].is_k() || rows[0] == kernel.tile.k, "{}", kernel.symbol);
            assert!(majors[1].is_k() || rows[1] == kernel.tile.k, "{}", kernel.symbol);
        }
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
