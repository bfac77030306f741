//! f32 rounded to tf32, by warpgroup MMA and TMA, whose loads round. The body is [`wgmma`](mod@crate::gemm::wgmma).
//!
//! Prediction at 4096 and 8192 cubed on an H200: 390 to 400 TFLOP/s, the level of cuBLAS in TF32. For each `wgmma` the
//! bytes from L2 and from shared memory are those of the tile of 128 x 256 in bf16, of which it does half the work in
//! as many cycles. At 1024 cubed 128 CTAs of 128 x 64: 14 to 16 us in place of 23 with 32 large tiles.

crate::gemm::wgmma::entry_points! { tiles: F128X256 F256X128 F128X128 F128X128T F128X64 F64X128 }

macro_rules! entry_points {
    ($($rows:tt)*) => {
        crate::gemm::wgmma::entry_points! { tf32: $($rows)* }
    };
}

tilewright_contract::wgmma_tf32_kernels!(entry_points);
