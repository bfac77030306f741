//! The library: a file or folder a family.
//!
//! | family | how | shared memory |
//! |---|---|---|
//! | [`tiled_static`] | tiles of A and B are loaded once a CTA and reused by all its threads | static, 2 W² elements |
//! | [`tiled_dynamic`] | the same tiles, their size chosen at launch | dynamic, both tiles in one allocation |
//! | [`register_tile`] | a tile of registers for each thread, fed by short tiles | static, 8320 bytes |
//! | [`simt_kernels`] | f32 by `fma`: every layout, several tiles, split-K, alpha and beta | dynamic, 3 or 4 stages |
//! | [`matrix_vector`] | C of one column or row: nothing is used twice, enough loads are under way | none, or static, 4096 bytes |
//! | [`mma_sync_kernels`] | tensor cores by `mma.sync`, fragments by `ldmatrix` | dynamic, 4 stages |
//! | [`wgmma_kernels`] | tensor cores by `wgmma`, TMA loads and stores: every layout, several tiles, split-K | dynamic, 4 to 12 stages and panels of C |
//!
//! `pad_rows` copies an operand into rows that the tensor cores' kernels take.
//!
//! Every entry point takes [`GemmParams`](tilewright_contract::GemmParams), and those that load by TMA the tensor maps
//! of A, B and C. Its row in [`KERNELS`](tilewright_contract::KERNELS) says which tile widths and how much shared
//! memory it takes. The bodies (`tiled`, `simt`, `mma_sync`, `wgmma`) are compiled for every crate that builds on this
//! one, the entry points for a module of PTX of their target.

use cfg_if::cfg_if;

pub mod mma_sync;
pub mod simt;
pub mod tiled;
#[cfg(any(not(target_arch = "nvptx64"), feature = "wgmma"))]
pub mod wgmma;

// Entry points: on the host all of them, in a PTX module those of its target, in a library none.
cfg_if! {
    if #[cfg(not(all(target_arch = "nvptx64", any(feature = "library", feature = "wgmma"))))] {
        pub mod matrix_vector;
        pub mod register_tile;
        pub mod pad_rows;
        pub mod tiled_dynamic;
        pub mod tiled_static;
    }
}
cfg_if! {
    if #[cfg(not(all(target_arch = "nvptx64", any(feature = "library", feature = "wgmma", not(feature = "async_copy")))))] {
        pub mod mma_sync_kernels;
        pub mod simt_kernels;
    }
}
cfg_if! {
    if #[cfg(not(all(target_arch = "nvptx64", any(feature = "library", not(feature = "wgmma")))))] {
        pub mod wgmma_kernels;
    }
}
