//! What each CUDA architecture offers a block and an SM.
//!
//! ```
//! let arch = cuda_arch::find("sm_120")?;
//! assert_eq!(arch.smem_per_block_optin, 101_376);
//! assert_eq!(arch.smem_per_sm, arch.smem_per_block_optin + arch.smem_reserved_per_block);
//! # Ok::<(), cuda_arch::UnknownArchitecture>(())
//! ```
//!
//! The table holds what the architecture fixes. What differs between GPUs of one architecture - SMs,
//! clocks, L2 cache, device memory - only a query of the device knows. [`COLUMNS`] names the source of every column.
//!
//! An architecture that is not in the table is an error, not a guess: limits have gone down from one number to a higher
//! one before (8.0 has 163 KiB of shared memory a block, 8.6 has 99).
//!
//! Everywhere: bytes, unless the name says otherwise. NVIDIA's "KB" of shared memory is 1024 bytes.
#![no_std]
#![forbid(unsafe_code)]

mod name;
mod sources;
mod spilling;
mod table;

pub use name::{ComputeCapability, UnknownArchitecture, find};
pub use sources::{COLUMNS, Column, Source};
pub use spilling::{assumed_threads, spill_budget_bytes, static_bytes_with_spills};
pub use table::{ARCHITECTURES, Architecture};
