//! `mma.sync`, a warp at a time. The body is [`mma_sync`].
//!
//! Elements have 16 bits. `ldmatrix` loads the fragments of `mma.m16n8k16`, four 8 x 8 matrices per instruction. A
//! swizzle replaces padding: rows of 64 bytes and no bank conflicts. Accumulators are in f32, then the
//! [`epilogue`](crate::block::epilogue): bias and activation.
//!
//! Shapes (elements): a warp computes 64 x 64 of C, by 32 `mma` and 8 `ldmatrix` per k-block. Rows of A and B start at
//! multiples of 16 bytes and may have any length. Of the kernels with a 1 in their name, which load single elements,
//! they start anywhere, of those with a 2, which load pairs, at even elements. A warp of theirs computes 32 x 32, or
//! 16 x 16, and of those of strips 16 x 128.
//!
//! Prediction at 4096 cubed on an H200: 400 TFLOP/s. `mma.sync` reaches some 63 % of `wgmma`, 620 of 989; others have
//! measured 300 to 450 on such chips. Measured: 395 to 412, 0.57 to 0.58 of cuBLAS.

use cuda_std::kernel;
use half::{bf16, f16};
use tilewright_contract::{GemmParams, TensorTile, tensor_tiles};

use crate::block::major::{KMajor, MnMajor};
use crate::gemm::mma_sync::{self, Tile};

macro_rules! tile_types {
    ($($tile:ident)*) => {$(
        struct $tile;

        impl Tile for $tile {
            const TILE: TensorTile = tensor_tiles::$tile;
        }
    )*};
}

tile_types! { T128X128 T256X128 G128X128 T64X64 T64X64X32 T32X32 P64X64 P32X32 S64X128 PS64X128 }

macro_rules! entry_points {
    ($($symbol:ident: $tile:ident, $element:ty, $a:ident $a_elems:literal, $b:ident $b_elems:literal;)*) => {
        $(
            #[doc = concat!(
                "`", stringify!($element), "`, `", stringify!($tile), "`, ", stringify!($a $a_elems), ", ",
                stringify!($b $b_elems), "."
            )]
            ///
            /// # Safety
            /// As for the body: operands as `params` describes them, grid, CTA, dynamic shared memory and workspace
            /// of the plan.
            #[kernel(max_threads = tensor_tiles::$tile.threads(), min_blocks = tensor_tiles::$tile.min_blocks)]
            pub unsafe fn $symbol(#[grid_constant] params: &GemmParams<$element>) {
                const M: usize = tensor_tiles::$tile.warp_m as usize / 16;
                const N: usize = tensor_tiles::$tile.warp_n as usize / 8;
                // SAFETY: the caller's promise.
                unsafe { mma_sync::gemm::<$element, $tile, $a<$a_elems>, $b<$b_elems>, M, N>(params) }
            }
        )*
    };
}

tilewright_contract::mma_sync_kernels!(entry_points);
