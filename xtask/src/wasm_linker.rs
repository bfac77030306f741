//! The linker that the planner's page is built with.

use anyhow::bail;
use cuda_builder::toolchain::Toolchain;
use xshell::{Shell, cmd};

use crate::apt;

#[path = "../../harness/build/linker.rs"]
mod linker;

/// Makes sure that the linker of this toolchain is there: rustup brings it, Debian has it in a package of its own.
pub fn ensure(sh: &Shell, toolchain: &Toolchain) -> anyhow::Result<()> {
    if let Err(missing) = linker::find(toolchain) {
        let words: Vec<_> = missing.command.split_whitespace().collect();
        match words[..] {
            ["apt-get", "install", "-y", ref packages @ ..] => apt::install(sh, packages)?,
            [program, ref args @ ..] => cmd!(sh, "{program} {args...}").run()?,
            [] => {}
        }
    }
    match linker::find(toolchain) {
        Ok(program) => println!("linker for WebAssembly: {}", program.display()),
        Err(missing) => bail!("{missing}"),
    }
    Ok(())
}
