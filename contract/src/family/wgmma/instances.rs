//! The instance lists of the kernels with `wgmma`, one a family.

/// The kernels of [`Family::WGMMA_ONE_STAGE`](crate::Family::WGMMA_ONE_STAGE), as in
/// [`wgmma_gemm_kernels`](crate::wgmma_gemm_kernels).
#[macro_export]
macro_rules! wgmma_one_stage_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            r13_wgmma_nn_128x128_f16: ONE_STAGE_128X128, f16, KMajor, MnMajor;
            r13_wgmma_nn_128x128_bf16: ONE_STAGE_128X128, bf16, KMajor, MnMajor;
        }
    };
}

/// The kernels of [`Family::WGMMA_RING`](crate::Family::WGMMA_RING), as in
/// [`wgmma_gemm_kernels`](crate::wgmma_gemm_kernels).
#[macro_export]
macro_rules! wgmma_ring_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            r14_warp_specialized_nn_128x256_f16: RING_128X256, f16, KMajor, MnMajor;
            r14_warp_specialized_nn_128x256_bf16: RING_128X256, bf16, KMajor, MnMajor;
        }
    };
}

/// The kernels of [`Family::WGMMA_PERSISTENT`](crate::Family::WGMMA_PERSISTENT), as in
/// [`wgmma_gemm_kernels`](crate::wgmma_gemm_kernels).
#[macro_export]
macro_rules! wgmma_persistent_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            r15_persistent_nn_128x256_f16: PERSISTENT_128X256, f16, KMajor, MnMajor;
            r15_persistent_nn_128x256_bf16: PERSISTENT_128X256, bf16, KMajor, MnMajor;
        }
    };
}

/// The kernels of [`Family::WGMMA_CLUSTER`](crate::Family::WGMMA_CLUSTER), as in
/// [`wgmma_gemm_kernels`](crate::wgmma_gemm_kernels).
#[macro_export]
macro_rules! wgmma_cluster_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            r16_cluster_nn_128x256_f16: CLUSTER_128X256, f16, KMajor, MnMajor;
            r16_cluster_nn_128x256_bf16: CLUSTER_128X256, bf16, KMajor, MnMajor;
        }
    };
}

/// The kernels of [`Family::WGMMA`](crate::Family::WGMMA): calls `$callback!` with rows `symbol: tile, element,
/// major of A, of B;`, the largest tile first.
#[macro_export]
macro_rules! wgmma_gemm_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            r17_wgmma_gemm_nn_128x256_f16: T128X256, f16, KMajor, MnMajor;
            r17_wgmma_gemm_nt_128x256_f16: T128X256, f16, KMajor, KMajor;
            r17_wgmma_gemm_tn_128x256_f16: T128X256, f16, MnMajor, MnMajor;
            r17_wgmma_gemm_tt_128x256_f16: T128X256, f16, MnMajor, KMajor;
            r17_wgmma_gemm_nn_128x256_bf16: T128X256, bf16, KMajor, MnMajor;
            r17_wgmma_gemm_nt_128x256_bf16: T128X256, bf16, KMajor, KMajor;
            r17_wgmma_gemm_tn_128x256_bf16: T128X256, bf16, MnMajor, MnMajor;
            r17_wgmma_gemm_tt_128x256_bf16: T128X256, bf16, MnMajor, KMajor;
            r17_wgmma_gemm_nt_128x168_f16: T128X168, f16, KMajor, KMajor;
            r17_wgmma_gemm_tt_128x168_f16: T128X168, f16, MnMajor, KMajor;
            r17_wgmma_gemm_nt_128x168_bf16: T128X168, bf16, KMajor, KMajor;
            r17_wgmma_gemm_tt_128x168_bf16: T128X168, bf16, MnMajor, KMajor;
            r17_wgmma_gemm_nn_128x192_f16: T128X192, f16, KMajor, MnMajor;
            r17_wgmma_gemm_nt_128x192_f16: T128X192, f16, KMajor, KMajor;
            r17_wgmma_gemm_tn_128x192_f16: T128X192, f16, MnMajor, MnMajor;
            r17_wgmma_gemm_tt_128x192_f16: T128X192, f16, MnMajor, KMajor;
            r17_wgmma_gemm_nn_128x192_bf16: T128X192, bf16, KMajor, MnMajor;
            r17_wgmma_gemm_nt_128x192_bf16: T128X192, bf16, KMajor, KMajor;
            r17_wgmma_gemm_tn_128x192_bf16: T128X192, bf16, MnMajor, MnMajor;
            r17_wgmma_gemm_tt_128x192_bf16: T128X192, bf16, MnMajor, KMajor;
            r17_wgmma_gemm_nn_128x128_f16: T128X128, f16, KMajor, MnMajor;
            r17_wgmma_gemm_nt_128x128_f16: T128X128, f16, KMajor, KMajor;
            r17_wgmma_gemm_tn_128x128_f16: T128X128, f16, MnMajor, MnMajor;
            r17_wgmma_gemm_tt_128x128_f16: T128X128, f16, MnMajor, KMajor;
            r17_wgmma_gemm_nn_128x128_bf16: T128X128, bf16, KMajor, MnMajor;
            r17_wgmma_gemm_nt_128x128_bf16: T128X128, bf16, KMajor, KMajor;
            r17_wgmma_gemm_tn_128x128_bf16: T128X128, bf16, MnMajor, MnMajor;
            r17_wgmma_gemm_tt_128x128_bf16: T128X128, bf16, MnMajor, KMajor;
            r17_wgmma_gemm_nn_128x64_f16: T128X64, f16, KMajor, MnMajor;
            r17_wgmma_gemm_nt_128x64_f16: T128X64, f16, KMajor, KMajor;
            r17_wgmma_gemm_tn_128x64_f16: T128X64, f16, MnMajor, MnMajor;
            r17_wgmma_gemm_tt_128x64_f16: T128X64, f16, MnMajor, KMajor;
            r17_wgmma_gemm_nn_128x64_bf16: T128X64, bf16, KMajor, MnMajor;
            r17_wgmma_gemm_nt_128x64_bf16: T128X64, bf16, KMajor, KMajor;
            r17_wgmma_gemm_tn_128x64_bf16: T128X64, bf16, MnMajor, MnMajor;
            r17_wgmma_gemm_tt_128x64_bf16: T128X64, bf16, MnMajor, KMajor;
            r17_wgmma_gemm_nn_64x128_f16: T64X128, f16, KMajor, MnMajor;
            r17_wgmma_gemm_nt_64x128_f16: T64X128, f16, KMajor, KMajor;
            r17_wgmma_gemm_tn_64x128_f16: T64X128, f16, MnMajor, MnMajor;
            r17_wgmma_gemm_tt_64x128_f16: T64X128, f16, MnMajor, KMajor;
            r17_wgmma_gemm_nn_64x128_bf16: T64X128, bf16, KMajor, MnMajor;
            r17_wgmma_gemm_nt_64x128_bf16: T64X128, bf16, KMajor, KMajor;
            r17_wgmma_gemm_tn_64x128_bf16: T64X128, bf16, MnMajor, MnMajor;
            r17_wgmma_gemm_tt_64x128_bf16: T64X128, bf16, MnMajor, KMajor;
            r17_wgmma_gemm_nn_64x64_f16: T64X64, f16, KMajor, MnMajor;
            r17_wgmma_gemm_nt_64x64_f16: T64X64, f16, KMajor, KMajor;
            r17_wgmma_gemm_tn_64x64_f16: T64X64, f16, MnMajor, MnMajor;
            r17_wgmma_gemm_tt_64x64_f16: T64X64, f16, MnMajor, KMajor;
            r17_wgmma_gemm_nn_64x64_bf16: T64X64, bf16, KMajor, MnMajor;
            r17_wgmma_gemm_nt_64x64_bf16: T64X64, bf16, KMajor, KMajor;
            r17_wgmma_gemm_tn_64x64_bf16: T64X64, bf16, MnMajor, MnMajor;
            r17_wgmma_gemm_tt_64x64_bf16: T64X64, bf16, MnMajor, KMajor;
        }
    };
}
