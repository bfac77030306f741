//! Entry points of the rungs that have this body.

/// For each tile its type, and an entry point for each line: symbol, element, whether A lies across K (is M-major),
/// whether B does (is N-major). `2 x 84 sums`: of a thread, for twice 64 rows. `(no clusters)` is not `(cluster = 1)`:
/// a launch of clusters of one block is one of clusters, and up to a fourth slower (decision 20).
macro_rules! entry_points {
    ($($tile:ident, $threads:literal threads, $blocks:literal blocks, $own:tt, $groups:literal x $sums:literal sums {
        $($symbol:ident: $element:ty, $a_is_m_major:literal, $b_is_n_major:literal;)*
    })*) => {
        $(
            #[allow(non_camel_case_types)]
            struct $tile;

            impl $crate::wgmma::Tile for $tile {
                const TILE: tilewright_contract::WgmmaTile = tilewright_contract::wgmma_tiles::$tile;
            }

            const _: () = assert!(
                tilewright_contract::wgmma_tiles::$tile.threads() == $threads
                    && tilewright_contract::wgmma_tiles::$tile.blocks == $blocks
                    && tilewright_contract::wgmma_tiles::$tile.cluster == $crate::wgmma::entry_points!(@cluster $own)
            );

            $(
                $crate::wgmma::entry_points! {
                    @kernel $own $tile, $threads, $blocks, $groups, $sums, $symbol: $element, $a_is_m_major, $b_is_n_major
                }
            )*
        )*

        #[cfg(not(target_arch = "nvptx64"))]
        $crate::host::rows! { Maps: $($($symbol: $element;)*)* }
    };
    (@cluster (no clusters)) => { 1 };
    (@cluster (cluster = $cluster:literal)) => { $cluster };
    (@kernel (no clusters) $($rest:tt)*) => {
        $crate::wgmma::entry_points! { @kernel () $($rest)* }
    };
    (@kernel ($($own:ident = $cluster:literal)?) $tile:ident, $threads:literal, $blocks:literal, $groups:literal, $sums:literal,
        $symbol:ident: $element:ty, $a_is_m_major:literal, $b_is_n_major:literal) => {
        #[doc = concat!("Elements of `", stringify!($element), "`; A is M-major: ", stringify!($a_is_m_major), ", B is N-major: ", stringify!($b_is_n_major), ".")]
        ///
        /// # Safety
        /// As for [the body](crate::wgmma::product): maps and operands as `call` and `epilogue` describe them, grid,
        /// block and dynamic shared memory of the plan, workspace and counters for its slices.
        #[cuda_std::kernel(max_threads = $threads, min_blocks = $blocks $(, $own = $cluster)?)]
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
            let target = $crate::wgmma::Target {
                map: c_map,
                c,
                call,
                epilogue,
                meeting: $crate::slices::Meeting { workspace, counters },
            };
            // SAFETY: the caller's promise.
            unsafe {
                $crate::wgmma::product::<$element, $tile, $a_is_m_major, $b_is_n_major, $groups, $sums>([a, b], target);
            }
        }
    };
}

pub(crate) use entry_points;
