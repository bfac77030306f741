//! What turns the device crate into PTX: found by `cuda_builder`, installed by the commands that it names.

use anyhow::bail;
use cuda_builder::toolchain::{self, Toolchain};
use xshell::{Shell, cmd};

use crate::{apt, root, wasm_linker};

/// What `host/build.rs` leaves the kernels' PTX out for.
pub const WITHOUT_PTX: &str = "TILEWRIGHT_WITHOUT_PTX";

/// Whether the kernels have been compiled for a GPU here before.
pub fn has_ptx() -> bool {
    root().join("target/cuda-builder/ptx-cache").exists()
}

/// Makes sure that a device toolchain is there: as it is, else through rustup, else through apt; and with it what links
/// the planner's page.
pub fn ensure(sh: &Shell) -> anyhow::Result<()> {
    let toolchain = find().or_else(|missing| install(sh, &missing.commands))?;
    println!(
        "device toolchain: {}, {}",
        toolchain.version,
        toolchain.sysroot.display()
    );
    wasm_linker::ensure(sh, &toolchain)
}

fn find() -> Result<Toolchain, toolchain::MissingToolchain> {
    toolchain::find(root().join("kernels-gpu"))
}

/// The other toolchain whose faults `cuda_builder` mends, with the LLVM that Debian's packages have too.
pub const OLDER: &str = "1.95.0";

/// Makes sure that the older toolchain is there; the error says why it is not.
pub fn ensure_older(sh: &Shell) -> anyhow::Result<()> {
    let parts = ["--component", "rust-src", "--component", "llvm-tools"];
    cmd!(
        sh,
        "rustup toolchain install {OLDER} --profile minimal --no-self-update {parts...}"
    )
    .quiet()
    .run()
    .map_err(Into::into)
}

/// Runs one command after the other until a toolchain is complete.
fn install(sh: &Shell, commands: &[String]) -> anyhow::Result<Toolchain> {
    for command in commands {
        let words: Vec<_> = command.split_whitespace().collect();
        let installed = match words[..] {
            ["apt-get", "install", "-y", ref packages @ ..] => apt::install(sh, packages),
            [program, ref args @ ..] => cmd!(sh, "{program} {args...}").run().map_err(Into::into),
            [] => continue,
        };
        match (installed, find()) {
            (_, Ok(toolchain)) => return Ok(toolchain),
            (Err(error), Err(_)) => eprintln!("`{command}` did not help: {error:#}"),
            (Ok(()), Err(_)) => eprintln!("`{command}` did not complete a toolchain"),
        }
    }
    bail!(
        "no Rust toolchain here can compile for the GPU; run one of: `{}`",
        commands.join("`, `")
    )
}
