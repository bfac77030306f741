//! tilewright's kernels: one source, compiled for `nvptx64` (PTX, through `cuda_builder`) and for the host.
//!
//! - [`lessons`]: the course, one whole kernel a file.
//! - [`rungs`]: one kernel a file, in learning order; each file is its idea and its entry points.
//! - [`tiled`]: the body that the tiled rungs share; [`register`]: what those with copies of 16 bytes share;
//!   [`pipeline`]: the body of the pipelined ones. [`tensor`]: a body for tensor cores.
//! - [`warp`]: how the lanes of a warp share its part of a tile.
//! - [`register_tile`](mod@register_tile): the body of rung 5.
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
// As the rungs.
#[cfg(not(all(target_arch = "nvptx64", feature = "library")))]
pub mod lessons;
pub mod operands;
pub mod pipeline;
pub mod primitives;
pub mod register;
pub mod register_tile;
#[cfg(not(all(target_arch = "nvptx64", any(feature = "library", feature = "wgmma"))))]
pub mod row_copy;
// A module of PTX has the rungs or no entry points, the host has the rungs.
#[cfg(not(all(target_arch = "nvptx64", feature = "library")))]
pub mod rungs;
pub mod slices;
pub mod tensor;
pub mod tiled;
pub mod unroll;
pub mod warp;
#[cfg(any(not(target_arch = "nvptx64"), feature = "wgmma"))]
pub mod wgmma;
