//! f32 by FMA for K of one or two k-tiles, where the store of C takes the time: rows of any length, C in whole sectors,
//! one product alone.
//!
//! The body is [`simt::sectors`](crate::gemm::simt::sectors). CTA: the tile's threads. Shared memory:
//! [`BlockTile::bytes`](tilewright_contract::BlockTile::bytes), dynamic.

use cuda_std::kernel;
use tilewright_contract::{BlockTile, GemmParams, tiles};

use crate::block::major::{KMajor, MnMajor};
use crate::gemm::simt::Tile;
use crate::gemm::simt::sectors::gemm;

struct W64X128;

impl Tile for W64X128 {
    const TILE: BlockTile = tiles::W64X128;
}

macro_rules! entry_points {
    ($($symbol:ident: $tile:ident, $a:ident 1, $b:ident 1;)*) => {
        $(
            #[doc = concat!("[`gemm`], `", stringify!($tile), "`, ", stringify!($a), ", ", stringify!($b), ".")]
            ///
            /// # Safety
            /// As for the body: operands as `params` describes them, grid, CTA and dynamic shared memory of the plan.
            #[kernel(max_threads = tiles::$tile.threads(), min_blocks = tiles::$tile.min_blocks)]
            pub unsafe fn $symbol(#[grid_constant] params: &GemmParams<f32>) {
                // SAFETY: the caller's promise.
                unsafe { gemm::<$tile, $a<1>, $b<1>>(params) }
            }
        )*
    };
}

tilewright_contract::simt_sectors_kernels!(entry_points);
