//! `tilewright verify`: every kernel against the reference, on this machine's device or in the simulator.

use clap::Args;
use cuda_sim::Checks;
use serde::Serialize;
use tilewright::launch::Gpu;
use tilewright::simulate::SimOptions;
use tilewright::{DType, Error};
use tilewright_contract::Kernel;
use tilewright_harness::verify::{self, CaseResult, Outcome, Progress};

use crate::choice::{On, OnDevice};
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::{kernels, output};

/// Run every kernel on this machine's device or in the simulator and compare with the reference
///
/// The shapes reach every edge of a tile; C is poisoned before and its padding checked after.
#[derive(Args)]
pub struct Command {
    /// A family or one entry point's symbol
    #[arg(long, value_name = "NAME", default_value = kernels::AUTO)]
    kernel: String,
    /// One element type: f32, f64, f16 or bf16
    #[arg(long)]
    dtype: Option<String>,
    /// Where: the GPU's kernels on the GPU or in the simulator, or with cpu the tiled loop nest that the CPU computes
    /// with
    #[arg(long, value_enum, default_value_t = On::Gpu)]
    backend: On,
    #[command(flatten)]
    device: OnDevice,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Listing {
    device: String,
    passed: usize,
    failed: usize,
    kernels: Vec<KernelRow>,
    /// The cases that did not pass.
    problems: Vec<CaseResult>,
}

/// The cases of one kernel and element type.
#[derive(Serialize)]
struct KernelRow {
    kernel: &'static str,
    dtype: &'static str,
    tiles: Vec<[u32; 2]>,
    passed: usize,
    failed: usize,
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    let dtype = command.dtype.as_deref().map(kernels::parse_dtype).transpose()?;
    let mut chosen = kernels::entry_points(&command.kernel)?;
    let bar = output::progress_bar(0);
    let on_progress = |progress: Progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
        bar.set_message(progress.kernel);
    };
    chosen.retain(|kernel| dtype.is_none_or(|dtype| kernel.dtype == dtype));
    if chosen.is_empty() {
        return Err(Failure::input(format!(
            "{} is not a kernel for {}",
            command.kernel,
            dtype.map_or("", DType::name)
        )));
    }
    let is_chosen = |kernel: &Kernel| chosen.iter().any(|one| one.symbol == kernel.symbol);
    let backend = command.device.settle(command.backend)?;
    let (device, results) = match backend {
        On::Cpu if command.kernel != kernels::AUTO => {
            return Err(Failure::input(format!(
                "{} runs on a GPU or in the simulator; the CPU has its own kernel",
                command.kernel
            )));
        }
        On::Cpu => {
            let dtypes = dtype.map_or(DType::ALL.to_vec(), |dtype| vec![dtype]);
            ("CPU".to_owned(), verify::run_on_cpu(&dtypes, on_progress))
        }
        On::Sim => {
            let options = SimOptions {
                checks: Checks::Faults,
                ..SimOptions::default()
            };
            let device = format!("simulator ({} limits)", options.architecture.name);
            (device, verify::run_in_simulator(&options, is_chosen, on_progress))
        }
        On::Auto | On::Gpu => {
            let gpu = open_gpu(command.device.ordinal())?;
            // What was named is refused with the reason; of all kernels those are tried that the device runs.
            let capability = gpu.profile().compute_capability;
            let all = command.kernel == kernels::AUTO;
            let is_chosen = |kernel: &Kernel| is_chosen(kernel) && (!all || kernel.target.runs_on(capability));
            let results = verify::run(&gpu, is_chosen, |_| true, on_progress);
            (gpu.profile().name.clone(), results)
        }
    };
    bar.finish_and_clear();
    // A machine that could not do it says nothing of the kernels.
    let lacking = results.iter().find_map(|result| match &result.problem {
        Outcome::Failed(error @ Error::Resources(_)) => Some(error.to_string()),
        _ => None,
    });
    if let Some(message) = lacking {
        return Err(Failure::environment(message));
    }

    let asked_for = if backend == On::Cpu { &[][..] } else { &chosen };
    let kernels = by_kernel(asked_for, &results);
    let worst = results.iter().filter_map(|result| result.problem.kind()).max();
    let problems: Vec<_> = results
        .into_iter()
        .filter(|result| result.problem.kind().is_some())
        .collect();
    let failed = problems.len();
    let passed = kernels.iter().map(|kernel| kernel.passed).sum();
    let listing = Listing {
        device,
        passed,
        failed,
        kernels,
        problems,
    };
    if json {
        output::print_json(&listing)?;
    } else {
        output::print(&describe(&listing))?;
    }
    if let Some(kind) = worst {
        let message = format!("{failed} of {} cases failed", passed + failed);
        return Err(Failure::new(kind.into(), message).reported());
    }
    match without_room(&command.kernel, &listing) {
        None => Ok(()),
        Some(message) => Err(Failure::input(message).reported()),
    }
}

/// Which of the kernels that were named has no tile that fits; of all kernels, those that do not fit are passed over.
fn without_room(named: &str, listing: &Listing) -> Option<String> {
    let row = listing.kernels.iter().find(|row| row.tiles.is_empty())?;
    (named != kernels::AUTO).then(|| {
        format!(
            "{} has no tile that fits the shared memory of {}",
            row.kernel, listing.device
        )
    })
}

/// The first device, or why there is none and what to do without.
fn open_gpu(device: u32) -> Result<Gpu> {
    Gpu::open(device).map_err(|error| {
        let mut failure = Failure::from(error);
        if failure.exit == Exit::Unavailable {
            failure.message.push_str(
                "; --backend sim verifies the same kernels in the simulator, --backend cpu what the CPU computes with",
            );
        }
        failure
    })
}

/// The results in order, one row a kernel and element type; also for kernels of which nothing fits the device.
fn by_kernel(asked_for: &[&Kernel], results: &[CaseResult]) -> Vec<KernelRow> {
    let row = |kernel, dtype| KernelRow {
        kernel,
        dtype,
        tiles: Vec::new(),
        passed: 0,
        failed: 0,
    };
    let mut kernels: Vec<KernelRow> = asked_for
        .iter()
        .map(|kernel| row(kernel.symbol, kernel.dtype.name()))
        .collect();
    for result in results {
        let (kernel, dtype) = (result.kernel, result.dtype);
        let index = match kernels
            .iter()
            .position(|row| row.kernel == kernel && row.dtype == dtype)
        {
            Some(index) => index,
            None => {
                kernels.push(row(kernel, dtype));
                kernels.len() - 1
            }
        };
        let row = &mut kernels[index];
        if !row.tiles.contains(&result.tile) {
            row.tiles.push(result.tile);
        }
        match result.problem.kind() {
            None => row.passed += 1,
            Some(_) => row.failed += 1,
        }
    }
    kernels
}

fn describe(listing: &Listing) -> String {
    /// Problems spelled out; the count tells of the others.
    const SHOWN: usize = 20;
    let mut table = output::table();
    table.add_row(["kernel", "type", "passed", "failed", "tile widths"]);
    for row in &listing.kernels {
        let tiles = row
            .tiles
            .iter()
            .copied()
            .map(output::tile)
            .collect::<Vec<_>>()
            .join(" ");
        let tiles = if tiles.is_empty() {
            "none fits the device's shared memory".to_owned()
        } else {
            tiles
        };
        table.add_row([
            row.kernel,
            row.dtype,
            &row.passed.to_string(),
            &row.failed.to_string(),
            &tiles,
        ]);
    }
    output::right_align(&mut table, 2..4);
    let mut text = format!("{}\n\n{}", listing.device, output::render(table));
    text.push_str(&format!(
        "\n{} cases passed, {} failed\n",
        listing.passed, listing.failed
    ));
    for result in listing.problems.iter().take(SHOWN) {
        let problem = result.problem.problem().unwrap_or_default();
        text.push_str(&format!(
            "{}, {}, tile {}, {}, {}: {problem}\n",
            result.kernel,
            result.dtype,
            output::tile(result.tile),
            result.case,
            result.shape
        ));
    }
    if listing.problems.len() > SHOWN {
        text.push_str(&format!("and {} more\n", listing.problems.len() - SHOWN));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_kernel_must_have_a_tile_that_fits() {
        let row = |kernel, tiles: &[[u32; 2]]| KernelRow {
            kernel,
            dtype: "f32",
            tiles: tiles.to_vec(),
            passed: tiles.len(),
            failed: 0,
        };
        let listing = Listing {
            device: "a GPU".to_owned(),
            passed: 1,
            failed: 0,
            kernels: vec![row("small", &[[16, 16]]), row("large", &[])],
            problems: Vec::new(),
        };
        let refused = without_room("large", &listing).expect("nothing of it fits");
        assert_eq!(refused, "large has no tile that fits the shared memory of a GPU");
        assert_eq!(without_room(kernels::AUTO, &listing), None);
    }
}
