//! The library: a file or folder a family.
//!
//! | family | how | shared memory |
//! |---|---|---|
//! | [`tiled_static`] | the threads of a CTA share tiles of A and B | static, 2 W² elements |
//! | [`tiled_dynamic`] | the same tiles, their size chosen at launch | dynamic, both tiles in one allocation |
//! | [`register_tile`] | a register tile per thread, fed by short k-tiles | static, 8320 bytes |
//! | [`simt_kernels`] | f32 by FMA: every layout, several tiles, split-K, alpha and beta | dynamic, 3 or 4 stages |
//! | [`simt_registers_kernels`] | the same for small C or short K: elements through registers | dynamic, 2 stages |
//! | [`simt_sectors_kernels`] | the same for short K: C stored in whole sectors | dynamic, 1 stage |
//! | [`matrix_vector`] | C of one column or row: enough loads in flight | none, or static, 4096 bytes |
//! | [`mma_sync_kernels`] | tensor cores by `mma.sync`, fragments by `ldmatrix` | dynamic, 2 or 4 stages |
//! | [`mma_f64_kernels`], `mma_f64_wide_kernels` | f64 on tensor cores, every layout, split-K | dynamic, 4 stages |
//! | [`mma_block_scaled_kernels`] | NVFP4, MXFP4, MXFP8 by `mma.sync`, TMA | dynamic, stages by the launch |
//! | [`wgmma_kernels`] | tensor cores by `wgmma`, TMA, every layout, split-K | dynamic, 4 to 12 stages, epilogue |
//! | [`wgmma_bf16x6_kernels`] | f32 in three parts of bf16, the same way | dynamic, 2 stages, epilogue |
//! | [`wgmma_tf32_kernels`] | f32 rounded to tf32: `wgmma`, TMA, every layout but TN | dynamic, 4 stages |
//! | `wgmma_fp8_kernels` | e4m3 and e5m2 with scales: `wgmma`, TMA, promotion | dynamic, 4 to 8 stages, epilogue |
//!
//! `pad_rows` pads an operand with an unaligned leading dimension, `transpose_rows` transposes one, `split_rows` splits
//! f32 into parts, for the kernels that load vectors or boxes. `fp8_quantize_kernels` quantize one to FP8.
//!
//! Every entry point takes [`GemmParams`](tilewright_contract::GemmParams), and those that load by TMA the tensor maps
//! of A, B and C. Its row in [`KERNELS`](tilewright_contract::KERNELS) says which tile widths and how much shared
//! memory it takes. The bodies (`tiled`, `simt`, `mma_sync`, `mma_f64`, `wgmma`) are compiled for every crate that
//! builds on this one, the entry points for a module of PTX of their target.

use cfg_if::cfg_if;

#[cfg(any(not(target_arch = "nvptx64"), feature = "fp8"))]
pub mod fp8_quantize;
#[cfg(any(not(target_arch = "nvptx64"), feature = "block_scaled"))]
pub mod mma_block_scaled;
#[cfg(any(not(target_arch = "nvptx64"), feature = "async_copy", feature = "wgmma"))]
pub mod mma_f64;
pub mod mma_sync;
pub mod simt;
pub mod tiled;
#[cfg(any(not(target_arch = "nvptx64"), feature = "wgmma", feature = "fp8"))]
pub mod wgmma;
#[cfg(any(not(target_arch = "nvptx64"), feature = "fp8"))]
pub mod wgmma_fp8;

// Entry points: on the host all of them, in a PTX module those of its target, in a library none.
cfg_if! {
    if #[cfg(any(
        not(target_arch = "nvptx64"),
        not(any(feature = "library", feature = "wgmma", feature = "block_scaled", feature = "fp8"))
    ))] {
        pub mod matrix_vector;
        pub mod pad_rows;
        pub mod register_tile;
        pub mod tiled_dynamic;
        pub mod tiled_static;
        pub mod transpose_rows;
    }
}
cfg_if! {
    if #[cfg(any(
        not(target_arch = "nvptx64"),
        all(feature = "async_copy", not(any(feature = "library", feature = "wgmma")))
    ))] {
        pub mod mma_f64_kernels;
        pub mod mma_sync_kernels;
        pub mod simt_kernels;
        pub mod simt_registers_kernels;
        pub mod simt_sectors_kernels;
    }
}
cfg_if! {
    if #[cfg(any(not(target_arch = "nvptx64"), all(feature = "wgmma", not(feature = "library"))))] {
        pub mod mma_f64_wide_kernels;
        pub mod split_rows;
        pub mod wgmma_bf16x6_kernels;
        pub mod wgmma_kernels;
        pub mod wgmma_tf32_kernels;
    }
}
cfg_if! {
    if #[cfg(any(not(target_arch = "nvptx64"), all(feature = "block_scaled", not(feature = "library"))))] {
        pub mod mma_block_scaled_kernels;
    }
}
cfg_if! {
    if #[cfg(any(not(target_arch = "nvptx64"), all(feature = "fp8", not(feature = "library"))))] {
        pub mod fp8_quantize_kernels;
        pub mod wgmma_fp8_kernels;
    }
}
