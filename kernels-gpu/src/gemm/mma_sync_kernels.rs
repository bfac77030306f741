//! Tensor cores, a warp at a time. The body is [`mma_sync`]; it says the pseudocode.
//!
//! Elements have 16 bits, and what multiplies is not a thread but a warp. `ldmatrix`
//! loads what each lane must bring to `mma.m16n8k16`, four 8 x 8 matrices an instruction, and an XOR of chunks takes
//! the place of padding: rows of 64 bytes and no bank conflicts. Accumulators are in f32. What follows them is
//! [`epilogue`](crate::block::epilogue): a bias, an activation.
//!
//! Shapes (elements): a warp has 64 x 64 of C, which makes 32 `mma` of 8 `ldmatrix`. Rows of A and B begin at multiples
//! of 16 bytes and end anywhere.
//!
//! Prediction at 4096 cubed on an H200: 400 TFLOP/s. `mma.sync` reaches some 63 % of what `wgmma` does, 620 of 989;
//! what others measured on such chips lies between 300 and 450. Measured: 395 to 412, 0.57 to 0.58 of cuBLAS.

use cuda_std::kernel;
use half::{bf16, f16};
use tilewright_contract::{GemmParams, TensorTile, tensor_tiles};

use crate::gemm::mma_sync::{self, KMajor, MnMajor, Tile};

macro_rules! tile_types {
    ($($tile:ident)*) => {$(
        struct $tile;

        impl Tile for $tile {
            const TILE: TensorTile = tensor_tiles::$tile;
        }
    )*};
}

tile_types! { T128X128 T256X128 }

macro_rules! entry_points {
    ($($symbol:ident: $tile:ident, $element:ty, $a:ident, $b:ident;)*) => {
        $(
            #[doc = concat!(
                "`", stringify!($element), "`, `", stringify!($tile), "`, ", stringify!($a), ", ", stringify!($b), "."
            )]
            ///
            /// # Safety
            /// As for the body: operands as `params` describes them, grid, block and dynamic shared memory
            /// of the plan, no split-K.
            #[kernel(max_threads = tensor_tiles::$tile.threads(), min_blocks = tensor_tiles::$tile.min_blocks)]
            pub unsafe fn $symbol(#[grid_constant] params: &GemmParams<$element>) {
                const M: usize = tensor_tiles::$tile.warp_m as usize / 16;
                const N: usize = tensor_tiles::$tile.warp_n as usize / 8;
                // SAFETY: the caller's promise.
                unsafe { mma_sync::gemm::<$element, $tile, $a, $b, M, N>(params) }
            }
        )*
    };
}

tilewright_contract::mma_sync_kernels!(entry_points);
