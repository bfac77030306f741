//! f32 by `fma`: the whole of a matrix product, where no shape is a special case.
//!
//! - A and B may lie transposed. In shared memory both lie as before, only the copies differ: one entry point a layout.
//! - Several tiles, from 256 x 128 for large products down to those for few rows or few columns. The planner takes the
//!   one that it expects to be fastest.
//! - Where C has fewer tiles than the GPU has SMs, K is split over more CTAs (split-K), whose accumulators add up
//!   in a workspace that L2 holds.
//! - `C = alpha * A * B + beta * C`; with beta 0 C is not read.
//!
//! The body is [`pipeline`](crate::gemm::simt). CTA: the tile's threads. Shared memory:
//! [`BlockTile::bytes`](tilewright_contract::BlockTile::bytes), dynamic.

use cuda_std::kernel;
use tilewright_contract::{BlockTile, GemmParams, tiles};

use crate::gemm::simt::{KMajor, MnMajor, Tile, pipeline};

macro_rules! tile_types {
    ($($tile:ident)*) => {$(
        struct $tile;

        impl Tile for $tile {
            const TILE: BlockTile = tiles::$tile;
        }
    )*};
}

tile_types! { T256X128 T128X128 T128X64 T64X64 T32X128 T128X32 T16X128 }

macro_rules! entry_points {
    ($($symbol:ident: $tile:ident, $a:ident $a_elems:literal, $b:ident $b_elems:literal;)*) => {
        $(
            #[doc = concat!("[`pipeline`], `", stringify!($tile), "`, ", stringify!($a), ", ", stringify!($b), ".")]
            ///
            /// # Safety
            /// As for the body: operands as `params` describes them, grid, block and dynamic shared memory of the plan.
            #[kernel(max_threads = tiles::$tile.threads(), min_blocks = tiles::$tile.min_blocks)]
            pub unsafe fn $symbol(#[grid_constant] params: &GemmParams<f32>) {
                const M: usize = tiles::$tile.thread_m as usize;
                const N: usize = tiles::$tile.thread_n as usize;
                // SAFETY: the caller's promise.
                unsafe {
                    pipeline::<$tile, entry_points!(@layout $a $a_elems), entry_points!(@layout $b $b_elems), M, N>(
                        params,
                    )
                }
            }
        )*
    };
    (@layout KMajor $elems:literal) => { KMajor };
    (@layout MnMajor $elems:literal) => { MnMajor<$elems> };
}

tilewright_contract::simt_kernels!(entry_points);
