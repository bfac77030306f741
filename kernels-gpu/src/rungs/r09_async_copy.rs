//! Rung 9: asynchronous copies into a ring of stages.
//!
//! The idea, over rung 8: `cp.async` copies from global to shared memory without a register in between, and goes on
//! while the thread multiplies. So several steps along K can be under way at once, in a ring of stages in shared
//! memory: 75,264 bytes here, which only a dynamic allocation that opts in above 48 KiB can have. A thread has 16 x 8
//! sums, 128 of its 255 registers. Blocks go through C in groups of rows, so that those which run at the same time
//! share what L2 holds. The body is [`pipeline`](crate::pipeline).
//!
//! Two entry points: B copied in vectors of 4 elements, where its rows allow it, or one by one.
//!
//! Block: 256 threads. Shared memory: [`BlockTile::bytes`](tilewright_contract::BlockTile::bytes), dynamic.

use cuda_std::kernel;
use tilewright_contract::{BlockTile, GemmParams, tiles};

use crate::pipeline::{AcrossK, AlongTile, Tile, pipeline};

struct T256x128;

impl Tile for T256x128 {
    const TILE: BlockTile = tiles::T256X128;
}

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
                    pipeline::<T256x128, entry_points!(@layout $a $a_elems), entry_points!(@layout $b $b_elems), M, N>(
                        params,
                    )
                }
            }
        )*
    };
    (@layout KMajor $elems:literal) => { AcrossK };
    (@layout MnMajor $elems:literal) => { AlongTile<$elems> };
}

tilewright_contract::async_copy_kernels!(entry_points);
