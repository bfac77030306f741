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
    // The classics among the mutants have asynchronous copies, which would be none below 8.0.
    for (package, arch, name) in [
        ("compat/corpus", NvvmArch::Compute75, "corpus.ptx"),
        ("sim/mutants", NvvmArch::Compute80, "mutants.ptx"),
    ] {
        let builder = CudaBuilder::new(package).arch(arch).copy_to(out.join(name));
        if let Err(error) = builder.build() {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
