//! tilewright's kernels: one source, compiled for `nvptx64` (PTX, through `cuda_builder`) and for the host.
//!
//! - [`rungs`]: one kernel a file, in learning order; each file is its idea and its entry points.
//! - [`tiled`]: the body that the tiled rungs share; [`register`]: what those with copies of 16 bytes share;
//!   [`pipeline`]: the body of the pipelined ones. [`tensor`]: a body for tensor cores.
//! - [`warp`]: how the lanes of a warp share its part of a tile.
//! - `spilling`: twins that differ only in where the compiler puts the registers that it does not get. With the feature
//!   `spilling` they are what is compiled for nvptx64, in place of the rungs.
//! - [`register_tile`](mod@register_tile), [`inverse8`](mod@inverse8): their bodies; the first is rung 5's, too.
//! - [`operands`]: the matrices of a product, as views of global memory.
//! - `row_copy`: copies an operand into rows that the tensor cores' kernels take; no rung, and compiled beside the
//!   general ones.
//! - [`primitives`]: one PTX instruction family a file; inline assembly stands nowhere else.
//! - [`finish`]: bias and activation, of tensor-core kernels.
//! - [`element`]: the element types and how they widen to their accumulator.
//! - `host`: on the host only, every kernel by its symbol, for the simulator.
//!
//! Shapes, layouts, the grid mapping and the table of entry points come from `tilewright-contract`; this crate repeats
//! none of their numbers.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

pub mod element;
pub mod finish;
#[cfg(not(target_arch = "nvptx64"))]
pub mod host;
pub mod inverse8;
pub mod operands;
pub mod pipeline;
pub mod primitives;
pub mod register;
pub mod register_tile;
#[cfg(not(all(
    target_arch = "nvptx64",
    any(feature = "spilling", feature = "library", feature = "wgmma")
)))]
pub mod row_copy;
// A module of PTX has the rungs or the twins or neither, the host has both.
#[cfg(not(all(target_arch = "nvptx64", any(feature = "spilling", feature = "library"))))]
pub mod rungs;
pub mod slices;
#[cfg(any(not(target_arch = "nvptx64"), feature = "spilling"))]
pub mod spilling;
pub mod tensor;
pub mod tiled;
pub mod unroll;
pub mod warp;
#[cfg(any(not(target_arch = "nvptx64"), feature = "wgmma"))]
pub mod wgmma;
