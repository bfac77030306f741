//! The launches whose memory accesses the simulator counts too, one after the other in one process, for `ncu` to count.
//!
//! As a test each must leave the right result. `run.sh` starts this program with [`CHILD_VARIABLE`] under `ncu`.

use std::collections::BTreeSet;

use ::mutants::traffic::{self, Counted};
use cust::module::Module;
use tilewright::launch::Gpu;

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
    // Everything here uses its context, and the level of PTX that the library takes on this device.
    let gpu = Gpu::open(0)?;
    let families = Module::from_ptx(&gpu.level().ptx[..], &[])?;
    let mutants = Module::from_ptx(mutants::PTX, &[])?;
    for (number, counted) in traffic::launches().iter().enumerate() {
        launch(counted, &families, &mutants).map_err(|problem| format!("{}: {problem:?}", counted.name))?;
        if report {
            println!("{number} {}", counted.name);
        }
    }
    Ok(())
}

fn launch(counted: &Counted, families: &Module, mutants: &Module) -> Result<(), Problem> {
    let module = match counted.module {
        traffic::Module::Library => families,
        traffic::Module::Mutants => mutants,
    };
    cases::run(module, counted.symbol, &counted.case)
}

fn write_ptx(folder: &str) -> Outcome {
    let folder = std::path::Path::new(folder);
    // The level that has the families that are launched, and that the launches take.
    let level = Gpu::open(0)?.level();
    let launches = traffic::launches();
    for (name, module, ptx) in [
        ("families", traffic::Module::Library, level.ptx.as_bytes()),
        ("mutants", traffic::Module::Mutants, mutants::PTX.as_bytes()),
    ] {
        let of_module = launches.iter().filter(|counted| counted.module == module);
        let entries: BTreeSet<&str> = of_module.map(|counted| counted.symbol).collect();
        std::fs::write(folder.join(name).with_extension("ptx"), ptx)?;
        std::fs::write(
            folder.join(name).with_extension("entries"),
            Vec::from_iter(entries).join(","),
        )?;
    }
    Ok(())
}
