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

use crate::wgmma::entry_points;

entry_points! { tiles: T128X256 T128X168 T128X192 T128X128 T128X64 T64X128 T64X64 }

tilewright_contract::wgmma_gemm_kernels!(entry_points);
