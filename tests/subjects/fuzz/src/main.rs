//! The fuzzer's command line.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use clap::Parser;
use device_fuzz::compare::{Compiled, Difference, Finding, compare, prepare};
use device_fuzz::device::{Optimization, Options};
use device_fuzz::error::{Error, io};
use device_fuzz::generator::{INPUTS, OUTPUTS, Program, generate};
use device_fuzz::inputs::{CASES, inputs};
use device_fuzz::reduce::reduce;
use device_fuzz::shapes::SHAPES;
use device_fuzz::{findings, source};
use indicatif::{ProgressBar, ProgressStyle};
use ptx_interpreter::Slices;

/// Runs random programs on the host and, through cuda_builder, on the PTX interpreter, and compares.
#[derive(Debug, Parser)]
struct Arguments {
    /// How many programs.
    #[arg(long, default_value_t = 300)]
    programs: usize,
    /// The same seed gives the same programs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of the first program.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Programs in one crate.
    #[arg(long, default_value_t = 100)]
    batch: usize,
    /// Batches at a time.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// How much the device build optimizes: 0, 1 or 3.
    #[arg(long, default_value_t = 3)]
    opt: u8,
    /// A toolchain for the device build, by rustup's name.
    #[arg(long)]
    toolchain: Option<String>,
    /// Shapes to leave out.
    #[arg(long, value_delimiter = ',')]
    skip: Vec<String>,
    /// How many comparisons the reduction of one finding may take; 0 leaves findings as they are.
    #[arg(long, default_value_t = 30)]
    reduce: usize,
    /// How many findings are reduced.
    #[arg(long, default_value_t = 10)]
    reductions: usize,
    /// Writes findings into this folder.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Writes PTX, inputs and expected outputs of each batch and of the kept findings into this folder, for a GPU, and
    /// runs nothing.
    #[arg(long)]
    emit: Option<PathBuf>,
    /// Prints the source of the programs and runs nothing.
    #[arg(long)]
    print: bool,
}

fn main() -> ExitCode {
    match fuzz(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing was found.
fn fuzz(arguments: &Arguments) -> Result<bool, Error> {
    let known =
        |name: &String| name == device_fuzz::generator::REMAINDER || SHAPES.iter().any(|shape| shape.name == name);
    if let Some(unknown) = arguments.skip.iter().find(|name| !known(name)) {
        return Err(Error::Option(format!("--skip {unknown}: there is no such shape")));
    }
    let optimization = Optimization::of_level(arguments.opt)
        .ok_or_else(|| Error::Option(format!("--opt {}: 0, 1 and 3 are known", arguments.opt)))?;
    let options = |job: usize| {
        let mut options = Options {
            optimization,
            toolchain: arguments.toolchain.clone(),
            ..Options::default()
        };
        // Two runs with different options may be under way at once.
        let toolchain = arguments.toolchain.as_deref().unwrap_or("own");
        options.folder.push(format!("{toolchain}-{}-{job}", arguments.opt));
        options
    };
    let numbers: Vec<u64> = (arguments.first..arguments.first + arguments.programs as u64).collect();
    let batches: Vec<&[u64]> = numbers.chunks(arguments.batch.max(1)).collect();
    if arguments.print {
        for program in programs_of(&numbers, arguments).0 {
            println!("{}", source::module(&program));
        }
        return Ok(true);
    }
    let begun = Instant::now();
    let bar = progress_bar(numbers.len());
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<Finding>> = Mutex::new(Vec::new());
    let failed: Mutex<Option<Error>> = Mutex::new(None);
    let work = |job: usize| -> Result<(), Error> {
        while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (programs, inputs) = programs_of(batch, arguments);
            let findings = match &arguments.emit {
                Some(folder) => {
                    let (compiled, findings) = prepare(&programs, &inputs, &options(job))?;
                    emit(&compiled, &folder.join(format!("batch{:05}", batch[0])))?;
                    findings
                }
                None => compare(&programs, &inputs, &options(job))?,
            };
            for finding in &findings {
                bar.suspend(|| println!("{}: {}", finding.program.name, summary(&finding.difference)));
            }
            found.lock().expect("no thread panics").extend(findings);
            bar.inc(batch.len() as u64);
            let count = found.lock().expect("no thread panics").len();
            bar.set_message(format!("{count} findings"));
            if bar.is_hidden() {
                // No terminal: a line for each batch.
                eprintln!("{}/{} programs, {count} findings", bar.position(), numbers.len());
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        for job in 0..arguments.jobs.max(1) {
            let (work, failed) = (&work, &failed);
            scope.spawn(move || {
                if let Err(error) = work(job) {
                    failed.lock().expect("no thread panics").get_or_insert(error);
                }
            });
        }
    });
    bar.finish_and_clear();
    if let Some(error) = failed.into_inner().expect("no thread panics") {
        return Err(error);
    }
    let kept_agree = match &arguments.emit {
        Some(folder) => emit_kept(folder, &options(0))?,
        None => true,
    };
    let mut found = found.into_inner().expect("no thread panics");
    found.sort_by(|a, b| a.program.name.cmp(&b.program.name));
    println!(
        "{} programs, {} cases, {} findings, {:.0} s",
        numbers.len(),
        numbers.len() * CASES,
        found.len(),
        begun.elapsed().as_secs_f64()
    );
    report(&found, arguments, &options(0))?;
    Ok(found.is_empty() && kept_agree)
}

/// Writes the findings of this repository too; whether host and device can be compiled for all of them.
fn emit_kept(folder: &Path, options: &Options) -> Result<bool, Error> {
    let (programs, inputs): (Vec<Program>, Vec<Vec<u64>>) = findings::read(&findings::folder())?
        .into_iter()
        .map(|kept| (kept.program, kept.inputs))
        .unzip();
    let (compiled, failed) = prepare(&programs, &inputs, options)?;
    for finding in &failed {
        println!("{}: {}", finding.program.name, summary(&finding.difference));
    }
    emit(&compiled, &folder.join("findings"))?;
    Ok(failed.is_empty())
}

fn programs_of(numbers: &[u64], arguments: &Arguments) -> (Vec<Program>, Vec<Vec<u64>>) {
    numbers
        .iter()
        .map(|&number| {
            let program = generate(arguments.seed, number, &arguments.skip);
            (program, inputs(arguments.seed, number))
        })
        .unzip()
}

/// Reduces findings, prints them, and keeps them where that was asked for.
fn report(found: &[Finding], arguments: &Arguments, options: &Options) -> Result<(), Error> {
    let toolchain = arguments.toolchain.as_deref().unwrap_or("the repository's toolchain");
    let toolchain = format!("{toolchain}, --opt {}", arguments.opt);
    for finding in found.iter().take(arguments.reductions) {
        let smaller = match arguments.reduce {
            0 => finding.clone(),
            builds => reduce(finding, options, builds)?,
        };
        println!(
            "\n{}: {}\n{}",
            smaller.program.name,
            smaller.difference,
            source::module(&smaller.program)
        );
        if let Some(folder) = &arguments.keep {
            let number = finding.program.name[1..].parse().expect("a name is p and a number");
            let path = findings::write(&smaller, arguments.seed, number, &toolchain, folder)?;
            println!("kept as {}", path.display());
        }
    }
    Ok(())
}

/// One line of a difference.
fn summary(difference: &Difference) -> String {
    let text = difference.to_string();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.by_ref().take(2).collect::<Vec<_>>().join(" ")
}

/// Stack of a thread (bytes): some programs recurse.
const STACK_BYTES: u32 = 16 << 10;

/// Writes modules to `NAME.N/` for a GPU: a PTX file for each kernel; `kernels.txt`, a line for each kernel with its
/// name, cases, words of input and of output of a case, and stack; the words of all kernels in order, little-endian, in
/// `inputs.bin` and `outputs.bin`.
fn emit(compiled: &[Compiled], name: &Path) -> Result<(), Error> {
    for (number, module) in compiled.iter().enumerate() {
        let folder = name.with_extension(number.to_string());
        fs::create_dir_all(&folder).map_err(io(&folder))?;
        let bytes =
            |words: &mut dyn Iterator<Item = &u64>| words.flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let kernels = &module.kernels;
        // Name, cases, words of input and output of a case, bytes of stack: what a launch needs.
        let lines: Vec<String> = kernels
            .iter()
            .map(|kernel| format!("{} {CASES} {INPUTS} {OUTPUTS} {STACK_BYTES}\n", kernel.name))
            .collect();
        let slices = Slices::of(&module.ptx).map_err(|error| Error::Option(error.to_string()))?;
        let ptx = |name: &str| slices.kernel(name).expect("the module has its kernels");
        let kernels_ptx = kernels
            .iter()
            .map(|kernel| (format!("{}.ptx", kernel.name), ptx(&kernel.name).into_bytes()));
        let inputs = bytes(&mut kernels.iter().flat_map(|kernel| &kernel.inputs));
        let outputs = bytes(&mut kernels.iter().flat_map(|kernel| &kernel.outputs));
        let others = [
            ("kernels.txt", lines.concat().into_bytes()),
            ("inputs.bin", inputs),
            ("outputs.bin", outputs),
        ];
        for (file, content) in kernels_ptx.chain(others.map(|(file, content)| (file.to_owned(), content))) {
            let path = folder.join(file);
            fs::write(&path, content).map_err(io(&path))?;
        }
    }
    Ok(())
}

fn progress_bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    // The template is a constant; were it wrong, the default style would do.
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} programs, {eta} left, {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
