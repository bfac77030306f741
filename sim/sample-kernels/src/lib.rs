//! Sample kernels: small, correct textbook kernels. The simulator is tested on them, and mutants are made from them.
//!
//! | kernel | computes | shows |
//! |---|---|---|
//! | [`reduction::reduce_tree`] | the sum of a block's elements | a tree in shared memory, a barrier a level |
//! | [`reduction::reduce_warp`] | the same | the last five levels within one warp, with `sync_warp` |
//! | [`reduction::reduce_shuffle`] | the same | shuffles between the lanes of a warp |
//! | [`transpose::transpose_tile`] | the transposed matrix | a tile whose columns are read: 32-way bank conflicts |
//! | [`transpose::transpose_padded`] | the same | one column of padding, and no conflicts |
//! | [`scan::scan_inclusive`] | running sums within a block | two buffers, exchanged at each barrier |
//! | [`histogram::histogram`] | how often each value occurs | atomics in shared memory, then in global memory |
//! | [`reverse::reverse_static`] | a block's elements in reverse | static shared memory |
//! | [`reverse::reverse_dynamic`] | the same | dynamic shared memory, as large as the launch says |
//! | [`stencil::stencil`] | the sum of each element and its two neighbours | a tile with a halo |
//! | [`stencil_pipelined::stencil_pipelined`] | the same | a `cp.async` pipeline of three stages |
//! | [`padding::pad_16_bytes`] and others | zero-padded sequences | `cp.async` with fewer source bytes than it writes |
//! | [`last_block::reduce_last_block`] | the sum of all elements | a reduction across blocks by fence and counter |
//! | [`row_sums::row_sums`] | the sum of each row of a matrix | accesses of 16 bytes |
//!
//! One source, compiled for `nvptx64` and for the host. [`cases`] has a launch of each with the expected result; the
//! data are small integers, so that no sum depends on its order.
//!
//! A kernel is correct for every length of its input. Its block has the extents that its file defines, since the shared
//! arrays depend on them.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, asm_experimental_arch))]

/// The file of `kernels-gpu` itself: the sample kernels need nothing else of it.
#[path = "../../../kernels-gpu/src/ptx"]
pub mod ptx {
    pub mod async_copy;
}

pub mod histogram;
pub mod last_block;
pub mod padding;
pub mod reduction;
pub mod reverse;
pub mod row_sums;
pub mod scan;
pub mod stencil;
pub mod stencil_pipelined;
pub mod transpose;

#[cfg(not(target_arch = "nvptx64"))]
pub mod case;
#[cfg(not(target_arch = "nvptx64"))]
pub mod cases;
