//! f64 on tensor cores, by `mma.sync` of 8 x 8 x 4. The body is [`mma_f64`](mod@crate::gemm::mma_f64).
//!
//! A and B are K-major or MN-major. If C has fewer tiles than the GPU has SMs, K is divided among more CTAs of the
//! small tile (split-K). `C = alpha * A * B + beta * C`; with beta 0 C is not read.

use crate::gemm::mma_f64::entry_points;
use crate::ptx::mma_f64::Narrow as Mma;

entry_points! { tiles: T128X128 T64X64 T32X32 }

tilewright_contract::mma_f64_kernels!(entry_points);
