//! Benchmarks: suites of products, ours against what a user would otherwise take. How it is measured: `docs/benchmarks.md`.

mod cpu;
mod cublas;
mod gpu;
mod kernel;
mod operands;
mod report;
mod results;
mod rows;
mod stats;
mod telemetry;
mod timing;
mod twins;

use std::path::PathBuf;

use tilewright_contract::{DType, Rung};

pub use report::{json, markdown, plots, rows_on_lines};
pub use results::{About, Ceilings, Measurement, Outcome, Results, RowResult, Side, Summary};
pub use rows::{Against, Layout, Ours, Row, Suite};
pub use stats::{Quartiles, geometric_mean, quantile};
pub use telemetry::Telemetry;

use crate::error::{Error, Result};
use crate::launch::Gpu;
use crate::plan::Speeds;

/// What the caller leaves open and what not.
#[derive(Clone, Debug)]
pub struct Options {
    /// The suite.
    pub suite: Suite,
    /// One rung for every row, in place of the row's own choice.
    pub rung: Option<Rung>,
    /// What the planner takes for the kernels' speed.
    pub speeds: Speeds,
    /// Rows of this element type only.
    pub dtype: Option<DType>,
    /// Rounds of each row; without it as many as a second has room for.
    pub rounds: Option<usize>,
    /// The folder of cuBLAS.
    pub cublas: Option<PathBuf>,
    /// The twins in CUDA C++, compiled for the device.
    pub twins: Option<PathBuf>,
    /// The date of the run, for the report.
    pub date: String,
    /// The commit that was built, for the report.
    pub commit: String,
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

/// Settles what the libraries that ours is compared with read from the environment at their first use: cuBLAS computes f32 in f32
/// (`NVIDIA_TF32_OVERRIDE=0`), and `matrixmultiply` takes as many threads as ours gets.
///
/// # Safety
/// No other thread of the process reads or writes the environment meanwhile: call it before any is started.
pub unsafe fn settle_environment() {
    // SAFETY: the caller's promise.
    unsafe {
        std::env::set_var("NVIDIA_TF32_OVERRIDE", "0");
        std::env::set_var("MATMUL_NUM_THREADS", cpu::threads().to_string());
    }
}

/// Runs a suite: on the first CUDA device, or without one the CPU's suite, of which `about.notes` tells.
///
/// A row that cannot be measured does not end the suite: [`Outcome::Failed`].
///
/// # Errors
/// [`Error::InvalidArgument`] where no row is left to run, or where the folder that was named holds no cuBLAS; those of the device.
pub fn run(options: &Options, on_progress: impl FnMut(Progress<'_>)) -> Result<Results> {
    let mut about = About {
        date: options.date.clone(),
        commit: options.commit.clone(),
        ..About::default()
    };
    if options.suite == Suite::Cpu {
        if let Some(rung) = options.rung {
            return Err(Error::InvalidArgument(format!(
                "{rung} runs on a GPU; suite {} times the CPU's product",
                Suite::Cpu.name()
            )));
        }
        return on_cpu(options, about, rows(options)?, on_progress);
    }
    let rows = rows(options)?;
    let gpu = match Gpu::open(0) {
        Ok(gpu) => gpu,
        Err(Error::Unavailable(problem)) => {
            about.notes.push(format!(
                "No GPU: {problem}. Suite {} needs one; this is suite {}, {}.",
                options.suite.name(),
                Suite::Cpu.name(),
                Suite::Cpu.about()
            ));
            return on_cpu(options, about, Suite::Cpu.rows(), on_progress);
        }
        Err(other) => return Err(other),
    };
    let profile = gpu.profile();
    about.device = profile.name.clone();
    about.cuda = profile.installed.as_ref().map(|installed| installed.driver.clone());
    about.ptx_level = Some(gpu.level().arch);
    about.ceilings = gpu::ceilings(&gpu);
    let cublas = match rows.iter().any(|row| row.against == Against::Library) {
        true => gpu::load_peer(&gpu, options.cublas.as_deref(), &mut about)?,
        false => None,
    };
    let twins = match &options.twins {
        Some(file) => Some(twins::Twins::load(&gpu, file)?),
        None => None,
    };
    let rows = gpu::Bench::new(&gpu, cublas.as_ref(), twins.as_ref(), options)?.run(&rows, on_progress);
    Ok(Results {
        suite: options.suite,
        about,
        rows,
    })
}

fn on_cpu(options: &Options, about: About, rows: Vec<Row>, on_progress: impl FnMut(Progress<'_>)) -> Result<Results> {
    let rows = cpu::run(&rows, options, on_progress)?;
    Ok(Results {
        suite: Suite::Cpu,
        about: About {
            device: format!("CPU, {} threads", cpu::threads()),
            peer: Some("matrixmultiply".to_owned()),
            ..about
        },
        rows,
    })
}

/// The rows that were asked for.
fn rows(options: &Options) -> Result<Vec<Row>> {
    let all = options.suite.rows();
    let Some(dtype) = options.dtype else { return Ok(all) };
    let chosen: Vec<Row> = all.iter().filter(|row| row.dtype == dtype).cloned().collect();
    if chosen.is_empty() {
        return Err(Error::InvalidArgument(format!(
            "suite {} has no row of {dtype}; its rows are of {}",
            options.suite.name(),
            all.first().map_or("none", |row| row.dtype.name())
        )));
    }
    Ok(chosen)
}
