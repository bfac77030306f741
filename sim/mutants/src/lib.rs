//! Kernels with one mistake each, made from the real ones, and the expected verdict of a checker.
//!
//! [`table`] has a row for each mutant: a text in the source of a kernel of `kernels-gpu` or of `sample_kernels`, its
//! replacement, and the verdict of the simulator. The build script applies each change to a copy of the source and
//! stops if the text is missing, so the table follows the kernels. The same copies are functions for the simulator and
//! entry points for a GPU, where compute-sanitizer checks them.
//!
//! - [`all`]: every mutant, and every kernel without a change
//! - [`verdict`]: runs one under the simulator and judges what it reports
//! - [`products`]: launches of the matrix multiplications
//! - [`traffic`]: launches whose traffic is compared with a GPU's counters
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]

/// Files of `kernels-gpu` that the copies share, as does the next module.
#[path = "../../../kernels-gpu/src/block"]
pub mod block {
    pub mod batch;
    pub mod copies;
    pub mod element;
    pub mod epilogue;
    pub mod groups;
    pub mod major;
    pub mod narrow_store;
    pub mod operands;
    pub mod split_k;
    pub mod unroll;
    pub mod warp;
    pub mod warp_store;
}
#[path = "../../../kernels-gpu/src/ptx/mod.rs"]
pub mod ptx;

/// The copies. A mutant need not be good code.
#[allow(
    missing_docs,
    unused,
    unconditional_recursion,
    unconditional_panic,
    rustdoc::all,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc
)]
#[doc(hidden)]
pub mod copies {
    // No lint is on for them, and clippy would compile them all the same.
    #[cfg(not(clippy))]
    include!(concat!(env!("OUT_DIR"), "/mutants.rs"));
    #[cfg(clippy)]
    pub(crate) const CALLS: &[(&str, crate::call::Call)] = &[];
}

#[cfg(not(target_arch = "nvptx64"))]
pub mod block_scaled;
#[cfg(not(target_arch = "nvptx64"))]
mod call;
#[cfg(not(target_arch = "nvptx64"))]
pub mod fp8;
#[cfg(not(target_arch = "nvptx64"))]
pub mod fp8_quantize;
#[cfg(not(target_arch = "nvptx64"))]
pub mod products;
#[cfg(not(target_arch = "nvptx64"))]
pub mod subject;
#[cfg(not(target_arch = "nvptx64"))]
pub mod table;
#[cfg(not(target_arch = "nvptx64"))]
pub mod traffic;
#[cfg(not(target_arch = "nvptx64"))]
pub mod verdict;

#[cfg(not(target_arch = "nvptx64"))]
pub use subject::{Subject, all, find};
