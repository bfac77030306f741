//! Compiles kernels to PTX for `tests/gpu` to run: the corpus over the surface of `cuda_std`, and the mutants with the kernels that
//! they are made from.

use std::env;
use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    // The builder watches what it compiles. The mutants' own build script copies these sources first.
    for source in ["kernels-gpu/src", "sim/classics/src", "sim/mutants"] {
        println!("cargo::rerun-if-changed={source}");
    }
    for (package, name) in [("compat/corpus", "corpus.ptx"), ("sim/mutants", "mutants.ptx")] {
        let builder = CudaBuilder::new(package)
            .arch(NvvmArch::Compute75)
            .copy_to(out.join(name));
        if let Err(error) = builder.build() {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
