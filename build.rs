//! Compiles the corpus of `cuda_std` kernels to PTX, for `tests/gpu.rs` to run.

use std::env;
use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    let corpus = CudaBuilder::new("compat/corpus")
        .arch(NvvmArch::Compute75)
        .copy_to(out.join("corpus.ptx"));
    if let Err(error) = corpus.build() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
