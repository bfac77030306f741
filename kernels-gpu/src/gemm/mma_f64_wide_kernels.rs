//! f64 on the tensor cores of Hopper, by `mma.sync` of 16 x 8 x 8. The body is [`mma_f64`](mod@crate::gemm::mma_f64);
//! all else is as in `mma_f64_kernels`.

use crate::gemm::mma_f64::entry_points;
use crate::ptx::mma_f64::Wide as Mma;

entry_points! { tiles: T128X128 T64X64 D64X64 T32X32 }

tilewright_contract::mma_f64_wide_kernels!(entry_points);
