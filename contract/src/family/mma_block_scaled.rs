//! Tiles and kernels of block-scaled `mma.sync` (NVFP4, MXFP4, MXFP8), for GPUs of compute capability 12.x.
//!
//! These kernels are no rows of [`KERNELS`](crate::KERNELS): their operands are bytes with scales of their own, which
//! a [`GemmShape`](crate::GemmShape) of elements does not describe.

use crate::block_scale::{BlockFormat, ScaleLayout};
use crate::dtype::DType;
use crate::family::mma_sync::TensorTile;
use crate::smem::{SmemLayout, Storage};
use crate::units::Bytes;

/// CTA tile and warp tile of a block-scaled kernel.
///
/// A CTA computes `m x n` elements of C in k-tiles of `k`; each consumer warp computes `warp_m x warp_n` of them, and
/// one more warp loads. Shared memory is a pipeline of stages, then their mbarriers:
///
/// ```text
/// | A_s | B_s | scales of A | scales of B |   bytes; `stages` times
/// | full mbarriers | empty mbarriers |
/// ```
///
/// `A_s` and `B_s` have rows of a k-tile, swizzled by their length as TMA does. Scales come in whole tiles of 128 rows
/// ([`ScaleLayout`]), also for an operand tile of 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockScaledTile {
    /// The format of A and B.
    pub format: BlockFormat,
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// BLOCK_K, elements along K of a k-tile.
    pub k: u32,
    /// Rows of C of a warp.
    pub warp_m: u32,
    /// Columns of C of a warp.
    pub warp_n: u32,
    /// Where consumers load scales from.
    pub scales: ScaleSource,
    /// Whether a C of 16 bits goes through the stages, for stores of whole vectors; else from registers.
    pub stages_c: bool,
}

/// Where the scales of a k-tile are when a warp loads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScaleSource {
    /// In the stage, beside A and B.
    Stage,
    /// In global memory, which L2 holds: a stage has none. Less shared memory for a longer latency (the budget guide's
    /// strategy E).
    L2,
}

impl BlockScaledTile {
    /// Bytes along K of a k-tile.
    pub const fn k_bytes(self) -> u32 {
        self.format.bytes(self.k as usize) as u32
    }

    /// `mma.sync` along K of a k-tile.
    pub const fn k_blocks(self) -> u32 {
        self.k / self.format.mma_k()
    }

    /// Consumer warps.
    pub const fn consumer_warps(self) -> u32 {
        (self.m / self.warp_m) * (self.n / self.warp_n)
    }

    /// Threads of a CTA: the consumer warps and the producer warp.
    pub const fn threads(self) -> u32 {
        32 * (self.consumer_warps() + 1)
    }

    /// Bytes of `A_s` in a stage.
    pub const fn a_bytes(self) -> u32 {
        self.m * self.k_bytes()
    }

    /// Bytes of `B_s` in a stage.
    pub const fn b_bytes(self) -> u32 {
        self.n * self.k_bytes()
    }

    /// Tiles of scales along K of a k-tile.
    pub const fn scale_k_tiles(self) -> u32 {
        self.k / self.format.scale_tile_k()
    }

    /// Tiles of scales along the rows of an operand tile with so many rows.
    pub const fn scale_row_tiles(rows: u32) -> u32 {
        rows.div_ceil(ScaleLayout::TILE_ROWS)
    }

    /// Bytes of the scales of an operand tile of so many rows in a stage.
    pub const fn scale_bytes(self, rows: u32) -> u32 {
        match self.scales {
            ScaleSource::Stage => Self::scale_row_tiles(rows) * self.scale_k_tiles() * ScaleLayout::TILE_BYTES,
            ScaleSource::L2 => 0,
        }
    }

    /// Bytes of a stage.
    pub const fn stage_bytes(self) -> u32 {
        self.a_bytes() + self.b_bytes() + self.scale_bytes(self.m) + self.scale_bytes(self.n)
    }

    /// The shared memory of a CTA with so many stages.
    pub const fn smem(self, stages: u32) -> SmemLayout {
        SmemLayout {
            storage: Storage::Dynamic,
            stages,
            a_per_stage: Bytes(self.a_bytes() + self.scale_bytes(self.m)),
            b_per_stage: Bytes(self.b_bytes() + self.scale_bytes(self.n)),
            barriers: Bytes(2 * 8 * stages),
            ..SmemLayout::NONE
        }
    }

    /// The least stages: as many as hold a tile of C, where all of it goes through them, and 16 rows of 32 columns in
    /// f32 for each consumer warp.
    pub const fn least_stages(self) -> u32 {
        let of_warps = self.consumer_warps() * TensorTile::STORE_BYTES;
        let of_tile = match self.stages_c {
            true => self.m * self.n * TensorTile::ELEMENT_BYTES,
            false => 0,
        };
        let bytes = if of_warps > of_tile { of_warps } else { of_tile };
        bytes.div_ceil(self.a_bytes() + self.b_bytes())
    }

    /// The most stages that fit a CTA with so many bytes of shared memory; 0 where not even one does.
    pub const fn most_stages(self, limit: Bytes) -> u32 {
        limit.get() / (self.stage_bytes() + 2 * 8)
    }

    /// The same tile in units of 2 bytes, as `ldmatrix` and the epilogue of [`mma_sync`](super::mma_sync) count.
    pub const fn in_halves(self) -> TensorTile {
        TensorTile {
            m: self.m,
            n: self.n,
            k: self.k_bytes() / 2,
            warp_m: self.warp_m,
            warp_n: self.warp_n,
            stages: self.least_stages(),
            min_blocks: 1,
            groups: false,
            strips: false,
            supports_split_k: false,
        }
    }

    /// Fails to compile where the numbers do not fit each other.
    pub const fn checked(self) -> Self {
        let Self { m, n, k, .. } = self;
        assert!(
            m.is_multiple_of(self.warp_m) && n.is_multiple_of(self.warp_n),
            "whole warps"
        );
        assert!(
            matches!(self.warp_m, 32 | 64) && matches!(self.warp_n, 32 | 64),
            "a lane loads one word or two of scales"
        );
        assert!(
            m.is_multiple_of(64) && n.is_multiple_of(64) && m <= 256 && n <= 256,
            "whole tiles of scales, or halves of one, in one box"
        );
        assert!(k.is_multiple_of(self.format.scale_tile_k()), "whole tiles of scales");
        assert!(
            matches!(self.k_bytes(), 32 | 64 | 128),
            "rows that TMA swizzles by their length"
        );
        assert!(
            // The pattern of rows of 128 bytes repeats after 8 of them, of 64 after 512 bytes, of 32 after 256.
            self.stage_bytes().is_multiple_of(8 * self.k_bytes()) && self.a_bytes().is_multiple_of(1024),
            "every stage begins where the swizzle's pattern does"
        );
        self
    }
}

/// The tiles. Eight consumer warps each; accumulators in registers (the budget guide's strategy B).
pub mod block_scaled_tiles {
    use super::{BlockFormat, BlockScaledTile, ScaleSource};

    /// 18,432 bytes a stage; 64 accumulators a lane.
    pub const NV128X128: BlockScaledTile = BlockScaledTile {
        format: BlockFormat::Nvfp4,
        m: 128,
        n: 128,
        k: 128,
        warp_m: 64,
        warp_n: 32,
        scales: ScaleSource::Stage,
        stages_c: true,
    }
    .checked();

    /// Half as wide (the budget guide's strategy A): 14,336 bytes a stage, 32 accumulators.
    pub const NV128X64: BlockScaledTile = BlockScaledTile {
        n: 64,
        warp_m: 32,
        ..NV128X128
    }
    .checked();

    /// Half as tall, the same.
    pub const NV64X128: BlockScaledTile = BlockScaledTile {
        m: 64,
        warp_m: 32,
        ..NV128X128
    }
    .checked();

    /// The budget guide's example: 13,824 bytes a stage, 128 accumulators a lane. C is stored from registers: a tile
    /// of it has 64 KiB, more than four stages.
    pub const NV128X256: BlockScaledTile = BlockScaledTile {
        n: 256,
        k: 64,
        warp_n: 64,
        stages_c: false,
        ..NV128X128
    }
    .checked();

    /// [`NV128X128`] with its scales in L2 (strategy E): 16,384 bytes a stage, six of them in place of five.
    pub const NV128X128L2: BlockScaledTile = BlockScaledTile {
        scales: ScaleSource::L2,
        ..NV128X128
    }
    .checked();

    /// 17,408 bytes a stage.
    pub const MX4X128X128: BlockScaledTile = BlockScaledTile {
        format: BlockFormat::Mxfp4,
        ..NV128X128
    }
    .checked();

    /// 33,792 bytes a stage: two of them.
    pub const MX8X128X128: BlockScaledTile = BlockScaledTile {
        format: BlockFormat::Mxfp8,
        ..NV128X128
    }
    .checked();
}

/// A block-scaled kernel: `C = activation(alpha A B + beta C + bias)`, where A (m x k) and B (k x n) are block-scaled,
/// each as rows along K (A row-major, B transposed), and C is of [`output`](Self::output) or of f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockScaledKernel {
    /// The entry point in PTX.
    pub symbol: &'static str,
    /// The geometry.
    pub tile: BlockScaledTile,
    /// The type of the bias, and of C where it is not of f32.
    pub output: DType,
}

impl BlockScaledKernel {
    /// The kernel of this symbol.
    pub fn named(symbol: &str) -> Option<&'static Self> {
        BLOCK_SCALED_KERNELS.iter().find(|kernel| kernel.symbol == symbol)
    }

    /// The PTX target: the family of 12.0, which 12.1 belongs to (PTX ISA, ".target").
    pub const TARGET: &'static str = "sm_120f";

    /// Whether a device of this compute capability runs these kernels.
    pub const fn runs_on((major, _): (u32, u32)) -> bool {
        major == 12
    }
}

/// The parameters of a block-scaled kernel beside [`GemmParams`](crate::GemmParams), whose `a` and `b` it does not
/// read.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockScaledParams {
    /// Scales of A and of B, as words of four: [`ScaleLayout`].
    pub scales: [*const u32; 2],
    /// Tiles of scales along K.
    pub scale_k_tiles: u32,
    /// Stages of the pipeline.
    pub stages: u32,
}

/// The kernels: calls `$callback!` with rows `symbol: tile, type of C;`.
#[macro_export]
macro_rules! mma_block_scaled_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            mma_block_scaled_nvfp4_128x128x128_bf16: NV128X128, bf16;
            mma_block_scaled_nvfp4_128x128x128_f16: NV128X128, f16;
            mma_block_scaled_nvfp4_128x64x128_bf16: NV128X64, bf16;
            mma_block_scaled_nvfp4_64x128x128_bf16: NV64X128, bf16;
            mma_block_scaled_nvfp4_128x256x64_bf16: NV128X256, bf16;
            mma_block_scaled_nvfp4_l2_128x128x128_bf16: NV128X128L2, bf16;
            mma_block_scaled_mxfp4_128x128x128_bf16: MX4X128X128, bf16;
            mma_block_scaled_mxfp8_128x128x128_bf16: MX8X128X128, bf16;
        }
    };
}

macro_rules! rows {
    ($($symbol:ident: $tile:ident, $output:ident;)*) => {
        [$(BlockScaledKernel {
            symbol: stringify!($symbol),
            tile: block_scaled_tiles::$tile,
            output: $crate::family::dtype!($output),
        }),*]
    };
}

/// Every block-scaled kernel.
pub static BLOCK_SCALED_KERNELS: [BlockScaledKernel; 8] = crate::mma_block_scaled_kernels!(rows);

#[cfg(test)]
mod tests {
    use super::*;

    /// Shared memory of a CTA on 12.x.
    const LIMIT: Bytes = Bytes(101_376);

    #[test]
    fn the_budgets_are_those_of_the_arithmetic() {
        use block_scaled_tiles::*;
        for (tile, stage, most) in [
            (NV128X128, 8192 + 8192 + 1024 + 1024, 5),
            (NV128X64, 8192 + 4096 + 1024 + 1024, 7),
            (NV64X128, 4096 + 8192 + 1024 + 1024, 7),
            (NV128X256, 4096 + 8192 + 512 + 1024, 7),
            (NV128X128L2, 8192 + 8192, 6),
            (MX4X128X128, 8192 + 8192 + 512 + 512, 5),
            (MX8X128X128, 16_384 + 16_384 + 512 + 512, 2),
        ] {
            assert_eq!((tile.stage_bytes(), tile.most_stages(LIMIT)), (stage, most), "{tile:?}");
            assert_eq!(tile.smem(most).total().get(), most * (stage + 16));
            assert_eq!(tile.consumer_warps(), 8);
        }
    }
}
