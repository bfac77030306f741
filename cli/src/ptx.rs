//! `tilewright ptx`: prints the kernels' PTX.

use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;
use tilewright::ptx::{self, Level};
use tilewright_harness::digest;
use tilewright_harness::inspect::{Subject, Target};

use crate::failure::{Failure, Result};
use crate::{kernels, output};

/// Print the kernels' PTX
#[derive(Args)]
pub struct Command {
    /// The architecture to run on, such as sm_90; without it, the oldest that the kernels are compiled for
    #[arg(long)]
    arch: Option<String>,
    /// A family (all its entry points), or one kernel's symbol; without it, all families
    #[arg(long, default_value = kernels::AUTO)]
    kernel: String,
    /// Print a line for each kernel in place of its text: symbol, level, and the digest of its PTX that results carry
    #[arg(long)]
    digests: bool,
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
    /// The digest of each.
    digests: BTreeMap<&'static str, &'static str>,
    /// The text.
    pub ptx: String,
}

/// A kernel as a level has it; what `--digests --json` prints a list of.
#[derive(Serialize)]
struct Digested {
    kernel: &'static str,
    level: &'static str,
    digest: &'static str,
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    ptx::ensure_embedded()?;
    if command.digests {
        return print_digests(command, json);
    }
    let levels = match &command.arch {
        Some(arch) => levels_for(arch)?,
        None => vec![oldest()?],
    };
    let arch = command.arch.as_deref().unwrap_or(levels[0].arch);
    let listing = listing(&levels, arch, &command.kernel)?;
    if json {
        output::print_json(&listing)
    } else {
        output::print(&listing.ptx)
    }
}

/// The digests of the kernels that were asked for, of all levels or of those that an architecture takes.
fn print_digests(command: &Command, json: bool) -> Result<()> {
    let levels = match &command.arch {
        Some(arch) => levels_for(arch)?,
        None => ptx::levels().iter().collect(),
    };
    let chosen = kernels::inspectable(&command.kernel)?;
    let asked = |symbol: &str| command.kernel == kernels::AUTO || chosen.iter().any(|kernel| kernel.symbol() == symbol);
    let mut kernels = Vec::new();
    for level in levels {
        let digests = digest::of_level(level).iter().filter(|(symbol, _)| asked(symbol));
        kernels.extend(digests.map(|(kernel, digest)| Digested {
            kernel,
            level: level.arch,
            digest,
        }));
    }
    if json {
        return output::print_json(&kernels);
    }
    let lines = kernels
        .iter()
        .map(|Digested { kernel, level, digest }| format!("{kernel} {level} {digest}\n"));
    output::print(&lines.collect::<String>())
}

/// The text of the entry points that `kernel` names, from the first of the modules that has one; for [`kernels::AUTO`]
/// all of the first module.
pub fn listing(levels: &[&'static Level], arch: &str, kernel: &str) -> Result<Listing> {
    let mut chosen = kernels::inspectable(kernel)?;
    let has = |level: &Level, kernel: &Subject| ptx::entry(level, kernel.symbol()).is_some();
    let level = levels
        .iter()
        .find(|level| chosen.iter().any(|kernel| has(level, kernel)))
        .ok_or_else(|| Failure::input(format!("{kernel} is not compiled for {arch}")))?;
    chosen.retain(|kernel| has(level, kernel));
    let text = if kernel == kernels::AUTO {
        level.ptx.clone()
    } else {
        let entries = chosen.iter().filter_map(|kernel| ptx::entry(level, kernel.symbol()));
        entries.collect::<Vec<_>>().join("\n")
    };
    let digest = |kernel: &Subject| Some((kernel.symbol(), digest::of_level(level).get(kernel.symbol())?.as_str()));
    let digests = chosen.iter().filter_map(digest).collect();
    Ok(Listing {
        arch: arch.to_owned(),
        level: level.arch,
        digests,
        symbols: chosen.iter().map(|kernel| kernel.symbol()).collect(),
        ptx: text,
    })
}

fn oldest() -> Result<&'static Level> {
    ptx::levels()
        .first()
        .ok_or_else(|| Failure::input("this program contains no kernels"))
}

/// The modules that an architecture of this name runs, that of its own name first.
fn levels_for(arch: &str) -> Result<Vec<&'static Level>> {
    let target = Target::parse(arch)?;
    let mut levels: Vec<_> = target.modules().collect();
    levels.sort_by_key(|level| level.arch != arch);
    Ok(levels)
}
