//! Entry points of this body.

/// A type for each tile of a list, and an entry point for each row of the instance list.
macro_rules! entry_points {
    (tiles: $($tile:ident)*) => {$(
        #[allow(non_camel_case_types)]
        struct $tile;

        impl $crate::gemm::wgmma::Tile for $tile {
            const TILE: tilewright_contract::WgmmaTile = tilewright_contract::wgmma_tiles::$tile;
        }
    )*};
    ($($symbol:ident: $tile:ident, $element:ty, $a:ident, $b:ident;)*) => {
        $(
            #[doc = concat!(
                "`", stringify!($element), "`, `", stringify!($tile), "`, ", stringify!($a), ", ", stringify!($b), "."
            )]
            ///
            /// # Safety
            /// As for [the body](crate::gemm::wgmma::gemm): maps and operands as `params` describes them,
            /// grid, CTA and dynamic shared memory of the plan, workspace and counters for its splits of K.
            #[cuda_std::kernel(
                max_threads = tilewright_contract::wgmma_tiles::$tile.threads(),
                min_blocks = tilewright_contract::wgmma_tiles::$tile.blocks,
                cluster = tilewright_contract::wgmma_tiles::$tile.cluster_attribute()
            )]
            pub unsafe fn $symbol(
                #[grid_constant] params: &tilewright_contract::GemmParams<$element>,
                #[grid_constant] map_a: &$crate::ptx::tensor_map::TensorMap,
                #[grid_constant] map_b: &$crate::ptx::tensor_map::TensorMap,
                #[grid_constant] map_c: &$crate::ptx::tensor_map::TensorMap,
            ) {
                const M_TILES: usize = tilewright_contract::wgmma_tiles::$tile.m_tiles_per_warpgroup() as usize;
                const ACCUMULATORS: usize = tilewright_contract::wgmma_tiles::$tile.n as usize / 2;
                // SAFETY: the caller's promise.
                unsafe {
                    $crate::gemm::wgmma::gemm::<
                        $element,
                        $element,
                        $tile,
                        { $crate::gemm::wgmma::entry_points!(@is_mn_major $a) },
                        { $crate::gemm::wgmma::entry_points!(@is_mn_major $b) },
                        M_TILES,
                        ACCUMULATORS,
                    >([map_a, map_b], $crate::gemm::wgmma::Target { map: map_c, params });
                }
            }
        )*
    };
    (parts: $($symbol:ident: $tile:ident, $a:ident, $b:ident;)*) => {
        $(
            #[doc = concat!("f32 in parts, `", stringify!($tile), "`, ", stringify!($a), ", ", stringify!($b), ".")]
            ///
            /// # Safety
            /// As for [the body](crate::gemm::wgmma::gemm): maps and operands as `params` describes them,
            /// grid, CTA and dynamic shared memory of the plan, workspace and counters for its splits of K.
            #[cuda_std::kernel(
                max_threads = tilewright_contract::wgmma_tiles::$tile.threads(),
                min_blocks = tilewright_contract::wgmma_tiles::$tile.blocks,
                cluster = tilewright_contract::wgmma_tiles::$tile.cluster_attribute()
            )]
            pub unsafe fn $symbol(
                #[grid_constant] params: &tilewright_contract::GemmParams<f32>,
                #[grid_constant] map_a: &$crate::ptx::tensor_map::TensorMap,
                #[grid_constant] map_b: &$crate::ptx::tensor_map::TensorMap,
                #[grid_constant] map_c: &$crate::ptx::tensor_map::TensorMap,
            ) {
                const ACCUMULATORS: usize = tilewright_contract::wgmma_tiles::$tile.n as usize / 2;
                // SAFETY: the caller's promise.
                unsafe {
                    $crate::gemm::wgmma::gemm::<
                        half::bf16,
                        f32,
                        $tile,
                        { $crate::gemm::wgmma::entry_points!(@is_mn_major $a) },
                        { $crate::gemm::wgmma::entry_points!(@is_mn_major $b) },
                        1,
                        ACCUMULATORS,
                    >([map_a, map_b], $crate::gemm::wgmma::Target { map: map_c, params });
                }
            }
        )*
    };
    (tf32: $($symbol:ident: $tile:ident, $a:ident, $b:ident;)*) => {
        $(
            #[doc = concat!("f32 as tf32, `", stringify!($tile), "`, ", stringify!($a), ", ", stringify!($b), ".")]
            ///
            /// # Safety
            /// As for [the body](crate::gemm::wgmma::gemm): maps and operands as `params` describes them,
            /// grid, CTA and dynamic shared memory of the plan, workspace and counters for its splits of K.
            #[cuda_std::kernel(
                max_threads = tilewright_contract::wgmma_tiles::$tile.threads(),
                min_blocks = tilewright_contract::wgmma_tiles::$tile.blocks,
                cluster = tilewright_contract::wgmma_tiles::$tile.cluster_attribute()
            )]
            pub unsafe fn $symbol(
                #[grid_constant] params: &tilewright_contract::GemmParams<f32>,
                #[grid_constant] map_a: &$crate::ptx::tensor_map::TensorMap,
                #[grid_constant] map_b: &$crate::ptx::tensor_map::TensorMap,
                #[grid_constant] map_c: &$crate::ptx::tensor_map::TensorMap,
            ) {
                const IS_TRANSPOSED: bool = tilewright_contract::wgmma_tiles::$tile.is_transposed;
                const A_IS_MN_MAJOR: bool = $crate::gemm::wgmma::entry_points!(@is_mn_major $a);
                const B_IS_MN_MAJOR: bool = $crate::gemm::wgmma::entry_points!(@is_mn_major $b);
                const ACCUMULATORS: usize = tilewright_contract::wgmma_tiles::$tile.n as usize / 2;
                // SAFETY: the caller's promise.
                unsafe {
                    $crate::gemm::wgmma::gemm::<
                        f32,
                        f32,
                        $tile,
                        { if IS_TRANSPOSED { B_IS_MN_MAJOR } else { A_IS_MN_MAJOR } },
                        { if IS_TRANSPOSED { A_IS_MN_MAJOR } else { B_IS_MN_MAJOR } },
                        1,
                        ACCUMULATORS,
                    >(
                        if IS_TRANSPOSED { [map_b, map_a] } else { [map_a, map_b] },
                        $crate::gemm::wgmma::Target { map: map_c, params },
                    );
                }
            }
        )*
    };
    (@is_mn_major KMajor) => { false };
    (@is_mn_major MnMajor) => { true };
}

pub(crate) use entry_points;
