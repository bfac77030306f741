//! Launching a kernel on the CPU.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::budget::Budget;
use crate::dim::Dim3;
use crate::fault::FaultKind;
use crate::limits::Limits;
use crate::policy::Policy;
use crate::report::Report;
use crate::schedule::Schedule;
use crate::synchronization::Synchronizations;
use crate::wgmma::Fp8Accumulation;

mod runner;

pub(crate) use runner::{Queued, run};

/// The checks of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Checks {
    /// Barriers, warp functions, the order of atomics between blocks, panics; no single access.
    Off,
    /// Also every access through a view: bounds, alignment, races, uninitialized reads.
    Faults,
    /// Also the wavefronts and sectors of each source line.
    #[default]
    Full,
}

/// How a kernel is launched: its grid, its block, its dynamic shared memory, and the options of the simulation.
#[derive(Clone)]
pub struct Launch {
    name: Option<String>,
    grid: Dim3,
    cluster: Dim3,
    block: Dim3,
    dynamic_bytes: u32,
    limits: Limits,
    schedule: Schedule,
    checks: Checks,
    policy: Policy,
    fp8_accumulation: Fp8Accumulation,
    synchronizations: Synchronizations,
    workers: usize,
    max_faults: usize,
    time_limit: Duration,
    budget: Budget,
    only_block: Option<u64>,
    resident_blocks: Option<u64>,
    progress: Option<Arc<Progress>>,
}

/// Receives the number of blocks done and of all blocks.
pub(crate) type Progress = dyn Fn(u64, u64) + Send + Sync;

impl Launch {
    /// A launch of `grid` blocks of `block` threads, without dynamic shared memory, with every check, on
    /// [`Limits::default`].
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self {
            name: None,
            grid: grid.into(),
            cluster: Dim3::from(1),
            block: block.into(),
            dynamic_bytes: 0,
            limits: Limits::default(),
            schedule: Schedule::default(),
            checks: Checks::Full,
            policy: Policy::default(),
            fp8_accumulation: Fp8Accumulation::default(),
            synchronizations: Synchronizations::default(),
            workers: 0,
            max_faults: 100,
            time_limit: Duration::from_secs(60),
            budget: Budget::default(),
            only_block: None,
            resident_blocks: None,
            progress: None,
        }
    }

    /// The launch's name in faults of a [`Stream`](crate::Stream).
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Blocks of a cluster along each axis, which run together; the grid must be a multiple of them. Default: one.
    pub fn cluster(mut self, cluster: impl Into<Dim3>) -> Self {
        self.cluster = cluster.into();
        self
    }

    /// Dynamic shared memory of each block, in bytes.
    pub fn dynamic_shared_bytes(mut self, bytes: u32) -> Self {
        self.dynamic_bytes = bytes;
        self
    }

    /// The limits of the launch.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The order of threads and blocks. Default: [`Schedule::Standard`], two orders.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// The checks of a launch.
    pub fn checks(mut self, checks: Checks) -> Self {
        self.checks = checks;
        self
    }

    /// What the launch allows. Default: nothing.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// How `wgmma` of FP8 adds up. Default: [`Fp8Accumulation::Exact`].
    pub fn fp8_accumulation(mut self, accumulation: Fp8Accumulation) -> Self {
        self.fp8_accumulation = accumulation;
        self
    }

    /// Whether barriers, waits and fences are listed in the report, and which one does nothing. Default: all are
    /// executed, none is listed.
    pub fn synchronizations(mut self, synchronizations: Synchronizations) -> Self {
        self.synchronizations = synchronizations;
        self
    }

    /// Blocks that run at one time; 0 means one for each core. The outcome does not depend on it.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// The most distinct faults to report; faults of the same kind at the same lines count as one.
    pub fn max_faults(mut self, faults: usize) -> Self {
        self.max_faults = faults;
        self
    }

    /// The longest time that the threads of a block may run without synchronizing; more is a fault. Default: 60 s.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// What the launch may spend in all: wall time, barriers, turns of threads. More is a fault.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Runs only the block with this linear index, for an estimate of the whole grid's time.
    pub fn only_block(mut self, block: u64) -> Self {
        self.only_block = Some(block);
        self
    }

    /// The most blocks that may be resident, that is, have started and not ended; a block that waits for one that is
    /// not resident waits forever. Give the number of the device: SMs times max resident CTAs of each. A cooperative
    /// launch of more blocks is an error on a GPU. Default: as many as this machine's memory holds
    /// ([`Report::resident_blocks`]).
    pub fn resident_blocks(mut self, blocks: u64) -> Self {
        self.resident_blocks = Some(blocks);
        self
    }

    /// Calls `progress` repeatedly during a run with the number of blocks done and of all blocks.
    pub fn on_progress(mut self, progress: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(progress));
        self
    }

    /// Calls `kernel` once for each thread of the grid.
    ///
    /// Every error of the kernel is a fault in the report. With [`Schedule::Standard`], the default, it runs twice,
    /// with [`Schedule::All`] more often, each time from the present contents of the calling thread's
    /// [buffers](crate::GlobalBuffer); the last contents remain. Memory of the host that the kernel writes by other
    /// means is written each time. A run with races, if it took less than 5 s, is repeated once more, for the call
    /// stacks of both sides. The kernel's output goes to standard output at the end, block by block.
    pub fn run(&self, kernel: impl Fn() + Sync) -> Report {
        let queued = Queued {
            launch: self,
            kernel: &kernel,
            is_dependent: false,
        };
        let reports = runner::run(&[queued]);
        reports.into_iter().next().expect("a report for each launch")
    }

    /// Checks the launch against the limits.
    fn check_shape(&self) -> Result<(), FaultKind> {
        let limits = &self.limits;
        let refuse = |problem: String| Err(FaultKind::LaunchShape { problem });
        for (what, unit, extent, limit) in [
            ("block", "threads", self.block, limits.block),
            ("grid", "blocks", self.grid, limits.grid),
        ] {
            let axes = extent.to_array().into_iter().zip(limit.to_array()).zip(["x", "y", "z"]);
            for ((extent, limit), axis) in axes {
                if extent == 0 {
                    return refuse(format!("a {what} of 0 {unit} along {axis}"));
                }
                if extent > limit {
                    return refuse(format!(
                        "a {what} of {extent} {unit} along {axis}, {} allows {limit}",
                        limits.name
                    ));
                }
            }
        }
        let threads = self.block.count();
        if threads > limits.threads_per_block.into() {
            return refuse(format!(
                "a block of {} = {threads} threads, {} allows {}",
                self.block, limits.name, limits.threads_per_block
            ));
        }
        let cluster = self.cluster.count();
        // CUDA programming guide, "Thread Block Clusters": 8 are portable, 16 with an opt-in.
        if cluster > 16 {
            return refuse(format!(
                "clusters of {} = {cluster} blocks, at most 16 are allowed",
                self.cluster
            ));
        }
        if cluster != 1 && limits.compute_capability < 900 {
            return refuse(format!(
                "clusters of {} blocks, {} has none: sm_90 is the first",
                self.cluster, limits.name
            ));
        }
        let axes = self
            .grid
            .to_array()
            .into_iter()
            .zip(self.cluster.to_array())
            .zip(["x", "y", "z"]);
        for ((blocks, extent), axis) in axes {
            if extent == 0 || !blocks.is_multiple_of(extent) {
                return refuse(format!(
                    "a grid of {blocks} blocks along {axis}, its clusters have {extent}"
                ));
            }
        }
        if let Some(block) = self.only_block.filter(|&block| block >= self.grid.count()) {
            return refuse(format!("block {block} of a grid of {}", self.grid.count()));
        }
        if self.dynamic_bytes > limits.shared_bytes {
            return Err(FaultKind::SharedLimit {
                static_bytes: 0,
                dynamic_bytes: self.dynamic_bytes.into(),
                limit_bytes: limits.shared_bytes.into(),
                limit: limits.shared_limit_name(),
            });
        }
        Ok(())
    }
}
