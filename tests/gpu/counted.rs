//! The launches whose memory accesses the simulator counts too, one after the other in one process, for `ncu` to count.
//!
//! As a test each must leave the right result. `run.sh` starts this program with [`CHILD_VARIABLE`] under `ncu`.

use std::collections::{BTreeMap, BTreeSet};

use ::mutants::traffic::{self, Counted};
use cust::module::Module;
use tilewright::launch::Gpu;
use tilewright::ptx;

use crate::cases::{self, Problem};
use crate::trial::Trial;
use crate::{Outcome, mutants};

/// Where it is `launch`, every launch is done, in order, and its number and name printed. Where it is `ptx=FOLDER`, the
/// PTX that they are in is written there instead, for `ptxas` and `cuobjdump`, and beside each module the entry points
/// that are launched (`NAME.entries`, the list that `ptxas --entry` takes).
const CHILD_VARIABLE: &str = "TILEWRIGHT_COUNTED";

pub fn trials() -> Vec<Trial> {
    vec![Trial::test("counted::every_launch_gives_the_right_result", || {
        launch_all(false)
    })]
}

/// Does what this process was started for; returns its exit code.
pub fn run_as_child() -> Option<i32> {
    let wish = std::env::var(CHILD_VARIABLE).ok()?;
    let result = match wish.strip_prefix("ptx=") {
        Some(folder) => write_ptx(folder),
        None => launch_all(true),
    };
    Some(match result {
        Ok(()) => 0,
        Err(problem) => {
            eprintln!("{}", problem.message().unwrap_or("failed"));
            1
        }
    })
}

fn launch_all(report: bool) -> Outcome {
    // Everything here uses its context, and the levels of PTX that the library takes on this device.
    let gpu = Gpu::open(0)?;
    let mut families: BTreeMap<&str, Module> = BTreeMap::new();
    let mutants = Module::from_ptx(mutants::PTX, &[])?;
    for (number, counted) in traffic::launches().iter().enumerate() {
        let module = match counted.module {
            traffic::Module::Mutants => &mutants,
            traffic::Module::Library => {
                if !families.contains_key(counted.symbol) {
                    let mut levels = ptx::levels_for(gpu.profile().compute_capability);
                    let Some(text) = levels.find_map(|level| ptx::module(level, &[counted.symbol])) else {
                        // A kernel for another architecture.
                        continue;
                    };
                    families.insert(counted.symbol, Module::from_ptx(text, &[])?);
                }
                &families[counted.symbol]
            }
        };
        launch(counted, module).map_err(|problem| format!("{}: {problem:?}", counted.name))?;
        if report {
            println!("{number} {}", counted.name);
        }
    }
    Ok(())
}

fn launch(counted: &Counted, module: &Module) -> Result<(), Problem> {
    cases::run(module, counted.symbol, &counted.case)
}

fn write_ptx(folder: &str) -> Outcome {
    let folder = std::path::Path::new(folder);
    let gpu = Gpu::open(0)?;
    let launches = traffic::launches();
    let mut texts = vec![("mutants", traffic::Module::Mutants, mutants::PTX)];
    for level in ptx::levels_for(gpu.profile().compute_capability) {
        let is_specific = level.is_architecture_specific();
        let name = if is_specific { "specific" } else { "families" };
        texts.push((name, traffic::Module::Library, &level.ptx[..]));
    }
    for (name, module, ptx) in texts {
        let is_here = |counted: &&Counted| counted.module == module && ptx.contains(&entry(counted.symbol));
        let entries: BTreeSet<&str> = launches.iter().filter(is_here).map(|counted| counted.symbol).collect();
        std::fs::write(folder.join(name).with_extension("ptx"), ptx)?;
        std::fs::write(
            folder.join(name).with_extension("entries"),
            Vec::from_iter(entries).join(","),
        )?;
    }
    Ok(())
}

/// How the directive of an entry point ends.
fn entry(symbol: &str) -> String {
    format!(".entry {symbol}(")
}
