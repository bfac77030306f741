//! The program.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use cuda_arch::Architecture;

use crate::counters::Counted;
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::kernels::{Problem, Spills, VARIANTS};
use crate::measure::{Results, measure};
use crate::{record, workload};

/// Check and time kernels that differ only in their register budget
///
/// Without a GPU, or with --arch, print what ptxas makes of them.
#[derive(Parser)]
#[command(name = "smem-spilling")]
struct Arguments {
    /// Print what ptxas makes of each kernel for this architecture, such as sm_120, and nothing else
    #[arg(long)]
    arch: Option<String>,
    /// The folder for spilling.json and spilling.md
    #[arg(long, default_value = "results")]
    out: PathBuf,
    /// What `ncu --csv` wrote of --once: its counters go beside the times
    #[arg(long)]
    counters: Option<PathBuf>,
    /// Launch each kernel once a size, and nothing else
    #[arg(long)]
    once: bool,
    /// The commit that was built
    #[arg(long, default_value = "unknown")]
    commit: String,
    /// The date of the run
    #[arg(long, default_value = "unknown")]
    date: String,
    /// Timed samples of each kernel and size
    #[arg(long, default_value = "21")]
    rounds: NonZeroUsize,
    /// What `cargo bench` passes
    #[arg(long, hide = true)]
    bench: bool,
}

/// Runs the program. `digests`: the digest of each kernel's PTX, where the caller knows one; results carry them.
///
/// Exit codes: 0; 2 for wrong arguments; 3 where nothing was launched because there is no driver or no GPU; 4 for a
/// wrong result; 1 for every other error.
pub fn run(digests: &BTreeMap<String, String>) -> ExitCode {
    let Err(error) = try_run(&Arguments::parse(), digests) else {
        return ExitCode::SUCCESS;
    };
    match &error {
        Error::Unavailable(reason) => println!("Nothing was launched: {reason}"),
        _ => eprintln!("error: {error}"),
    }
    ExitCode::from(match error {
        Error::InvalidArgument(_) => 2,
        Error::Unavailable(_) => 3,
        Error::Wrong(_) => 4,
        Error::Driver(_) => 1,
    })
}

fn try_run(arguments: &Arguments, digests: &BTreeMap<String, String>) -> Result<()> {
    let find = |name: &str| cuda_arch::find(name).map_err(|error| Error::InvalidArgument(error.to_string()));
    if let Some(name) = &arguments.arch {
        print_record(find(name)?);
        return Ok(());
    }
    let gpu = match Gpu::open() {
        Ok(gpu) => gpu,
        Err(Error::Unavailable(reason)) if !arguments.once => {
            for name in ["sm_90", "sm_120"] {
                print_record(find(name)?);
            }
            return Err(Error::Unavailable(format!(
                "{reason} (--arch shows another architecture)"
            )));
        }
        Err(error) => return Err(error),
    };
    if arguments.once {
        return once(&gpu);
    }
    let results = study(&gpu, arguments, digests)?;
    let table = results.markdown();
    print!("{table}");
    let json = serde_json::to_string_pretty(&results).map_err(|error| Error::InvalidArgument(error.to_string()))?;
    let out = &arguments.out;
    std::fs::create_dir_all(out)
        .and_then(|()| std::fs::write(out.join("spilling.md"), table))
        .and_then(|()| std::fs::write(out.join("spilling.json"), json + "\n"))
        .map_err(|error| Error::InvalidArgument(format!("{}: {error}", out.display())))
}

fn print_record(arch: &Architecture) {
    let name = arch.name;
    println!(
        "{name}, by ptxas 13.0 (usage/{name}.txt):\n\n{}",
        record::table(&record::resources(arch))
    );
}

/// Launches each variant once a size that is counted, in their order: what [`Counted::of`] relies on.
fn once(gpu: &Gpu) -> Result<()> {
    for problem in Problem::ALL {
        for size in workload::COUNTED {
            let mut workload = workload::of(gpu, problem, size)?;
            for variant in problem.variants() {
                workload.launch(variant)?;
            }
            gpu.synchronize()?;
        }
    }
    Ok(())
}

/// Checks every variant on every size, then times those of each budget in turns.
fn study(gpu: &Gpu, arguments: &Arguments, digests: &BTreeMap<String, String>) -> Result<Results> {
    let counted = arguments.counters.as_deref().map(Counted::read).transpose()?;
    let mut variants = Vec::new();
    for variant in VARIANTS {
        let mut resources = gpu.resources(variant)?;
        resources.digest = digests.get(variant.symbol).cloned();
        variants.push(resources);
    }
    let mut rows = Vec::new();
    for problem in Problem::ALL {
        for size in 0..workload::SIZES {
            let mut workload = workload::of(gpu, problem, size)?;
            for variant in problem.variants() {
                workload.check(variant).map_err(|error| match error {
                    Error::Wrong(how) => Error::Wrong(format!("{}, {}: {how}", variant.symbol, workload.label())),
                    other => other,
                })?;
            }
            for shared in problem.variants().filter(|variant| variant.spills == Spills::Shared) {
                let mut row = measure(gpu, &mut *workload, shared, arguments.rounds.get())?;
                let nth = workload::COUNTED.iter().position(|counted| *counted == size);
                if let (Some(counted), Some(nth)) = (&counted, nth) {
                    row.times_mut()
                        .for_each(|time| time.counters = counted.of(time.symbol, nth));
                }
                rows.push(row);
            }
        }
    }
    Ok(Results {
        date: arguments.date.clone(),
        commit: arguments.commit.clone(),
        device: gpu.name.clone(),
        driver: gpu.driver.clone(),
        rounds: arguments.rounds.get(),
        variants,
        rows,
    })
}
