//! What spilling registers into shared memory gains and costs: kernels that differ only in their register budget,
//! checked and timed against one another.
//!
//! The kernels and their table are `smem-spilling-kernels`. This crate says what `ptxas` makes of them ([`record`]),
//! launches them ([`gpu`]), checks their results against the CPU ([`product`], [`inverse`]) and times them ([`cli`]).

pub mod cli;
mod counters;
pub mod error;
pub mod gpu;
pub mod inverse;
mod measure;
pub mod product;
pub mod record;
mod report;
pub mod scalar;
mod workload;

pub use smem_spilling_kernels as kernels;

pub use error::{Error, Result};

/// The kernels as build.rs compiled them: one module for sm_75, which every later architecture runs.
pub const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));
