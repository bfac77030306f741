//! f32 by FMA, for every shape.
//!
//! - A and B are K-major or MN-major. Only their loads differ, not the stages: one kernel instance per layout.
//! - Several tiles, from 256 x 128 for large C down to those for few rows or few columns. The planner picks the one
//!   that it expects to be fastest.
//! - If C has fewer tiles than the GPU has SMs, K is divided among more CTAs (split-K).
//! - `C = alpha * A * B + beta * C`; with beta 0 C is not read.
//!
//! The body is [`simt`](crate::gemm::simt). CTA: the tile's threads. Shared memory:
//! [`BlockTile::bytes`](tilewright_contract::BlockTile::bytes), dynamic.

use cuda_std::kernel;
use tilewright_contract::{BlockTile, GemmParams, tiles};

use crate::block::major::{KMajor, MnMajor};
use crate::gemm::simt::{Tile, gemm};

macro_rules! tile_types {
    ($($tile:ident)*) => {$(
        struct $tile;

        impl Tile for $tile {
            const TILE: BlockTile = tiles::$tile;
        }
    )*};
}

tile_types! { T256X128 T128X128 T128X64 T64X128 T64X64 T32X128 T128X32 T16X128 T32X32 G128X128 G64X64 G32X128 }

macro_rules! entry_points {
    ($($symbol:ident: $tile:ident, $a:ident $a_elems:literal, $b:ident $b_elems:literal;)*) => {
        $(
            #[doc = concat!("[`gemm`], `", stringify!($tile), "`, ", stringify!($a), ", ", stringify!($b), ".")]
            ///
            /// # Safety
            /// As for the body: operands as `params` describes them, grid, CTA and dynamic shared memory of the plan.
            #[kernel(max_threads = tiles::$tile.threads(), min_blocks = tiles::$tile.min_blocks)]
            pub unsafe fn $symbol(#[grid_constant] params: &GemmParams<f32>) {
                const M: usize = tiles::$tile.thread_m as usize;
                const N: usize = tiles::$tile.thread_n as usize;
                // SAFETY: the caller's promise.
                unsafe { gemm::<$tile, $a<$a_elems>, $b<$b_elems>, M, N>(params) }
            }
        )*
    };
}

tilewright_contract::simt_kernels!(entry_points);
