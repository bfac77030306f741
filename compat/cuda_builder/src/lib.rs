//! Drop-in `cuda_builder` 0.3: compiles a Rust crate to PTX, from a build script, with a stock toolchain.
//!
//! The published crate compiles with a code generator of its own, which needs an old nightly compiler and NVIDIA's
//! compiler library. This one has the same interface and uses the NVPTX back end that every rustc carries:
//!
//! 1. [`toolchain`] finds a compiler, its library's sources and LLVM's tools.
//! 2. cargo compiles the crate and the library, unoptimised, to a static library of LLVM bitcode.
//! 3. The bitcode is linked, and a pass adds what Rust cannot say: address spaces and barriers.
//! 4. LLVM optimises the module and writes PTX.
//! 5. The PTX is checked and, whole or not at all, written to its place.
//!
//! It does not link to CUDA, and does not need a GPU or any of NVIDIA's software.

mod arch;
mod archive;
mod backend;
mod builder;
mod cache;
mod compile;
mod diagnose;
mod error;
mod files;
mod layout;
mod no_std;
mod overrides;
mod pass;
mod ptx;
mod register_attr;
mod spilling;
pub mod toolchain;
mod upstream;

pub use arch::{NvvmArch, UnknownArch};
pub use builder::{CudaBuilder, DebugInfo, EmitOption, PanicStrategy};
pub use diagnose::{Diagnosis, RustItem};
pub use error::{CudaBuilderError, SpillingRule};
pub use toolchain::{MissingToolchain, Toolchain};
pub use upstream::MemorySpace;
