//! Entry points of the rungs that have this body.

/// A type for each of the tiles that are listed, and an entry point for each row of the list.
macro_rules! entry_points {
    (tiles: $($tile:ident)*) => {$(
        #[allow(non_camel_case_types)]
        struct $tile;

        impl $crate::wgmma::Tile for $tile {
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
            /// As for [the body](crate::wgmma::product): maps and operands as `call` and `epilogue` describe them,
            /// grid, block and dynamic shared memory of the plan, workspace and counters for its splits of K.
            #[cuda_std::kernel(
                max_threads = tilewright_contract::wgmma_tiles::$tile.threads(),
                min_blocks = tilewright_contract::wgmma_tiles::$tile.blocks,
                cluster = tilewright_contract::wgmma_tiles::$tile.cluster_attribute()
            )]
            #[allow(clippy::too_many_arguments)]
            pub unsafe fn $symbol(
                #[grid_constant] a: &$crate::primitives::tensor_map::TensorMap,
                #[grid_constant] b: &$crate::primitives::tensor_map::TensorMap,
                #[grid_constant] c_map: &$crate::primitives::tensor_map::TensorMap,
                c: *mut $element,
                call: tilewright_contract::GemmCall,
                epilogue: tilewright_contract::Epilogue<$element>,
                workspace: *mut f32,
                counters: *mut u32,
            ) {
                const M_TILES: usize = tilewright_contract::wgmma_tiles::$tile.m_tiles_per_warpgroup() as usize;
                const ACCUMULATORS: usize = tilewright_contract::wgmma_tiles::$tile.n as usize / 2;
                let target = $crate::wgmma::Target {
                    map: c_map,
                    c,
                    call,
                    epilogue,
                    meeting: $crate::slices::Meeting { workspace, counters },
                };
                // SAFETY: the caller's promise.
                unsafe {
                    $crate::wgmma::product::<
                        $element,
                        $tile,
                        { $crate::wgmma::entry_points!(@is_mn_major $a) },
                        { $crate::wgmma::entry_points!(@is_mn_major $b) },
                        M_TILES,
                        ACCUMULATORS,
                    >([a, b], target);
                }
            }
        )*

        #[cfg(not(target_arch = "nvptx64"))]
        $crate::host::rows! { Maps: $($symbol: $element;)* }
    };
    (@is_mn_major KMajor) => { false };
    (@is_mn_major MnMajor) => { true };
}

pub(crate) use entry_points;
