//! Kernels over the whole covered surface of `cuda_std`, each with its launch and the result it must give.
//!
//! The source is compiled three times: for the GPU and for the host against this repository's `cuda_std`, and for the
//! host against the published 0.2.2 (`compat/corpus-published`). So it is written as the published crate's users write:
//! nothing here may exist in ours alone, but for what the feature `additions` brings, which only ours is compiled with.
//! `compat/corpus-main` compiles it against the interface of the published crate's main branch.
//!
//! [`cases::all`] lists the launches, for a test on a GPU and for `tests/simulator.rs`, which runs them on the CPU;
//! `cargo run -p cuda_std_corpus --example describe` prints them as JSON lines.

#![cfg_attr(target_arch = "nvptx64", no_std)]
// As in most kernel crates, the body of an unsafe kernel is one unsafe block. What each kernel needs of its launch
// stands in its case.
#![allow(
    unsafe_op_in_unsafe_fn,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks
)]
// The published `#[kernel]` leaves this to its user.
#![allow(improper_ctypes_definitions)]

// The published macros that print name it.
extern crate alloc;

pub mod atomic_instructions;
pub mod atomics;
#[cfg(feature = "additions")]
pub mod attributes;
#[cfg(feature = "main")]
pub mod coordinates;
#[cfg(feature = "additions")]
pub mod copies;
#[cfg(feature = "additions")]
pub mod exchanges;
pub mod floats;
pub mod libdevice;
pub mod linkage;
pub mod memory;
pub mod parameters;
pub mod pointers;
pub mod printing;
pub mod shared;
pub mod tally;
pub mod threads;
#[cfg(feature = "additions")]
pub mod warps;

#[cfg(not(target_arch = "nvptx64"))]
pub mod cases;
