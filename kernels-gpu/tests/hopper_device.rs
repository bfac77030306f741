//! Hopper's primitives on the way to a GPU: kernels of `tests/hopper_kernels` as PTX, and what `ptxas` makes of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::{CudaBuilder, NvvmArch};

/// The PTX, built once for all tests of a run.
fn ptx() -> &'static (PathBuf, String) {
    static PTX: std::sync::OnceLock<(PathBuf, String)> = std::sync::OnceLock::new();
    PTX.get_or_init(|| {
        let crate_path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hopper_kernels");
        // The folder that the build scripts of the workspace use too, so that the standard library is compiled once.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("cuda-builder");
        let path = CudaBuilder::new(crate_path)
            .arch(NvvmArch::Compute90a)
            .build_args(&["--target-dir", &target.to_string_lossy()])
            .build()
            .unwrap_or_else(|error| panic!("{error}"));
        let text = std::fs::read_to_string(&path).expect("was written");
        (path, text)
    })
}

#[test]
fn every_instruction_is_there() {
    println!("{}", ptx().0.display());
}
