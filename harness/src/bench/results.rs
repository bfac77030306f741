//! What a benchmark finds, as plain data.

use serde::Serialize;
use tilewright::dispatch::PlanSummary;
use tilewright::{Error, ErrorKind};

use super::rows::Row;
use super::stats::Quartiles;
use super::suites::Draw;
use super::telemetry::Telemetry;

/// A suite's results.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    /// The suite's name.
    pub suite: String,
    /// Where, when and with what.
    pub about: About,
    /// The rows in the suite's order.
    pub rows: Vec<RowResult>,
}

/// Where, when and with what a suite ran.
#[derive(Clone, Debug, Default, Serialize)]
pub struct About {
    /// The date of the run.
    pub date: String,
    /// The commit that was built.
    pub commit: String,
    /// The device's name, or the CPU's threads.
    pub device: String,
    /// The newest CUDA version that the driver supports; none without a GPU.
    pub cuda: Option<String>,
    /// The architecture whose PTX was loaded; none without a GPU.
    pub ptx_level: Option<&'static str>,
    /// What ours is compared with; none where it could not be loaded.
    pub peer: Option<String>,
    /// How random shapes were drawn; none for other suites.
    pub random: Option<Draw>,
    /// Milliseconds for which both sides run before a row is timed.
    pub warm_up_ms: u64,
    /// Bytes that are written before each lone launch, more than the second-level cache holds; none on the CPU.
    pub flushed_bytes: Option<u64>,
    /// What a reader must know of the run, a sentence each.
    pub notes: Vec<String>,
    /// What the device can do at most; none without a GPU, or where its architecture is not in the table.
    pub ceilings: Option<Ceilings>,
}

/// What a device can do at most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ceilings {
    /// 10¹² operations in a second on the ordinary cores in f32, two for each multiply-add, at `clock_mhz`.
    pub f32_tflops: f64,
    /// 10¹² operations in a second on the tensor cores in f16 or bf16, dense, at the same clock; none without tensor
    /// cores.
    pub half_tflops: Option<f64>,
    /// The same in FP8; none without such tensor cores.
    pub fp8_tflops: Option<f64>,
    /// The clock that these are computed with.
    pub clock_mhz: f64,
    /// 10⁹ bytes of device memory in a second.
    pub dram_gb_per_second: f64,
}

/// One row's results.
#[derive(Clone, Debug, Serialize)]
pub struct RowResult {
    /// The row.
    #[serde(flatten)]
    pub row: Row,
    /// The symbol of our kernel; none on the CPU, and where none could be planned.
    pub kernel: Option<&'static str>,
    /// What was measured, or why not.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of a row.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was checked and timed.
    Measured(Box<Measurement>),
    /// It was not.
    Failed {
        /// One line with the reason.
        problem: String,
        /// Who must act.
        kind: ErrorKind,
    },
}

/// The times of one row.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// Ours.
    pub ours: Side,
    /// What it is compared with, where there is one.
    pub peer: Option<Side>,
    /// Peer time over ours, each pair of neighbouring turns; above 1, ours is faster.
    pub ratio: Option<Quartiles>,
    /// The same of lone launches.
    pub lone_ratio: Option<Quartiles>,
    /// The same turns on zeros, where they were asked for.
    pub zeros: Option<OnZeros>,
    /// Candidates of the peer that failed, with the reason. The peer is the fastest of the others.
    pub passed_over: Vec<PassedOver>,
    /// Turns of each side.
    pub rounds: usize,
    /// Launches of one turn.
    pub launches: usize,
    /// Lone launches of each side; none where there are none.
    pub lone_rounds: Option<usize>,
    /// Sets of operands that launches took in turns.
    pub sets: usize,
    /// Our kernel's geometry and memory; none on the CPU.
    pub plan: Option<PlanSummary>,
    /// The [digest](crate::digest::digests) of our kernel; none on the CPU.
    pub digest: Option<String>,
    /// The device meanwhile; none where NVML is not there, and on the CPU.
    pub telemetry: Option<Telemetry>,
}

/// One side of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// The kernel or the library's function.
    pub name: String,
    /// How fast, one launch after the other.
    #[serde(flatten)]
    pub speed: Speed,
    /// Microseconds of a launch alone on an idle device, its operands in device memory and in no cache; none on the
    /// CPU.
    pub lone_us: Option<Quartiles>,
    /// The largest error of a compared element, in units of the bound of its sum.
    pub error_over_bound: f64,
}

/// How fast a side is.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Speed {
    /// Microseconds of one launch.
    pub us: Quartiles,
    /// 10¹² operations in a second, at the median.
    pub tflops: f64,
}

/// The turns of a row on zeros instead of random numbers: what power would allow, never a result by itself.
#[derive(Clone, Debug, Serialize)]
pub struct OnZeros {
    /// Ours.
    pub ours: Speed,
    /// What it is compared with, where there is one.
    pub peer: Option<Speed>,
    /// Peer time over ours, each pair of neighbouring turns.
    pub ratio: Option<Quartiles>,
    /// The device meanwhile.
    pub telemetry: Option<Telemetry>,
}

/// A candidate of the peer that is not compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PassedOver {
    /// The library's function.
    pub name: String,
    /// One line with the reason.
    pub problem: String,
}

impl Speed {
    /// That of so many microseconds, one value a round, for a product of so many operations.
    pub(super) fn of(us: &[f64], flops: f64) -> Self {
        // There is at least one round.
        let us = Quartiles::of(us).unwrap_or(Quartiles {
            q1: f64::NAN,
            median: f64::NAN,
            q3: f64::NAN,
        });
        Self {
            us,
            tflops: flops / us.median / 1e6,
        }
    }
}

impl Outcome {
    /// That of a row that was not timed.
    pub(super) fn failed(error: &Error) -> Self {
        Outcome::Failed {
            problem: error.to_string(),
            kind: error.kind(),
        }
    }
}

impl RowResult {
    /// The measurement, where there is one.
    pub fn measured(&self) -> Option<&Measurement> {
        match &self.outcome {
            Outcome::Measured(measurement) => Some(measurement),
            Outcome::Failed { .. } => None,
        }
    }

    /// The median ratio, where there is one.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.measured()?.ratio?.median)
    }
}

impl Results {
    /// The suite's name; of random shapes also how many they are and their seed.
    pub fn title(&self) -> String {
        match self.about.random {
            None => self.suite.clone(),
            Some(draw) => format!("{}, {draw}", self.suite),
        }
    }

    /// Rows that were not timed, and the gravest of their kinds; `None` where all were.
    pub fn failures(&self) -> Option<(usize, ErrorKind)> {
        let kinds = self.rows.iter().filter_map(|result| match result.outcome {
            Outcome::Failed { kind, .. } => Some(kind),
            Outcome::Measured(_) => None,
        });
        Some((kinds.clone().count(), kinds.max()?))
    }
}
