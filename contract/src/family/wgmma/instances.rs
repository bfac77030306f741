//! The instance lists of the kernels with `wgmma`.

/// The kernels of [`Family::WGMMA`](crate::Family::WGMMA): calls `$callback!` with rows `symbol: tile, element,
/// major of A, of B;`, the largest tile first.
#[macro_export]
macro_rules! wgmma_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            wgmma_nn_128x256_f16: T128X256, f16, KMajor, MnMajor;
            wgmma_nt_128x256_f16: T128X256, f16, KMajor, KMajor;
            wgmma_tn_128x256_f16: T128X256, f16, MnMajor, MnMajor;
            wgmma_tt_128x256_f16: T128X256, f16, MnMajor, KMajor;
            wgmma_nn_128x256_bf16: T128X256, bf16, KMajor, MnMajor;
            wgmma_nt_128x256_bf16: T128X256, bf16, KMajor, KMajor;
            wgmma_tn_128x256_bf16: T128X256, bf16, MnMajor, MnMajor;
            wgmma_tt_128x256_bf16: T128X256, bf16, MnMajor, KMajor;
            wgmma_nt_128x168_f16: T128X168, f16, KMajor, KMajor;
            wgmma_tt_128x168_f16: T128X168, f16, MnMajor, KMajor;
            wgmma_nt_128x168_bf16: T128X168, bf16, KMajor, KMajor;
            wgmma_tt_128x168_bf16: T128X168, bf16, MnMajor, KMajor;
            wgmma_nn_128x192_f16: T128X192, f16, KMajor, MnMajor;
            wgmma_nt_128x192_f16: T128X192, f16, KMajor, KMajor;
            wgmma_tn_128x192_f16: T128X192, f16, MnMajor, MnMajor;
            wgmma_tt_128x192_f16: T128X192, f16, MnMajor, KMajor;
            wgmma_nn_128x192_bf16: T128X192, bf16, KMajor, MnMajor;
            wgmma_nt_128x192_bf16: T128X192, bf16, KMajor, KMajor;
            wgmma_tn_128x192_bf16: T128X192, bf16, MnMajor, MnMajor;
            wgmma_tt_128x192_bf16: T128X192, bf16, MnMajor, KMajor;
            wgmma_nn_128x128_f16: T128X128, f16, KMajor, MnMajor;
            wgmma_nt_128x128_f16: T128X128, f16, KMajor, KMajor;
            wgmma_tn_128x128_f16: T128X128, f16, MnMajor, MnMajor;
            wgmma_tt_128x128_f16: T128X128, f16, MnMajor, KMajor;
            wgmma_nn_128x128_bf16: T128X128, bf16, KMajor, MnMajor;
            wgmma_nt_128x128_bf16: T128X128, bf16, KMajor, KMajor;
            wgmma_tn_128x128_bf16: T128X128, bf16, MnMajor, MnMajor;
            wgmma_tt_128x128_bf16: T128X128, bf16, MnMajor, KMajor;
            wgmma_nn_128x64_f16: T128X64, f16, KMajor, MnMajor;
            wgmma_nt_128x64_f16: T128X64, f16, KMajor, KMajor;
            wgmma_tn_128x64_f16: T128X64, f16, MnMajor, MnMajor;
            wgmma_tt_128x64_f16: T128X64, f16, MnMajor, KMajor;
            wgmma_nn_128x64_bf16: T128X64, bf16, KMajor, MnMajor;
            wgmma_nt_128x64_bf16: T128X64, bf16, KMajor, KMajor;
            wgmma_tn_128x64_bf16: T128X64, bf16, MnMajor, MnMajor;
            wgmma_tt_128x64_bf16: T128X64, bf16, MnMajor, KMajor;
            wgmma_nn_64x128_f16: T64X128, f16, KMajor, MnMajor;
            wgmma_nt_64x128_f16: T64X128, f16, KMajor, KMajor;
            wgmma_tn_64x128_f16: T64X128, f16, MnMajor, MnMajor;
            wgmma_tt_64x128_f16: T64X128, f16, MnMajor, KMajor;
            wgmma_nn_64x128_bf16: T64X128, bf16, KMajor, MnMajor;
            wgmma_nt_64x128_bf16: T64X128, bf16, KMajor, KMajor;
            wgmma_tn_64x128_bf16: T64X128, bf16, MnMajor, MnMajor;
            wgmma_tt_64x128_bf16: T64X128, bf16, MnMajor, KMajor;
            wgmma_nn_64x64_f16: T64X64, f16, KMajor, MnMajor;
            wgmma_nt_64x64_f16: T64X64, f16, KMajor, KMajor;
            wgmma_tn_64x64_f16: T64X64, f16, MnMajor, MnMajor;
            wgmma_tt_64x64_f16: T64X64, f16, MnMajor, KMajor;
            wgmma_nn_64x64_bf16: T64X64, bf16, KMajor, MnMajor;
            wgmma_nt_64x64_bf16: T64X64, bf16, KMajor, KMajor;
            wgmma_tn_64x64_bf16: T64X64, bf16, MnMajor, MnMajor;
            wgmma_tt_64x64_bf16: T64X64, bf16, MnMajor, KMajor;
            wgmma_groups_nn_128x192_f16: G128X192, f16, KMajor, MnMajor;
            wgmma_groups_nt_128x192_f16: G128X192, f16, KMajor, KMajor;
            wgmma_groups_nn_128x192_bf16: G128X192, bf16, KMajor, MnMajor;
            wgmma_groups_nt_128x192_bf16: G128X192, bf16, KMajor, KMajor;
            wgmma_groups_nn_128x128_f16: G128X128, f16, KMajor, MnMajor;
            wgmma_groups_nt_128x128_f16: G128X128, f16, KMajor, KMajor;
            wgmma_groups_nn_128x128_bf16: G128X128, bf16, KMajor, MnMajor;
            wgmma_groups_nt_128x128_bf16: G128X128, bf16, KMajor, KMajor;
            wgmma_groups_nn_64x128_f16: G64X128, f16, KMajor, MnMajor;
            wgmma_groups_nt_64x128_f16: G64X128, f16, KMajor, KMajor;
            wgmma_groups_nn_64x128_bf16: G64X128, bf16, KMajor, MnMajor;
            wgmma_groups_nt_64x128_bf16: G64X128, bf16, KMajor, KMajor;
        }
    };
}

/// The kernels of [`Family::WGMMA_BF16X6`](crate::Family::WGMMA_BF16X6): calls `$callback!` with rows `symbol: tile,
/// major of A, of B;`.
#[macro_export]
macro_rules! wgmma_bf16x6_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            wgmma_bf16x6_nn_128x128_f32: E128X128, KMajor, MnMajor;
            wgmma_bf16x6_nt_128x128_f32: E128X128, KMajor, KMajor;
            wgmma_bf16x6_tn_128x128_f32: E128X128, MnMajor, MnMajor;
            wgmma_bf16x6_tt_128x128_f32: E128X128, MnMajor, KMajor;
        }
    };
}

/// The kernels of [`Family::WGMMA_TF32`](crate::Family::WGMMA_TF32): calls `$callback!` with rows `symbol: tile, major
/// of A, of B;`. An operand of tf32 in shared memory must be K-major, so M-major A or N-major B comes from registers,
/// and there is no kernel for both.
#[macro_export]
macro_rules! wgmma_tf32_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            wgmma_tf32_nn_256x128_f32: F256X128, KMajor, MnMajor;
            wgmma_tf32_nt_128x256_f32: F128X256, KMajor, KMajor;
            wgmma_tf32_tt_128x256_f32: F128X256, MnMajor, KMajor;
            wgmma_tf32_nn_128x128_f32: F128X128T, KMajor, MnMajor;
            wgmma_tf32_nt_128x128_f32: F128X128, KMajor, KMajor;
            wgmma_tf32_tt_128x128_f32: F128X128, MnMajor, KMajor;
            wgmma_tf32_nn_64x128_f32: F64X128, KMajor, MnMajor;
            wgmma_tf32_nt_128x64_f32: F128X64, KMajor, KMajor;
            wgmma_tf32_tt_128x64_f32: F128X64, MnMajor, KMajor;
        }
    };
}
