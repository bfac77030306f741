//! Benchmarks: suites of products, ours against what a user would otherwise take. How it is measured:
//! `docs/benchmarks.md`.

mod cpu;
pub mod cublas;
mod fp8;
mod gpu;
mod kernel;
mod method;
mod operands;
mod parse;
mod report;
mod results;
mod rows;
mod stats;
mod suites;
mod summary;
mod telemetry;
mod timing;
mod twins;

use std::path::PathBuf;

use tilewright_contract::Family;

pub use fp8::Fp8Row;
pub use operands::{Operands, Set};
pub use parse::{Selection, choice_name, product_name};
pub use report::{Table, json, markdown, plots, rows_on_lines, summary, table};
pub use results::{About, Ceilings, Measurement, OnZeros, Outcome, PassedOver, Results, RowResult, Side, Speed};
pub use rows::{Baseline, Layout, Row, Subject};
pub use stats::{Quartiles, geometric_mean, quantile};
pub use suites::{Draw, Suite};
pub use summary::{SLOW, SlowRow, Summary};
pub use telemetry::Telemetry;
pub use timing::{Launch, Pace, Schedule, Timer};

use tilewright::dispatch::{Policy, Speeds, Tuning};
use tilewright::launch::Gpu;
use tilewright::{Error, Result};

/// What the caller leaves open and what not.
#[derive(Clone, Debug)]
pub struct Options {
    /// The rows, all of which are measured.
    pub suite: Suite,
    /// One family for every row, in place of the row's own choice.
    pub family: Option<Family>,
    /// What dispatch takes for the kernels' speed.
    pub speeds: Speeds,
    /// What was measured to be fastest, for rows that name no kernel.
    pub tuning: Option<Tuning>,
    /// Whether the turns are taken on zeros too.
    pub zeros: bool,
    /// The CUDA device, counted from 0; without it the first, or the CPU where there is none.
    pub device: Option<u32>,
    /// How long each row is measured.
    pub pace: Pace,
    /// The folder of cuBLAS.
    pub cublas: Option<PathBuf>,
    /// The twins in CUDA C++, compiled for the device.
    pub twins: Option<PathBuf>,
    /// The date of the run, for the report.
    pub date: String,
    /// The commit that was built, for the report.
    pub commit: String,
}

impl Options {
    /// What dispatch chooses by.
    fn policy(&self) -> Policy {
        Policy {
            speeds: self.speeds,
            tuning: self.tuning,
            ..Policy::default()
        }
    }
}

/// How far a suite has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'r> {
    /// Rows that are done.
    pub done: usize,
    /// Rows in all.
    pub total: usize,
    /// The row that runs.
    pub row: &'r str,
}

/// Settles what the libraries that ours is compared with read from the environment at their first use: cuBLAS computes
/// f32 in f32 unless it is asked for TF32 (without `NVIDIA_TF32_OVERRIDE`, which overrides both), and `matrixmultiply`
/// takes as many threads as ours gets.
///
/// # Safety
/// No other thread of the process reads or writes the environment meanwhile: call it before any is started.
pub unsafe fn settle_environment() {
    // SAFETY: the caller's promise.
    unsafe {
        std::env::remove_var("NVIDIA_TF32_OVERRIDE");
        std::env::set_var("MATMUL_NUM_THREADS", cpu::threads().to_string());
    }
}

/// Runs a suite: on the first CUDA device, or without one the CPU's suite, of which `about.notes` tells.
///
/// A row that cannot be measured does not end the suite: [`Outcome::Failed`].
///
/// # Errors
/// [`Error::Unavailable`] for a user's own rows without a device; [`Error::InvalidArgument`] where the folder that was
/// named holds no cuBLAS; those of the device.
pub fn run(options: &Options, on_progress: impl FnMut(Progress<'_>)) -> Result<Results> {
    let suite = &options.suite;
    let mut about = About {
        date: options.date.clone(),
        commit: options.commit.clone(),
        random: suite.random,
        warm_up_ms: options.pace.warm_up.as_millis() as u64,
        ..About::default()
    };
    if suite.name == Suite::CPU {
        if let Some(family) = options.family {
            return Err(Error::InvalidArgument(format!(
                "{family} runs on a GPU; suite {} times the CPU's product",
                suite.name
            )));
        }
        return on_cpu(options, about, suite, on_progress);
    }
    let gpu = match Gpu::open(options.device.unwrap_or_default()) {
        Ok(gpu) => gpu,
        Err(Error::Unavailable(problem)) if !suite.own && options.device.is_none() => {
            let on_the_cpu = Suite::named(Suite::CPU, &Selection::default())?;
            about.notes.push(format!(
                "No GPU: {problem}. Suite {} needs one; this is suite {}, {}.",
                suite.name, on_the_cpu.name, on_the_cpu.about
            ));
            return on_cpu(options, about, &on_the_cpu, on_progress);
        }
        Err(Error::Unavailable(problem)) => {
            return Err(Error::Unavailable(format!(
                "{problem}; own and random shapes are timed on a GPU, suite {} on the CPU",
                Suite::CPU
            )));
        }
        Err(other) => return Err(other),
    };
    let profile = gpu.profile();
    about.device = profile.name.clone();
    about.cuda = profile.installed.as_ref().map(|installed| installed.driver.clone());
    about.ptx_level = Some(gpu.level().arch);
    about.ceilings = gpu::ceilings(&gpu);
    let cublas = match suite.rows.iter().any(|row| row.baseline == Baseline::Library) {
        true => gpu::load_peer(&gpu, options.cublas.as_deref(), &mut about)?,
        false => None,
    };
    let twins = match &options.twins {
        Some(file) => Some(twins::Twins::load(&gpu, file)?),
        None => None,
    };
    let mut bench = gpu::Bench::new(&gpu, cublas.as_ref(), twins.as_ref(), options)?;
    about.flushed_bytes = Some(bench.flushed_bytes());
    let rows = bench.run(&suite.rows, on_progress);
    Ok(Results {
        suite: suite.name.clone(),
        about,
        rows,
    })
}

fn on_cpu(options: &Options, about: About, suite: &Suite, on_progress: impl FnMut(Progress<'_>)) -> Result<Results> {
    let rows = cpu::run(&suite.rows, options, on_progress)?;
    Ok(Results {
        suite: suite.name.clone(),
        about: About {
            device: format!("CPU, {} threads", cpu::threads()),
            peer: Some("matrixmultiply".to_owned()),
            ..about
        },
        rows,
    })
}
