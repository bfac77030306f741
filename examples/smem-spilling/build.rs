//! Compiles the kernels to PTX, the text form of GPU code, which src/lib.rs embeds.

use std::env;
use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    // The oldest GPU that it shall run on; the driver translates the PTX for newer ones.
    CudaBuilder::new("kernels")
        .arch(NvvmArch::Compute75)
        .copy_to(folder.join("kernels.ptx"))
        .build()?;
    Ok(())
}
