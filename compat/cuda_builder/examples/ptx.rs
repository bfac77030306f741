//! Compiles a crate to PTX from the command line:
//! `cargo run --example ptx -- <crate> <arch> <output.ptx> [CARGO ARGUMENTS]`.

use std::error::Error;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, arch, output, cargo @ ..] = arguments.as_slice() else {
        return Err("usage: ptx <crate> <arch> <output.ptx> [CARGO ARGUMENTS]".into());
    };
    let ptx = CudaBuilder::new(path)
        .arch(arch.parse::<NvvmArch>()?)
        .copy_to(output)
        .build_args(cargo)
        .build()?;
    println!("{}", ptx.display());
    Ok(())
}
