//! `tilewright ptx`: prints the kernels' PTX.

use clap::Args;
use cuda_arch::ComputeCapability;
use serde::Serialize;
use tilewright::ptx::{self, Level};

use crate::failure::{Failure, Result};
use crate::{kernels, output};

/// Print the kernels' PTX
#[derive(Args)]
pub struct Command {
    /// The architecture to run on, such as sm_90; without it, the oldest that the kernels are compiled for
    #[arg(long)]
    arch: Option<String>,
    /// A rung (all its entry points) or one entry point's symbol; without it, the whole text
    #[arg(long, default_value = kernels::AUTO)]
    kernel: String,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Listing<'a> {
    /// The architecture asked for.
    arch: &'a str,
    /// The level that it runs.
    level: &'static str,
    /// The entry points in `ptx`.
    symbols: Vec<&'static str>,
    /// The text.
    ptx: String,
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    let level = match &command.arch {
        Some(arch) => level_for(arch)?,
        None => oldest()?,
    };
    let chosen = kernels::entry_points(&command.kernel)?;
    let text = if command.kernel == kernels::AUTO {
        level.ptx.to_owned()
    } else {
        let entries = chosen.iter().map(|variant| {
            ptx::entry(level, variant.symbol).ok_or_else(|| Failure {
                exit_code: 1,
                message: format!("{} has no {}", level.arch, variant.symbol),
            })
        });
        entries.collect::<Result<Vec<_>>>()?.join("\n")
    };
    if !json {
        return output::print(&text);
    }
    output::print_json(&Listing {
        arch: command.arch.as_deref().unwrap_or(level.arch),
        level: level.arch,
        symbols: chosen.iter().map(|variant| variant.symbol).collect(),
        ptx: text,
    })
}

fn oldest() -> Result<&'static Level> {
    ptx::levels()
        .first()
        .ok_or_else(|| Failure::input("this program contains no kernels"))
}

/// The newest level that an architecture of this name runs.
fn level_for(arch: &str) -> Result<&'static Level> {
    let capability = ComputeCapability::parse(arch).map(|capability| (capability.major, capability.minor));
    let level = capability.and_then(ptx::for_compute_capability);
    level.ok_or_else(|| {
        let known = ptx::levels()
            .iter()
            .map(|level| level.arch)
            .collect::<Vec<_>>()
            .join(", ");
        let oldest = ptx::levels().first().map_or("", |level| level.arch);
        let problem = if capability.is_some() { "too old" } else { "unknown" };
        Failure::input(format!(
            "architecture `{arch}` is {problem}; levels: {known}; any from {oldest} on runs one of them"
        ))
    })
}
