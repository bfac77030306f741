//! f32 by FMA, whatever the length of rows, for a C of few elements, rows or columns (sliced-K), or a K of few k-tiles.
//!
//! As [`simt_kernels`](super::simt_kernels), for single elements and with more warps for each element of C. The body is
//! [`simt::through_registers`](crate::gemm::simt::through_registers). CTA: the tile's threads. Shared memory:
//! [`BlockTile::bytes`](tilewright_contract::BlockTile::bytes), dynamic.

use cuda_std::kernel;
use tilewright_contract::{BlockTile, GemmParams, tiles};

use crate::block::major::{KMajor, MnMajor};
use crate::gemm::simt::Tile;
use crate::gemm::simt::through_registers::gemm;

macro_rules! tile_types {
    ($($tile:ident)*) => {$(
        struct $tile;

        impl Tile for $tile {
            const TILE: BlockTile = tiles::$tile;
        }
    )*};
}

tile_types! { S32X32 S64X32 S48X64 S64X64 R64X64 }

macro_rules! entry_points {
    ($($symbol:ident: $tile:ident, $a:ident 1, $b:ident 1;)*) => {
        $(
            #[doc = concat!("[`gemm`], `", stringify!($tile), "`, ", stringify!($a), ", ", stringify!($b), ".")]
            ///
            /// # Safety
            /// As for the body: operands as `params` describes them, grid, CTA and dynamic shared memory of the plan.
            #[kernel(max_threads = tiles::$tile.threads(), min_blocks = tiles::$tile.min_blocks)]
            pub unsafe fn $symbol(#[grid_constant] params: &GemmParams<f32>) {
                const M: usize = tiles::$tile.thread_m as usize;
                const N: usize = tiles::$tile.thread_n as usize;
                const ROWS: usize = tiles::$tile.rows_of_slice() as usize;
                // SAFETY: the caller's promise.
                unsafe { gemm::<$tile, $a<1>, $b<1>, M, N, ROWS>(params) }
            }
        )*
    };
}

tilewright_contract::simt_registers_kernels!(entry_points);
