//! Deterministic functions from words to words over device-usable Rust: `core`, `alloc` and `no_std` crates.
//!
//! The same source is compiled twice. For the host, [`all`] lists every function, called a subject, and [`inputs`]
//! makes its input words. For the GPU, every subject is a kernel of the same name. Host and device must give the same
//! words, bit for bit.

#![cfg_attr(target_arch = "nvptx64", no_std)]
// The subjects say one thing in several ways, for each is compiled in a way of its own.
#![allow(
    clippy::chars_next_cmp,
    clippy::chunks_exact_to_as_chunks,
    clippy::manual_is_multiple_of,
    clippy::map_or_identity,
    clippy::needless_range_loop,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::precedence
)]
// Lints of a newer clippy have no names in an older one.
#![allow(unknown_lints)]

extern crate alloc;

#[macro_use]
mod subject;
mod support;

mod addresses;
mod atomics;
mod collections;
mod control;
mod crates;
mod crypto;
mod floats;
mod formatting;
mod hashing;
mod integers;
mod iterators;
mod memory;
mod niches;
mod numbers;
mod options;
mod shared;
mod slices;
mod sorting;
mod text;

pub use subject::MAX_BLOCK_THREADS;
#[cfg(not(target_arch = "nvptx64"))]
pub use subject::{Subject, UNWRITTEN, all, inputs};
