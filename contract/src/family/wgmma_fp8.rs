//! Tiles and kernels of FP8 by `wgmma`, for compute capability 9.0.
//!
//! These kernels are no rows of [`KERNELS`](crate::KERNELS): their operands have scales of their own, and types that
//! differ from each other and from C's, which a [`GemmShape`](crate::GemmShape) of elements does not describe.

use crate::dtype::DType;
use crate::family::wgmma::WgmmaTile;
use crate::fp8::{Fp8, Fp8Scaling};
use crate::smem::{EpilogueBuffers, SmemLayout, Storage};
use crate::units::Bytes;

/// How a kernel adds up along K, and where it applies scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fp8Mode {
    /// The tensor cores accumulate all of K. Scales of rows, or of all, are applied after the last k-tile. The fastest
    /// and the least exact: Hopper keeps some 14 bits where it adds products of FP8 (DeepSeek-V3, arXiv 2412.19437,
    /// section 3.3.2).
    Fast,
    /// Promotion: the accumulators of each k-tile, 128 terms, are added in f32. Scales as with `Fast`.
    Promoted,
    /// Promotion, with a scale for each 128 of a row of A (1x128) and each 128 x 128 of B.
    Blocks,
}

impl Fp8Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Fast, Self::Promoted, Self::Blocks];

    /// The name in kernel symbols: `fast`, `promoted` or `blocks`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Promoted => "promoted",
            Self::Blocks => "blocks",
        }
    }

    /// Whether the accumulators of each k-tile are added in f32.
    pub const fn promotes(self) -> bool {
        !matches!(self, Self::Fast)
    }

    /// Rows whose scales of A a stage has, an f32 each. A TMA load begins at a multiple of 16 bytes, four scales; tiles
    /// of groups begin at any row, so that theirs begins at up to three rows before.
    pub const fn scale_rows(self, tile: WgmmaTile) -> u32 {
        match self {
            Self::Blocks if tile.groups => tile.m + Self::SCALES_PER_UNIT,
            Self::Blocks => tile.m,
            Self::Fast | Self::Promoted => 0,
        }
    }

    /// Scales in 16 bytes, of which a TMA load's first coordinate is a multiple (PTX ISA, "Tensor data movement").
    pub const SCALES_PER_UNIT: u32 = 4;

    /// Bytes of the scales of A of one stage: a multiple of 128, as TMA's destinations are.
    pub const fn scale_bytes(self, tile: WgmmaTile) -> u32 {
        (4 * self.scale_rows(tile)).next_multiple_of(128)
    }

    /// Offset of the scales of A of the first stage, in bytes: after the mbarriers, at a multiple of 128 as TMA loads
    /// ask for.
    ///
    /// ```text
    /// | A_s, B_s of all stages | epilogue subtiles | mbarriers | scales of A of all stages |
    /// ```
    pub const fn scales_at(self, tile: WgmmaTile) -> u32 {
        tile.bytes().get().next_multiple_of(128)
    }

    /// The CTA's dynamic shared memory.
    pub const fn bytes(self, tile: WgmmaTile) -> Bytes {
        match self {
            Self::Blocks => Bytes(self.scales_at(tile) + tile.stages * self.scale_bytes(tile)),
            Self::Fast | Self::Promoted => tile.bytes(),
        }
    }

    /// Whether kernels of this mode take operands with these scalings, of A and of B.
    pub const fn takes(self, [a, b]: [Fp8Scaling; 2]) -> bool {
        match self {
            Self::Fast | Self::Promoted => !a.is_blocked() && !b.is_blocked(),
            Self::Blocks => matches!((a, b), (Fp8Scaling::Rows128, Fp8Scaling::Blocks128)),
        }
    }
}

/// The tiles. BLOCK_K is 128 elements: a row of a swizzle atom, and one interval of promotion.
pub mod fp8_tiles {
    use crate::family::wgmma::{WgmmaTile, wgmma_tiles};

    /// For [`Fast`](super::Fp8Mode::Fast): two CTAs share B by multicast. 4 stages of 48 KiB, 128 accumulators per
    /// thread.
    pub const F128X256: WgmmaTile = WgmmaTile {
        k: WgmmaTile::ROW_BYTES,
        element_bytes: 1,
        ..wgmma_tiles::T128X256
    }
    .checked();

    /// With promotion 64 accumulators per thread, and as many for each of two k-tiles: 5 stages of 32 KiB, and epilogue
    /// subtiles for all of a warpgroup's C, which is stored while the next tile is multiplied.
    pub const F128X128: WgmmaTile = WgmmaTile {
        n: 128,
        stages: 5,
        cluster: 1,
        ..F128X256
    }
    .checked();

    /// For C of few rows: 8 stages of 24 KiB.
    pub const F64X128: WgmmaTile = WgmmaTile {
        m: 64,
        stages: 8,
        ..F128X128
    }
    .checked();

    /// For C of few elements and a long K: as many CTAs as can be. 12 stages of 16 KiB.
    pub const F64X64: WgmmaTile = WgmmaTile {
        n: 64,
        stages: 12,
        c_subtiles: 1,
        ..F64X128
    }
    .checked();

    /// For groups of rows and batches.
    pub const G128X128: WgmmaTile = wgmma_tiles::of_groups(F128X128);

    /// For groups of few rows.
    pub const G64X128: WgmmaTile = wgmma_tiles::of_groups(F64X128);
}

/// A kernel of FP8: `C = activation(alpha A B + beta C + bias)`, where A (m x k) and B (k x n) are FP8 with scales,
/// each as rows along K (A row-major, B transposed), and C is of [`output`](Self::output) or of f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fp8Kernel {
    /// The entry point in PTX.
    pub symbol: &'static str,
    /// The geometry.
    pub tile: WgmmaTile,
    /// Accumulation and scales.
    pub mode: Fp8Mode,
    /// The formats of A and of B.
    pub formats: [Fp8; 2],
    /// The type of the bias, and of C where it is not of f32.
    pub output: DType,
}

impl Fp8Kernel {
    /// The PTX target: `wgmma` exists there alone.
    pub const TARGET: &'static str = "sm_90a";

    /// The kernel of this symbol.
    pub fn named(symbol: &str) -> Option<&'static Self> {
        FP8_KERNELS.iter().find(|kernel| kernel.symbol == symbol)
    }

    /// Whether a device of this compute capability runs these kernels.
    pub const fn runs_on(compute_capability: (u32, u32)) -> bool {
        matches!(compute_capability, (9, 0))
    }

    /// The shared memory of a CTA. Scales of A are its `scratch`, with what aligns them.
    pub const fn smem(&self) -> SmemLayout {
        let tile = self.tile;
        let bytes = self.mode.bytes(tile).get();
        SmemLayout {
            storage: Storage::Dynamic,
            stages: tile.stages,
            a_per_stage: Bytes(tile.a_elems()),
            b_per_stage: Bytes(tile.b_elems()),
            epilogue: Some(EpilogueBuffers {
                m: tile.m,
                n: tile.c_columns(),
                buffers: tile.c_subtiles,
            }),
            c: Bytes(tile.c_elems() * WgmmaTile::ELEMENT_BYTES),
            barriers: Bytes(8 * tile.barriers()),
            scratch: Bytes(bytes - tile.bytes().get()),
            ..SmemLayout::NONE
        }
    }
}

/// The parameters of an FP8 kernel beside [`GemmParams`](crate::GemmParams), whose `a` and `b` it does not read.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fp8Params {
    /// Scales of A and of B. A kernel of [`Fp8Mode::Blocks`] loads those of A by their tensor map.
    pub scales: [*const f32; 2],
    /// From the scale of one row to that of the next: 1, or 0 of one scale for all. Not read with `Blocks`.
    pub row_strides: [u32; 2],
    /// From the scales of 128 columns of B to those of the next 128, with `Blocks`.
    pub block_ld: u32,
}

/// The kernels: calls `$callback!` with rows `symbol: tile, mode, format of A, of B, type of C;`.
#[macro_export]
macro_rules! wgmma_fp8_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            wgmma_fp8_fast_e4m3_e4m3_128x256_bf16: F128X256, Fast, E4m3, E4m3, bf16;
            wgmma_fp8_fast_e4m3_e4m3_128x256_f16: F128X256, Fast, E4m3, E4m3, f16;
            wgmma_fp8_fast_e4m3_e4m3_128x128_bf16: F128X128, Fast, E4m3, E4m3, bf16;
            wgmma_fp8_fast_e4m3_e4m3_64x128_bf16: F64X128, Fast, E4m3, E4m3, bf16;
            wgmma_fp8_fast_e4m3_e5m2_128x128_bf16: F128X128, Fast, E4m3, E5m2, bf16;
            wgmma_fp8_fast_e5m2_e4m3_128x128_bf16: F128X128, Fast, E5m2, E4m3, bf16;
            wgmma_fp8_promoted_e4m3_e4m3_128x128_bf16: F128X128, Promoted, E4m3, E4m3, bf16;
            wgmma_fp8_promoted_e4m3_e4m3_128x128_f16: F128X128, Promoted, E4m3, E4m3, f16;
            wgmma_fp8_promoted_e4m3_e4m3_64x128_bf16: F64X128, Promoted, E4m3, E4m3, bf16;
            wgmma_fp8_promoted_e4m3_e5m2_128x128_bf16: F128X128, Promoted, E4m3, E5m2, bf16;
            wgmma_fp8_promoted_e5m2_e4m3_128x128_bf16: F128X128, Promoted, E5m2, E4m3, bf16;
            wgmma_fp8_promoted_e5m2_e5m2_128x128_bf16: F128X128, Promoted, E5m2, E5m2, bf16;
            wgmma_fp8_blocks_e4m3_e4m3_128x128_bf16: F128X128, Blocks, E4m3, E4m3, bf16;
            wgmma_fp8_blocks_e4m3_e4m3_128x128_f16: F128X128, Blocks, E4m3, E4m3, f16;
            wgmma_fp8_blocks_e4m3_e4m3_64x128_bf16: F64X128, Blocks, E4m3, E4m3, bf16;
            wgmma_fp8_blocks_e4m3_e4m3_64x64_bf16: F64X64, Blocks, E4m3, E4m3, bf16;
            wgmma_fp8_blocks_e4m3_e5m2_128x128_bf16: F128X128, Blocks, E4m3, E5m2, bf16;
            wgmma_fp8_blocks_e5m2_e4m3_128x128_bf16: F128X128, Blocks, E5m2, E4m3, bf16;
            wgmma_fp8_groups_blocks_e4m3_e4m3_128x128_bf16: G128X128, Blocks, E4m3, E4m3, bf16;
            wgmma_fp8_groups_blocks_e4m3_e4m3_64x128_bf16: G64X128, Blocks, E4m3, E4m3, bf16;
        }
    };
}

macro_rules! rows {
    ($($symbol:ident: $tile:ident, $mode:ident, $a:ident, $b:ident, $output:ident;)*) => {
        [$(Fp8Kernel {
            symbol: stringify!($symbol),
            tile: fp8_tiles::$tile,
            mode: Fp8Mode::$mode,
            formats: [Fp8::$a, Fp8::$b],
            output: $crate::family::dtype!($output),
        }),*]
    };
}

/// Every FP8 kernel.
pub static FP8_KERNELS: [Fp8Kernel; 20] = crate::wgmma_fp8_kernels!(rows);

#[cfg(test)]
mod tests {
    use std::format;

    use super::*;

    #[test]
    fn symbols_say_what_the_rows_do() {
        for kernel in &FP8_KERNELS {
            let Fp8Kernel {
                tile,
                mode,
                formats: [a, b],
                output,
                ..
            } = *kernel;
            let groups = if tile.groups { "groups_" } else { "" };
            let symbol = format!(
                "wgmma_fp8_{groups}{}_{a}_{b}_{}x{}_{output}",
                mode.name(),
                tile.m,
                tile.n
            );
            assert_eq!(kernel.symbol, symbol);
            assert_eq!(Fp8Kernel::named(&symbol), Some(kernel));
            assert_eq!(tile.k as usize, Fp8Scaling::BLOCK);
            assert_eq!(kernel.smem().total(), mode.bytes(tile));
        }
    }

    #[test]
    fn budgets_are_those_of_the_arithmetic() {
        use fp8_tiles::*;
        for (tile, mode, stage, scales, total) in [
            (F128X256, Fp8Mode::Fast, 49_152, 0, 4 * 49_152 + 32_768 + 64),
            (F128X128, Fp8Mode::Promoted, 32_768, 0, 5 * 32_768 + 32_768 + 80),
            (F64X128, Fp8Mode::Promoted, 24_576, 0, 8 * 24_576 + 16_384 + 128),
            // 48 bytes align the scales.
            (F128X128, Fp8Mode::Blocks, 32_768, 512, 5 * 33_280 + 32_768 + 80 + 48),
            (F64X128, Fp8Mode::Blocks, 24_576, 256, 8 * 24_832 + 16_384 + 128),
            // 64 bytes.
            (F64X64, Fp8Mode::Blocks, 16_384, 256, 12 * 16_640 + 8_192 + 192 + 64),
            // 132 and 68 scales.
            (G128X128, Fp8Mode::Blocks, 32_768, 640, 5 * 33_408 + 32_768 + 80 + 48),
            (G64X128, Fp8Mode::Blocks, 24_576, 384, 8 * 24_960 + 16_384 + 128),
        ] {
            assert_eq!((tile.stage_bytes().get(), mode.scale_bytes(tile)), (stage, scales));
            assert_eq!(mode.bytes(tile).get(), total);
            assert!(total <= 232_448 && !tile.supports_split_k());
            assert!(mode.scales_at(tile).is_multiple_of(128));
        }
    }

    #[test]
    fn modes_take_the_scales_they_say() {
        use Fp8Scaling::*;
        for mode in Fp8Mode::ALL {
            let blocks = mode == Fp8Mode::Blocks;
            assert_eq!(mode.takes([Rows128, Blocks128]), blocks);
            assert_eq!(mode.takes([Tensor, Rows]), !blocks);
            assert!(!mode.takes([Blocks128, Blocks128]) && !mode.takes([Tensor, Blocks128]));
        }
    }
}
