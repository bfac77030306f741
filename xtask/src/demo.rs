//! The program on real data.

use std::ffi::OsString;
use std::path::Path;

use xshell::{Shell, cmd};

use crate::device_toolchain::{self, WITHOUT_PTX};

/// What a driver of NVIDIA's makes: on Linux, and on Windows' subsystem for it.
const DRIVERS: [&str; 2] = ["/dev/nvidiactl", "/dev/dxg"];

/// Builds the program and runs its demo. Compiling the kernels for a GPU takes half of a first build: where there is no
/// GPU, and nobody has compiled them here before, they are left out.
pub fn run(sh: &Shell, args: &[OsString]) -> anyhow::Result<()> {
    device_toolchain::ensure(sh)?;
    let has_driver = !cfg!(target_os = "linux") || DRIVERS.iter().any(|file| Path::new(file).exists());
    let program = ["--release", "--package", "tilewright-cli", "--bin", "tilewright"];
    let mut demo = cmd!(sh, "cargo run {program...} -- demo {args...}");
    if !(has_driver || device_toolchain::has_ptx()) {
        println!("no GPU here: its kernels are left out of this build ({WITHOUT_PTX}); any other build has them");
        demo = demo.env(WITHOUT_PTX, "1");
    }
    Ok(demo.run()?)
}
