//! The course: matrix multiplication, one idea a file, the whole kernel in the file.
//!
//! A lesson has one element type, one tile and one entry point. Its geometry stands at the top of its file; the row of
//! the kernel table is held to it when the file is compiled. It computes C = A * B for any extents and leading
//! dimensions, and nothing else: alpha and beta, epilogues, layouts and split-K are the library's. Lessons that load by
//! TMA take leading dimensions of A and B that are multiples of 8 elements; the launcher pads others.
//!
//! | lesson | idea | shared memory |
//! |---|---|---|
//! | [`l01_naive`] | one thread per element of C | none |
//! | [`l02_static_tiles`] | tiles in static shared memory | 8 KiB static |
//! | [`l03_dynamic_tiles`] | the same tiles in dynamic shared memory | 8 KiB dynamic |
//! | [`l04_register_column`] | a column of registers per thread | 4.2 KiB static |
//! | [`l05_register_tile`] | a tile of registers per thread | 8.2 KiB static |
//! | [`l06_vector_copies`] | 16-byte loads | 8.2 KiB static |
//! | [`l07_warp_tiles`] | the lanes of a warp in a rectangle | 8.2 KiB static |
//! | [`l08_double_buffering`] | the next k-tile is loaded while this one is computed | 16.5 KiB static |
//! | [`l09_cp_async`] | a pipeline of `cp.async` | 73.5 KiB dynamic |
//! | [`l10_mma_sync`] | tensor cores, a warp at a time | 64 KiB dynamic |
//! | [`l11_wgmma`] | tensor cores, a warpgroup at a time, and TMA | 32 KiB dynamic |
//! | [`l12_warp_specialized`] | a producer warp runs ahead of the consumer warpgroups | 192 KiB dynamic |
//! | [`l13_persistent`] | CTAs compute tile after tile | 192 KiB dynamic |
//! | [`l14_cluster`] | two CTAs share B by multicast | 192 KiB dynamic |
//! | [`l15_tma_store`] | C by TMA, while the next tile is computed | 208 KiB dynamic |
//!
//! Lessons 1 to 9 are of f32, computed by FMA; lessons 10 to 15 of f16 with accumulators of f32, computed by tensor
//! cores. Below them are only [`ptx`](crate::ptx), one PTX instruction family a file, the views of
//! memory (`cuda_views`), and the mapping from CTAs to tiles (`tilewright_contract`).

use cfg_if::cfg_if;

// On the host all of them, in a PTX module those of its target.
cfg_if! {
    if #[cfg(any(
        not(target_arch = "nvptx64"),
        not(any(feature = "wgmma", feature = "block_scaled", feature = "fp8"))
    ))] {
        pub mod l01_naive;
        pub mod l02_static_tiles;
        pub mod l03_dynamic_tiles;
        pub mod l04_register_column;
        pub mod l05_register_tile;
        pub mod l06_vector_copies;
        pub mod l07_warp_tiles;
        pub mod l08_double_buffering;
    }
}
cfg_if! {
    if #[cfg(any(not(target_arch = "nvptx64"), all(feature = "async_copy", not(feature = "wgmma"))))] {
        pub mod l09_cp_async;
        pub mod l10_mma_sync;
    }
}
cfg_if! {
    if #[cfg(any(not(target_arch = "nvptx64"), feature = "wgmma"))] {
        pub mod l11_wgmma;
        pub mod l12_warp_specialized;
        pub mod l13_persistent;
        pub mod l14_cluster;
        pub mod l15_tma_store;
    }
}
