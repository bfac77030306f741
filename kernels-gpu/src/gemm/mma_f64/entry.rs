//! Entry points of this body.

/// A type for each tile of a list, and an entry point for each row of an instance list; `Mma` is the instruction.
macro_rules! entry_points {
    (tiles: $($tile:ident)*) => {$(
        struct $tile;

        impl $crate::gemm::mma_f64::Tile for $tile {
            const TILE: tilewright_contract::F64Tile = tilewright_contract::f64_tiles::$tile;
        }
    )*};
    ($($symbol:ident: $tile:ident, $a:ident $a_elems:literal, $b:ident $b_elems:literal;)*) => {
        $(
            #[doc = concat!("`", stringify!($tile), "`, ", stringify!($a), ", ", stringify!($b), ".")]
            ///
            /// # Safety
            /// As for [the body](crate::gemm::mma_f64::gemm): operands as `params` describes them, grid, CTA and
            /// dynamic shared memory of the plan.
            #[cuda_std::kernel(
                max_threads = tilewright_contract::f64_tiles::$tile.threads(),
                min_blocks = tilewright_contract::f64_tiles::$tile.min_blocks
            )]
            pub unsafe fn $symbol(#[grid_constant] params: &tilewright_contract::GemmParams<f64>) {
                use $crate::block::major::{$a as A, $b as B};
                const M: usize = tilewright_contract::f64_tiles::$tile.warp_m as usize / 16;
                const N: usize = tilewright_contract::f64_tiles::$tile.warp_n as usize / 8;
                // SAFETY: the caller's promise.
                unsafe { $crate::gemm::mma_f64::gemm::<Mma, $tile, A<$a_elems>, B<$b_elems>, M, N>(params) }
            }
        )*
    };
}

pub(crate) use entry_points;
