//! Rung 17: C by bulk copies, every layout, several tiles.
//!
//! The body is [`wgmma`](mod@crate::wgmma).
//!
//! What changed since rung 16: a warpgroup writes its sums to shared memory with `stmatrix`, and the tensor memory
//! accelerator stores them in whole lines while the next tile is multiplied. And what makes a GEMM of it: A and B of
//! either layout, tiles for smaller C.
//!
//! Prediction at 4096 cubed on an H200: 720 TFLOP/s, the level of cuBLAS.

use half::{bf16, f16};

crate::wgmma::entry_points! {
    T128X256, 384 threads, 1 blocks, (cluster = 2), 1 x 128 sums {
        r17_wgmma_gemm_nn_128x256_f16: f16, false, true;
        r17_wgmma_gemm_nt_128x256_f16: f16, false, false;
        r17_wgmma_gemm_tn_128x256_f16: f16, true, true;
        r17_wgmma_gemm_tt_128x256_f16: f16, true, false;
        r17_wgmma_gemm_nn_128x256_bf16: bf16, false, true;
        r17_wgmma_gemm_nt_128x256_bf16: bf16, false, false;
        r17_wgmma_gemm_tn_128x256_bf16: bf16, true, true;
        r17_wgmma_gemm_tt_128x256_bf16: bf16, true, false;
    }
    T128X168, 384 threads, 1 blocks, (cluster = 2), 2 x 84 sums {
        r17_wgmma_gemm_nt_128x168_f16: f16, false, false;
        r17_wgmma_gemm_tt_128x168_f16: f16, true, false;
        r17_wgmma_gemm_nt_128x168_bf16: bf16, false, false;
        r17_wgmma_gemm_tt_128x168_bf16: bf16, true, false;
    }
    T128X192, 384 threads, 1 blocks, (no clusters), 1 x 96 sums {
        r17_wgmma_gemm_nn_128x192_f16: f16, false, true;
        r17_wgmma_gemm_nt_128x192_f16: f16, false, false;
        r17_wgmma_gemm_tn_128x192_f16: f16, true, true;
        r17_wgmma_gemm_tt_128x192_f16: f16, true, false;
        r17_wgmma_gemm_nn_128x192_bf16: bf16, false, true;
        r17_wgmma_gemm_nt_128x192_bf16: bf16, false, false;
        r17_wgmma_gemm_tn_128x192_bf16: bf16, true, true;
        r17_wgmma_gemm_tt_128x192_bf16: bf16, true, false;
    }
    T128X128, 384 threads, 1 blocks, (no clusters), 1 x 64 sums {
        r17_wgmma_gemm_nn_128x128_f16: f16, false, true;
        r17_wgmma_gemm_nt_128x128_f16: f16, false, false;
        r17_wgmma_gemm_tn_128x128_f16: f16, true, true;
        r17_wgmma_gemm_tt_128x128_f16: f16, true, false;
        r17_wgmma_gemm_nn_128x128_bf16: bf16, false, true;
        r17_wgmma_gemm_nt_128x128_bf16: bf16, false, false;
        r17_wgmma_gemm_tn_128x128_bf16: bf16, true, true;
        r17_wgmma_gemm_tt_128x128_bf16: bf16, true, false;
    }
    T128X64, 384 threads, 1 blocks, (no clusters), 1 x 32 sums {
        r17_wgmma_gemm_nn_128x64_f16: f16, false, true;
        r17_wgmma_gemm_nt_128x64_f16: f16, false, false;
        r17_wgmma_gemm_tn_128x64_f16: f16, true, true;
        r17_wgmma_gemm_tt_128x64_f16: f16, true, false;
        r17_wgmma_gemm_nn_128x64_bf16: bf16, false, true;
        r17_wgmma_gemm_nt_128x64_bf16: bf16, false, false;
        r17_wgmma_gemm_tn_128x64_bf16: bf16, true, true;
        r17_wgmma_gemm_tt_128x64_bf16: bf16, true, false;
    }
    T64X128, 256 threads, 1 blocks, (no clusters), 1 x 64 sums {
        r17_wgmma_gemm_nn_64x128_f16: f16, false, true;
        r17_wgmma_gemm_nt_64x128_f16: f16, false, false;
        r17_wgmma_gemm_tn_64x128_f16: f16, true, true;
        r17_wgmma_gemm_tt_64x128_f16: f16, true, false;
        r17_wgmma_gemm_nn_64x128_bf16: bf16, false, true;
        r17_wgmma_gemm_nt_64x128_bf16: bf16, false, false;
        r17_wgmma_gemm_tn_64x128_bf16: bf16, true, true;
        r17_wgmma_gemm_tt_64x128_bf16: bf16, true, false;
    }
    T64X64, 256 threads, 1 blocks, (no clusters), 1 x 32 sums {
        r17_wgmma_gemm_nn_64x64_f16: f16, false, true;
        r17_wgmma_gemm_nt_64x64_f16: f16, false, false;
        r17_wgmma_gemm_tn_64x64_f16: f16, true, true;
        r17_wgmma_gemm_tt_64x64_f16: f16, true, false;
        r17_wgmma_gemm_nn_64x64_bf16: bf16, false, true;
        r17_wgmma_gemm_nt_64x64_bf16: bf16, false, false;
        r17_wgmma_gemm_tn_64x64_bf16: bf16, true, true;
        r17_wgmma_gemm_tt_64x64_bf16: bf16, true, false;
    }
}
