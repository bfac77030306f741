//! NVFP4, MXFP4 and MXFP8 by block-scaled `mma.sync`, for 12.x. The body is [`mma_block_scaled`].
//!
//! Never run on hardware: assembled by `ptxas` for `sm_120a` and `sm_121a`, and simulated.

use cuda_std::kernel;
use half::{bf16, f16};
use tilewright_contract::{BlockScaledParams, BlockScaledTile, GemmParams, block_scaled_tiles};

use crate::gemm::mma_block_scaled::{self, Tile};
use crate::ptx::mma_block_scaled::{Mxfp4, Mxfp8, Nvfp4};
use crate::ptx::tensor_map::TensorMap;

macro_rules! tile_types {
    ($($tile:ident: $format:ident;)*) => {$(
        struct $tile;

        impl Tile for $tile {
            type Format = $format;
            const TILE: BlockScaledTile = block_scaled_tiles::$tile;
        }
    )*};
}

tile_types! {
    NV128X128: Nvfp4;
    NV128X64: Nvfp4;
    NV64X128: Nvfp4;
    NV128X256: Nvfp4;
    NV128X128L2: Nvfp4;
    MX4X128X128: Mxfp4;
    MX8X128X128: Mxfp8;
}

macro_rules! entry_points {
    ($($symbol:ident: $tile:ident, $output:ty;)*) => {
        $(
            #[doc = concat!("`", stringify!($tile), "`, C of `", stringify!($output), "` or f32.")]
            ///
            /// # Safety
            /// As for [the body](mma_block_scaled::gemm): maps of A, B and their scales, C and bias as `params`
            /// describes them, grid, CTA and dynamic shared memory of the plan.
            #[kernel(max_threads = block_scaled_tiles::$tile.threads(), min_blocks = 1)]
            pub unsafe fn $symbol(
                #[grid_constant] params: &GemmParams<$output>,
                #[grid_constant] scaled: &BlockScaledParams,
                #[grid_constant] map_a: &TensorMap,
                #[grid_constant] map_b: &TensorMap,
                #[grid_constant] map_scale_a: &TensorMap,
                #[grid_constant] map_scale_b: &TensorMap,
            ) {
                const M: usize = block_scaled_tiles::$tile.warp_m as usize / 16;
                const N: usize = block_scaled_tiles::$tile.warp_n as usize / 8;
                let maps = [map_a, map_b, map_scale_a, map_scale_b];
                // SAFETY: the caller's promise.
                unsafe { mma_block_scaled::gemm::<$output, $tile, M, N>(params, scaled, maps) }
            }
        )*
    };
}

tilewright_contract::mma_block_scaled_kernels!(entry_points);
