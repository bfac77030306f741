//! The linker for WebAssembly. Shared with `xtask`, which installs it where it is missing.

use std::fmt;
use std::path::PathBuf;

use cuda_builder::toolchain::{Source, Toolchain};

/// No linker: where it should be, and what brings it.
#[derive(Debug)]
pub struct Missing {
    /// The program that is not there.
    pub program: PathBuf,
    /// The command to run.
    pub command: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the linker for WebAssembly is missing: {}.\nRun one of:\n    {}\n    cargo xtask setup",
            self.program.display(),
            self.command
        )
    }
}

/// Finds the linker that belongs to a toolchain: rustup brings it with the compiler, Debian has it in LLVM's linker
/// package.
pub fn find(toolchain: &Toolchain) -> Result<PathBuf, Missing> {
    let program = toolchain.llvm_tool(match toolchain.source {
        Source::Rustup => "rust-lld",
        Source::Debian => "wasm-ld",
    });
    if program.is_file() {
        return Ok(program);
    }
    let command = match toolchain.source {
        Source::Rustup => "rustup update --force".to_owned(),
        Source::Debian => {
            // /usr/lib/llvm-22/bin/wasm-ld belongs to lld-22.
            let folder = program.ancestors().nth(2).and_then(|folder| folder.file_name());
            let name = folder.map(|name| name.to_string_lossy().replace("llvm", "lld"));
            format!("apt-get install -y {}", name.as_deref().unwrap_or("lld"))
        }
    };
    Err(Missing { program, command })
}
