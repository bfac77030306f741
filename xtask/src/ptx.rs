//! The kernels' PTX: where it is, how large, how long it took.

use std::time::Instant;

use anyhow::{Context, bail};
use xshell::Shell;

use crate::{build, device_toolchain};

/// Builds the library, whose build script makes the PTX, and lists the files.
pub fn run(sh: &Shell) -> anyhow::Result<()> {
    device_toolchain::ensure(sh)?;
    let start = Instant::now();
    let messages = build::cargo(sh, &["build", "--package", "tilewright", "--lib"])?;
    let took = start.elapsed();
    let out_dir = messages
        .out_dir("tilewright")
        .context("cargo did not say where tilewright's build script wrote")?;
    let mut files = sh.read_dir(&out_dir)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "ptx"));
    if files.is_empty() {
        bail!("{} holds no .ptx file", out_dir.display());
    }
    for file in files {
        let text = sh.read_file(&file)?;
        let entries = text.matches(".visible .entry ").count();
        println!(
            "{} ({} KiB, {entries} kernels)",
            file.display(),
            text.len().div_ceil(1024)
        );
    }
    println!(
        "built in {:.1} s (what was up to date was not built again)",
        took.as_secs_f64()
    );
    Ok(())
}
