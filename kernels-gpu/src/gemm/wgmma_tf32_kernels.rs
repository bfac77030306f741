//! f32 rounded to tf32, by warpgroup MMA and TMA, whose loads round. The body is [`wgmma`](mod@crate::gemm::wgmma).
//!
//! Prediction at 4096 and 8192 cubed on an H200: 390 to 400 TFLOP/s, the level of cuBLAS in TF32. For each `wgmma` the
//! bytes from L2 and from shared memory are those of the tile of 128 x 256 in bf16, of which it does half the work in
//! as many cycles.

crate::gemm::wgmma::entry_points! { tiles: F128X256 F256X128 }

macro_rules! entry_points {
    ($($rows:tt)*) => {
        crate::gemm::wgmma::entry_points! { tf32: $($rows)* }
    };
}

tilewright_contract::wgmma_tf32_kernels!(entry_points);
