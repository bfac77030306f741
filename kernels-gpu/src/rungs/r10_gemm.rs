//! Rung 10: the whole of a matrix product.
//!
//! The idea, over rung 9: no shape is a special case.
//! - A and B may lie transposed. In shared memory both lie as before, only the copies differ: one entry point a layout.
//! - Several tiles, from 256 x 128 for large products down to those for few rows or few columns. The planner takes the
//!   one that it expects to be fastest.
//! - Where C has fewer tiles than the GPU has multiprocessors, K is cut into slices for blocks of their own; sums meet
//!   in a workspace that L2 holds.
//! - `C = alpha * A * B + beta * C`; with beta 0 C is not read.
//!
//! The body is [`pipeline`](crate::pipeline). Block: the tile's threads. Shared memory:
//! [`BlockTile::bytes`](tilewright_contract::BlockTile::bytes), dynamic.

use cuda_std::kernel;
use tilewright_contract::{BlockTile, GemmCall, tiles};

use crate::pipeline::{AcrossK, AlongTile, Tile, pipeline};
use crate::slices::{Meeting, Results};

macro_rules! entry_points {
    ($($tile:ident, $m:literal x $n:literal, $threads:literal threads, $blocks:literal blocks {
        $($symbol:ident: $layout_a:ty, $layout_b:ty;)*
    })*) => {
        $(
            struct $tile;

            impl Tile for $tile {
                const TILE: BlockTile = tiles::$tile;
            }

            $(
                #[doc = concat!("[`pipeline`] with A laid out as `", stringify!($layout_a), "`, B as `", stringify!($layout_b), "`.")]
                ///
                /// # Safety
                /// As for the body: operands as `call` describes them, grid, block and dynamic shared memory of the
                /// plan.
                #[kernel(max_threads = $threads, min_blocks = $blocks)]
                pub unsafe fn $symbol(
                    a: *const f32,
                    b: *const f32,
                    c: *mut f32,
                    call: GemmCall,
                    workspace: *mut f32,
                    counters: *mut u32,
                ) {
                    let results = Results {
 c,
 meeting: Meeting { workspace, counters },
 };
                    // SAFETY: the caller's promise.
                    unsafe { pipeline::<$tile, $layout_a, $layout_b, $m, $n>(a, b, results, call) }
                }
            )*
        )*

        #[cfg(not(target_arch = "nvptx64"))]
        crate::host::rows! { Call: $($($symbol: f32;)*)* }
    };
}

entry_points! {
    T256X128, 16 x 8, 256 threads, 1 blocks {
        r10_gemm_nn4_256x128_f32: AcrossK, AlongTile<4>;
        r10_gemm_nt_256x128_f32: AcrossK, AcrossK;
        r10_gemm_tn4_256x128_f32: AlongTile<4>, AlongTile<4>;
        r10_gemm_tt4_256x128_f32: AlongTile<4>, AcrossK;
    }
    T128X128, 8 x 8, 256 threads, 2 blocks {
        r10_gemm_nn4_128x128_f32: AcrossK, AlongTile<4>;
        r10_gemm_nt_128x128_f32: AcrossK, AcrossK;
    }
    T128X64, 8 x 8, 128 threads, 3 blocks {
        r10_gemm_nn4_128x64_f32: AcrossK, AlongTile<4>;
        r10_gemm_nt_128x64_f32: AcrossK, AcrossK;
        r10_gemm_tn4_128x64_f32: AlongTile<4>, AlongTile<4>;
        r10_gemm_tt4_128x64_f32: AlongTile<4>, AcrossK;
        r10_gemm_nn_128x64_f32: AcrossK, AlongTile<1>;
        r10_gemm_tn_128x64_f32: AlongTile<1>, AlongTile<1>;
        r10_gemm_tt_128x64_f32: AlongTile<1>, AcrossK;
    }
    T64X64, 8 x 8, 64 threads, 6 blocks {
        r10_gemm_nn4_64x64_f32: AcrossK, AlongTile<4>;
        r10_gemm_nt_64x64_f32: AcrossK, AcrossK;
        r10_gemm_tn4_64x64_f32: AlongTile<4>, AlongTile<4>;
        r10_gemm_tt4_64x64_f32: AlongTile<4>, AcrossK;
        r10_gemm_nn_64x64_f32: AcrossK, AlongTile<1>;
        r10_gemm_tt_64x64_f32: AlongTile<1>, AcrossK;
    }
    T32X128, 4 x 8, 128 threads, 4 blocks {
        r10_gemm_nn4_32x128_f32: AcrossK, AlongTile<4>;
        r10_gemm_nt_32x128_f32: AcrossK, AcrossK;
        r10_gemm_tn4_32x128_f32: AlongTile<4>, AlongTile<4>;
        r10_gemm_tt4_32x128_f32: AlongTile<4>, AcrossK;
        r10_gemm_nn_32x128_f32: AcrossK, AlongTile<1>;
        r10_gemm_tn_32x128_f32: AlongTile<1>, AlongTile<1>;
        r10_gemm_tt_32x128_f32: AlongTile<1>, AcrossK;
    }
    T128X32, 8 x 4, 128 threads, 4 blocks {
        r10_gemm_nn4_128x32_f32: AcrossK, AlongTile<4>;
        r10_gemm_nt_128x32_f32: AcrossK, AcrossK;
        r10_gemm_tn4_128x32_f32: AlongTile<4>, AlongTile<4>;
        r10_gemm_tt4_128x32_f32: AlongTile<4>, AcrossK;
        r10_gemm_nn_128x32_f32: AcrossK, AlongTile<1>;
        r10_gemm_tn_128x32_f32: AlongTile<1>, AlongTile<1>;
    }
    T16X128, 4 x 4, 128 threads, 4 blocks {
        r10_gemm_nn4_16x128_f32: AcrossK, AlongTile<4>;
        r10_gemm_nt_16x128_f32: AcrossK, AcrossK;
        r10_gemm_tn4_16x128_f32: AlongTile<4>, AlongTile<4>;
        r10_gemm_tt4_16x128_f32: AlongTile<4>, AcrossK;
        r10_gemm_nn_16x128_f32: AcrossK, AlongTile<1>;
        r10_gemm_tn_16x128_f32: AlongTile<1>, AlongTile<1>;
        r10_gemm_tt_16x128_f32: AlongTile<1>, AcrossK;
    }
}
