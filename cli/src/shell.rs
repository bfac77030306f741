//! `tilewright completions` and `tilewright man`: what a shell and `man` want to know of the commands.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::failure::{Failure, Result};
use crate::{Cli, output};

/// Print a script that completes the commands and options in a shell
///
/// For bash: `tilewright completions bash > ~/.local/share/bash-completion/completions/tilewright`
#[derive(Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Print the manual page, or write that of each command into a folder
///
/// To read it at once: `tilewright man | man -l -`
#[derive(Args)]
pub struct Man {
    /// Write tilewright.1 and tilewright-COMMAND.1 into this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// Runs `completions`.
pub fn completions(command: &Completions) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut Cli::command(), "tilewright", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Runs `man`.
pub fn man(command: &Man) -> Result<()> {
    match &command.out {
        Some(folder) => {
            let failed = |error| Failure::environment(format!("cannot write into {}: {error}", folder.display()));
            std::fs::create_dir_all(folder).map_err(failed)?;
            clap_mangen::generate_to(Cli::command(), folder).map_err(failed)
        }
        None => {
            let mut page = Vec::new();
            let written = clap_mangen::Man::new(Cli::command()).render(&mut page);
            written.map_err(|error| Failure::environment(format!("cannot write the page: {error}")))?;
            output::print(&String::from_utf8_lossy(&page))
        }
    }
}
