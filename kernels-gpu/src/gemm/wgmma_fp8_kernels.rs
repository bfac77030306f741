//! FP8 by `wgmma`, for 9.0. The body is [`wgmma_fp8`].
//!
//! Prediction at 4096 and 8192 cubed on an H200: with one scale each, fast, 1,400 TFLOP/s; promoted 1,250, with scales
//! of blocks 1,200. A warpgroup's four `wgmma` of a k-tile take some 256 clocks of the tensor cores, its promotion 64
//! of the FMA pipe, in which the next k-tile is multiplied.

use cuda_std::kernel;
use half::{bf16, f16};
use tilewright_contract::{Fp8Mode, Fp8Params, GemmParams, WgmmaTile, fp8_tiles};

use crate::gemm::wgmma::{Target, Tile};
use crate::gemm::wgmma_fp8::{self, Fp8Tile};
use crate::ptx::tensor_map::TensorMap;
use crate::ptx::wgmma::{E4m3, E5m2};

macro_rules! entry_points {
    ($($symbol:ident: $tile:ident, $mode:ident, $a:ident, $b:ident, $output:ty;)*) => {
        $(
            #[doc = concat!("`", stringify!($tile), "`, ", stringify!($a), " x ", stringify!($b), ".")]
            #[doc = concat!("C of `", stringify!($output), "` or f32; ", stringify!($mode), ".")]
            ///
            /// # Safety
            /// As for [the body](wgmma_fp8::gemm): maps of A, B, C and the scales of A, C and bias as `params` says;
            /// scales as `scaled` does, grid, CTA and dynamic shared memory of the plan.
            #[kernel(
                max_threads = fp8_tiles::$tile.threads(),
                min_blocks = fp8_tiles::$tile.blocks,
                cluster = fp8_tiles::$tile.cluster_attribute()
            )]
            pub unsafe fn $symbol(
                #[grid_constant] params: &GemmParams<$output>,
                #[grid_constant] scaled: &Fp8Params,
                #[grid_constant] map_a: &TensorMap,
                #[grid_constant] map_b: &TensorMap,
                #[grid_constant] map_c: &TensorMap,
                #[grid_constant] map_scales: &TensorMap,
            ) {
                struct Kernel;

                impl Tile for Kernel {
                    const TILE: WgmmaTile = fp8_tiles::$tile;
                }

                impl Fp8Tile for Kernel {
                    const MODE: Fp8Mode = Fp8Mode::$mode;
                    type A = $a;
                    type B = $b;
                }

                const ACCUMULATORS: usize = fp8_tiles::$tile.n as usize / 2;
                let target = Target { map: map_c, params };
                // SAFETY: the caller's promise.
                unsafe {
                    wgmma_fp8::gemm::<$output, Kernel, ACCUMULATORS>([map_a, map_b, map_c, map_scales], target, scaled);
                }
            }
        )*
    };
}

tilewright_contract::wgmma_fp8_kernels!(entry_points);
