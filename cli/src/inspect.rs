//! `tilewright inspect`: what NVIDIA's assembler makes of the kernels.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use rayon::prelude::*;
use serde::Serialize;
use tilewright::launch::{FunctionUsage, Gpu};
use tilewright_harness::inspect::{self, Inspected, Nvdisasm, Ptxas, Subject, Target};
use tilewright_plan::Limiter;

use crate::choice::OnDevice;
use crate::failure::{Failure, Result};
use crate::{kernels, output, ptx};

/// Show what ptxas makes of the kernels: registers, shared memory, spills, blocks of an SM, machine code
///
/// No GPU is needed, only NVIDIA's ptxas and for --sass nvdisasm, which `cargo xtask setup` fetches. They are looked
/// for in the folder that TILEWRIGHT_CUDA_BIN names; without it in target/cuda-tools/bin, PATH, $CUDA_HOME/bin and
/// /usr/local/cuda/bin.
#[derive(Args)]
pub struct Command {
    /// A family (all its entry points), or one kernel's symbol, also of a copy; without it, all families
    #[arg(long, value_name = "NAME", default_value = kernels::AUTO)]
    kernel: String,
    /// The architectures, such as sm_120 or sm_90a,sm_100; without it, all that the kernels run on
    #[arg(long, value_name = "ARCH", value_delimiter = ',')]
    arch: Vec<String>,
    /// Show what each kernel takes; this is the default
    #[arg(long, conflicts_with_all = ["ptx", "sass"])]
    usage: bool,
    /// Show the PTX that the architecture runs
    #[arg(long, requires = "arch", conflicts_with = "sass")]
    ptx: bool,
    /// Show the machine code
    #[arg(long, requires = "arch")]
    sass: bool,
    #[command(flatten)]
    device: OnDevice,
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    let chosen = kernels::inspectable(&command.kernel)?;
    let targets = targets(&command.arch)?;
    match (command.usage, command.ptx, command.sass) {
        (_, true, _) => print_ptx(&command.kernel, &targets, json),
        (_, _, true) => print_machine_code(&command.kernel, &chosen, &targets, json),
        (true | false, false, false) => print_usage(command, &chosen, &targets, json),
    }
}

/// The architectures of these names, each once; all for none.
fn targets(names: &[String]) -> Result<Vec<Target>> {
    if names.is_empty() {
        return Ok(Target::all());
    }
    let mut targets = Vec::<Target>::new();
    for name in names {
        let target = Target::parse(name)?;
        if targets.iter().all(|known| known.name != target.name) {
            targets.push(target);
        }
    }
    Ok(targets)
}

fn nothing(kernel: &str, targets: &[Target]) -> Failure {
    let names: Vec<_> = targets.iter().map(|target| target.name.as_str()).collect();
    Failure::input(format!("{kernel} is not compiled for {}", names.join(", ")))
}

/// What `--ptx --json` prints.
#[derive(Serialize)]
struct Levels {
    levels: Vec<ptx::Listing>,
}

fn print_ptx(kernel: &str, targets: &[Target], json: bool) -> Result<()> {
    let mut levels = Vec::<ptx::Listing>::new();
    for target in targets {
        let modules: Vec<_> = target.modules().collect();
        let listing = ptx::listing(&modules, &target.name, kernel)?;
        if levels.iter().all(|known| known.level != listing.level) {
            levels.push(listing);
        }
    }
    match &levels[..] {
        _ if json => output::print_json(&Levels { levels }),
        [only] => output::print(&only.ptx),
        several => output::print(&headed(several.iter().map(|listing| (listing.level, &listing.ptx)))),
    }
}

/// What `--sass --json` prints.
#[derive(Serialize)]
struct Listings {
    kernels: Vec<MachineCode>,
}

/// One kernel for one architecture.
#[derive(Serialize)]
struct MachineCode {
    kernel: &'static str,
    arch: String,
    level: &'static str,
    sass: String,
}

fn print_machine_code(kernel: &str, chosen: &[Subject], targets: &[Target], json: bool) -> Result<()> {
    let (ptxas, nvdisasm) = (Ptxas::find()?, Nvdisasm::find()?);
    let pairs: Vec<_> = targets
        .iter()
        .flat_map(|target| chosen.iter().map(move |kernel| (target, kernel.symbol())))
        .filter_map(|(target, symbol)| Some((target, symbol, target.level_of(symbol)?)))
        .collect();
    if pairs.is_empty() {
        return Err(nothing(kernel, targets));
    }
    let codes = pairs.par_iter().map(|&(target, symbol, level)| {
        Ok(MachineCode {
            kernel: symbol,
            arch: target.name_for(level).to_owned(),
            level: level.arch,
            sass: inspect::machine_code(&ptxas, &nvdisasm, target, symbol)?,
        })
    });
    let kernels = codes.collect::<Result<Vec<_>>>()?;
    match &kernels[..] {
        _ if json => output::print_json(&Listings { kernels }),
        [only] => output::print(&only.sass),
        several => output::print(&headed(
            several
                .iter()
                .map(|code| (format!("{} for {}", code.kernel, code.arch), &code.sass)),
        )),
    }
}

/// Several texts, each under a comment that says what it is.
fn headed<'a>(texts: impl IntoIterator<Item = (impl std::fmt::Display, &'a String)>) -> String {
    let parts = texts.into_iter().map(|(head, text)| format!("// {head}\n{text}"));
    parts.collect::<Vec<_>>().join("\n")
}

/// What `--json` prints.
#[derive(Serialize)]
struct Listing {
    /// The version of ptxas.
    ptxas: String,
    /// Where it is.
    ptxas_path: PathBuf,
    /// The device whose driver was asked too; null where there is none.
    device: Option<Device>,
    /// Why there is none.
    no_device: Option<String>,
    kernels: Vec<Row>,
}

/// A device with the kernels loaded.
#[derive(Serialize)]
struct Device {
    name: String,
    /// Its architecture.
    arch: &'static str,
}

/// A kernel on an architecture.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    inspected: Inspected,
    /// What the driver says of the same kernel; null where no device of this architecture is present.
    driver: Option<FunctionUsage>,
}

fn print_usage(command: &Command, chosen: &[Subject], targets: &[Target], json: bool) -> Result<()> {
    let ptxas = Ptxas::find()?;
    let assembling = output::spinner();
    assembling.set_message("assembling");
    let inspected: Vec<_> = targets
        .par_iter()
        .map(|target| inspect::inspect(&ptxas, target, chosen))
        .collect::<tilewright::Result<_>>()?;
    assembling.finish_and_clear();
    if inspected.iter().all(Vec::is_empty) {
        return Err(nothing(&command.kernel, targets));
    }

    let (device, usage, no_device) = match ask_driver(command.device.ordinal(), chosen) {
        Ok((device, usage)) => (Some(device), usage, None),
        Err(error) if command.device.named().is_some() => return Err(error.into()),
        Err(error) => (None, BTreeMap::new(), Some(error.to_string())),
    };
    let mut kernels = Vec::new();
    for (target, rows) in targets.iter().zip(inspected) {
        let present = device
            .as_ref()
            .is_some_and(|device| device.arch == target.architecture.name);
        for inspected in rows {
            let driver = usage.get(inspected.usage.symbol.as_str()).filter(|_| present).copied();
            kernels.push(Row { inspected, driver });
        }
    }
    // A kernel's architectures below one another; the sort keeps their order.
    let place = |row: &Row| {
        chosen
            .iter()
            .position(|kernel| kernel.symbol() == row.inspected.usage.symbol)
    };
    kernels.sort_by_key(place);
    let listing = Listing {
        ptxas: ptxas.version()?,
        ptxas_path: ptxas.path().to_owned(),
        device,
        no_device,
        kernels,
    };
    if json {
        output::print_json(&listing)
    } else {
        output::print(&describe(&listing))
    }
}

/// A device and what its driver says of the kernels.
fn ask_driver(ordinal: u32, chosen: &[Subject]) -> tilewright::Result<(Device, BTreeMap<&'static str, FunctionUsage>)> {
    let gpu = Gpu::open(ordinal)?;
    let architecture = gpu.profile().architecture();
    let device = Device {
        name: gpu.profile().name.clone(),
        arch: architecture.map_or("", |architecture| architecture.name),
    };
    let mut usage = BTreeMap::new();
    for kernel in chosen {
        match *kernel {
            Subject::Kernel(kernel) if kernel.target.runs_on(gpu.profile().compute_capability) => {
                usage.insert(kernel.symbol, gpu.usage(kernel)?);
            }
            Subject::Kernel(_) => {}
            Subject::Copy(kind) => {
                usage.insert(kernel.symbol(), gpu.copy_usage(kind)?);
            }
        }
    }
    Ok((device, usage))
}

fn describe(listing: &Listing) -> String {
    let mut table = output::table();
    table.add_row([
        "kernel",
        "architecture",
        "registers",
        "barriers",
        "stack",
        "spill stores",
        "loads",
        "tile",
        "static",
        "dynamic",
        "shared",
        "limit",
        "blocks",
        "limited by",
    ]);
    for Row { inspected, .. } in &listing.kernels {
        let usage = &inspected.usage;
        let mut row = vec![
            usage.symbol.clone(),
            inspected.arch.clone(),
            usage.registers.to_string(),
            usage.barriers.to_string(),
            usage.stack_bytes.to_string(),
            usage.spill_store_bytes.to_string(),
            usage.spill_load_bytes.to_string(),
        ];
        match (&inspected.budget, &inspected.occupancy) {
            (Some(budget), Some(occupancy)) => row.extend([
                budget.tile.map_or_else(|| "none".to_owned(), output::tile),
                budget.static_bytes.to_string(),
                budget.dynamic_bytes.to_string(),
                budget.total_bytes.to_string(),
                format!("{}{}", if budget.fits { "" } else { "EXCEEDS " }, budget.limit_bytes),
                occupancy.blocks_per_sm.to_string(),
                occupancy.limiters().map(Limiter::name).collect::<Vec<_>>().join(", "),
            ]),
            _ => row.extend(["none fits".to_owned(), usage.static_smem_bytes.to_string()]),
        }
        table.add_row(row);
    }
    output::right_align(&mut table, 2..13);
    let mut text = output::render(table);
    text.push_str(&format!(
        "\nBytes, by ptxas {}, of a thread (stack, spills) or a block. tile: the widest that the planner launches; \
         shared: static by ptxas and\ndynamic by the plan, of the opt-in limit; blocks: how many such blocks a \
         SM holds.\n",
        listing.ptxas
    ));
    text.push_str(&remarks(&listing.kernels));
    text.push_str(&beside_the_driver(listing));
    text
}

fn remarks(rows: &[Row]) -> String {
    let mut text = String::new();
    for Row { inspected, .. } in rows {
        for remark in &inspected.remarks {
            text.push_str(&format!("{} {}: {remark}\n", inspected.usage.symbol, inspected.arch));
        }
    }
    if text.is_empty() {
        return text;
    }
    format!("\nptxas remarks:\n{text}")
}

/// The driver's numbers beside those of ptxas, or why there are none.
fn beside_the_driver(listing: &Listing) -> String {
    let Some(device) = &listing.device else {
        let reason = listing.no_device.as_deref().unwrap_or_default();
        return format!("\nThe driver's own numbers are not shown: {reason}\n");
    };
    let mut table = output::table();
    table.add_row([
        "kernel",
        "registers",
        "driver",
        "static",
        "driver",
        "stack",
        "driver's local",
        "max threads",
    ]);
    let mut any = false;
    for Row { inspected, driver } in &listing.kernels {
        let (usage, Some(driver)) = (&inspected.usage, driver) else {
            continue;
        };
        any = true;
        table.add_row([
            usage.symbol.clone(),
            usage.registers.to_string(),
            driver.registers.to_string(),
            usage.static_smem_bytes.to_string(),
            driver.static_smem_bytes.to_string(),
            usage.stack_bytes.to_string(),
            driver.local_bytes.to_string(),
            driver.max_threads_per_block.to_string(),
        ]);
    }
    if !any {
        return format!(
            "\nThe driver of {} compiles for {}, which was not asked for.\n",
            device.name, device.arch
        );
    }
    output::right_align(&mut table, 1..8);
    format!(
        "\nptxas for {} beside the driver's own compiler, on {}:\n{}",
        device.arch,
        device.name,
        output::render(table)
    )
}
