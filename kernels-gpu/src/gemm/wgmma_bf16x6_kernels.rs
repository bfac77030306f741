//! f32 as the sum of three bf16, by warpgroup MMA: six products for one. The body is
//! [`wgmma`](mod@crate::gemm::wgmma).
//!
//! Prediction at 8192 cubed on an H200: 110 TFLOP/s, a sixth of the speed of bf16 less the splitting.

crate::gemm::wgmma::entry_points! { tiles: E128X128 }

macro_rules! entry_points {
    ($($rows:tt)*) => {
        crate::gemm::wgmma::entry_points! { parts: $($rows)* }
    };
}

tilewright_contract::wgmma_bf16x6_kernels!(entry_points);
