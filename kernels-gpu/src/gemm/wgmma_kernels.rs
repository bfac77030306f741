//! Warpgroup MMA and TMA: every layout, several tiles. The body is [`wgmma`](mod@crate::gemm::wgmma).
//!
//! A warpgroup writes its accumulators to shared memory with `stmatrix`, and TMA stores them in whole L2 lines while
//! the next tile is computed. A and B are K-major or MN-major; smaller tiles are for smaller C.
//!
//! Prediction at 4096 cubed on an H200: 720 TFLOP/s, the level of cuBLAS.

use half::{bf16, f16};

use crate::gemm::wgmma::entry_points;

entry_points! { tiles: T128X256 T128X168 T128X192 T128X128 T128X64 T64X128 T64X64 G128X192 G128X128 G64X128 }

tilewright_contract::wgmma_kernels!(entry_points);
