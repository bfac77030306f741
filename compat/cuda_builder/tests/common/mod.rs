//! What the test binaries share: fixtures, one target folder for all, and a look into PTX.

// Each test binary uses a part.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_builder::CudaBuilder;

/// The folder of a fixture.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The target folder that build scripts of this workspace use too, so that the standard library is compiled once.
pub fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("cuda-builder")
}

/// A builder for a fixture, with the shared target folder.
pub fn builder(name: &str) -> CudaBuilder {
    let target = target().to_string_lossy().into_owned();
    CudaBuilder::new(fixture(name)).build_args(&["--target-dir", &target])
}

/// Builds, and reads the PTX.
#[track_caller]
pub fn ptx_of(builder: CudaBuilder) -> String {
    let path = builder.build().unwrap_or_else(|error| panic!("{error}"));
    std::fs::read_to_string(path).unwrap()
}

/// The text of one kernel or function, from its name to the closing brace.
#[track_caller]
pub fn body<'a>(ptx: &'a str, name: &str) -> &'a str {
    let start = ptx
        .find(&format!("entry {name}("))
        .unwrap_or_else(|| panic!("no kernel {name} in\n{ptx}"));
    let end = ptx[start..]
        .find("\n}")
        .expect("kernels end with a brace at the margin");
    &ptx[start..start + end]
}

/// The instructions (trimmed lines that start with one of `names`).
pub fn instructions<'a>(text: &'a str, names: &[&str]) -> Vec<&'a str> {
    text.lines()
        .map(str::trim)
        .filter(|line| names.iter().any(|name| line.starts_with(name)))
        .collect()
}

/// `$PTXAS`, or the one that `cargo xtask setup` fetches.
pub fn ptxas() -> Option<PathBuf> {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/cuda-tools/bin/ptxas");
    let named = std::env::var_os("PTXAS").map(PathBuf::from);
    named.into_iter().chain([fetched]).find(|path| path.is_file())
}

/// Assembles PTX; the error is what ptxas says.
pub fn assemble(ptxas: &Path, ptx: &Path, arch: &str) -> Result<(), String> {
    let output = Command::new(ptxas)
        .arg(format!("-arch={arch}"))
        .arg(ptx)
        .arg("-o")
        .arg(if cfg!(windows) { "NUL" } else { "/dev/null" })
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(said) }
}
