//! `tilewright ptx`: prints the kernels' PTX.

use clap::Args;
use cuda_arch::ComputeCapability;
use serde::Serialize;
use tilewright::inspect::Kernel;
use tilewright::ptx::{self, Level};

use crate::failure::{Failure, Result};
use crate::{kernels, output};

/// Print the kernels' PTX
#[derive(Args)]
pub struct Command {
    /// The architecture to run on, such as sm_90; without it, the oldest that the kernels are compiled for
    #[arg(long)]
    arch: Option<String>,
    /// A rung (all its entry points), a family of twins that spill, or one kernel's symbol; without it, all rungs
    #[arg(long, default_value = kernels::AUTO)]
    kernel: String,
}

/// The text of a level or of some of its entry points; what `--json` prints.
#[derive(Serialize)]
pub struct Listing {
    /// The architecture asked for.
    arch: String,
    /// The level that it runs.
    pub level: &'static str,
    /// The entry points in `ptx`.
    symbols: Vec<&'static str>,
    /// The text.
    pub ptx: String,
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    let level = match &command.arch {
        Some(arch) => level_for(arch)?,
        None => oldest()?,
    };
    let arch = command.arch.as_deref().unwrap_or(level.arch);
    let listing = listing(level, arch, &command.kernel)?;
    if json {
        output::print_json(&listing)
    } else {
        output::print(&listing.ptx)
    }
}

/// The text of the entry points that `kernel` names, for an architecture that runs the level; all of it for [`kernels::AUTO`]. Twins come from a module
/// of their own, whose level it then is.
pub fn listing(level: &'static Level, arch: &str, kernel: &str) -> Result<Listing> {
    let mut chosen = kernels::inspectable(kernel)?;
    let level = match chosen[..] {
        [Kernel::Twin(_), ..] => ptx::spilling(),
        _ => level,
    };
    let text = if kernel == kernels::AUTO {
        level.ptx.clone()
    } else {
        chosen.retain(|kernel| ptx::entry(level, kernel.symbol()).is_some());
        if chosen.is_empty() {
            return Err(Failure::input(format!("{kernel} is not compiled for {arch}")));
        }
        let entries = chosen.iter().filter_map(|kernel| ptx::entry(level, kernel.symbol()));
        entries.collect::<Vec<_>>().join("\n")
    };
    Ok(Listing {
        arch: arch.to_owned(),
        level: level.arch,
        symbols: chosen.iter().map(|kernel| kernel.symbol()).collect(),
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
