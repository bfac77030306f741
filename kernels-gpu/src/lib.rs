//! tilewright's kernels: one source, compiled for `nvptx64` (PTX, through `cuda_builder`) and for the host.
//!
//! - [`gemm`]: the library, a file or folder a family.
//! - [`lessons`]: the course, one whole kernel a file.
//! - [`block`]: what kernels share: element types, operands as views, split-K, epilogue arithmetic, unrolled loops.
//! - [`ptx`]: one PTX instruction family a file; inline assembly stands nowhere else.
//! - `host`: on the host only, every kernel by its symbol, for the simulator.
//!
//! Shapes, layouts, the grid mapping and the table of entry points come from `tilewright-contract`; this crate repeats
//! none of their numbers.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

pub mod block;
pub mod gemm;
#[cfg(not(target_arch = "nvptx64"))]
pub mod host;
// A module of PTX has the kernels or, for the crates that build on this one, no entry points.
#[cfg(not(all(target_arch = "nvptx64", feature = "library")))]
pub mod lessons;
pub mod ptx;
