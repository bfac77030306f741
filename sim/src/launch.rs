//! Launching a kernel on the CPU.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::budget::Budget;
use crate::buffer::{Allocation, Snapshot};
use crate::dim::Dim3;
use crate::engine::{self, Outcome, Request, WatchedRaces};
use crate::fault::{FaultKind, SimFault};
use crate::limits::Limits;
use crate::policy::{Comparison, Policy};
use crate::report::{Report, SharedUsage};
use crate::schedule::Schedule;
use crate::synchronization::Synchronizations;

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
    grid: Dim3,
    cluster: Dim3,
    block: Dim3,
    dynamic_bytes: u32,
    limits: Limits,
    schedule: Schedule,
    checks: Checks,
    policy: Policy,
    synchronizations: Synchronizations,
    workers: usize,
    max_faults: usize,
    time_limit: Duration,
    budget: Budget,
    only_block: Option<u64>,
    resident_blocks: Option<u64>,
    progress: Option<Arc<Progress>>,
}

/// Runs with races that take less are repeated for call stacks.
const REPEATED: Duration = Duration::from_secs(5);

/// Receives the number of blocks done and of all blocks.
pub(crate) type Progress = dyn Fn(u64, u64) + Send + Sync;

impl Launch {
    /// A launch of `grid` blocks of `block` threads, without dynamic shared memory, with every check, on
    /// [`Limits::default`].
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self {
            grid: grid.into(),
            cluster: Dim3::from(1),
            block: block.into(),
            dynamic_bytes: 0,
            limits: Limits::default(),
            schedule: Schedule::default(),
            checks: Checks::Full,
            policy: Policy::default(),
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
        let started = Instant::now();
        let mut report = self.empty_report();
        if let Err(kind) = self.check_shape() {
            report.faults.push(SimFault::of_launch(kind));
            return report;
        }
        let schedules = self.schedules();
        let buffers = Allocation::of_this_thread();
        let snapshots = |earlier: Option<&[Snapshot]>| -> Vec<Snapshot> {
            let earlier = |number: usize| earlier.and_then(|earlier| earlier.get(number));
            let numbered = buffers.iter().enumerate();
            numbered
                .map(|(number, buffer)| buffer.snapshot(earlier(number)))
                .collect()
        };
        let restore = |to: &[Snapshot]| buffers.iter().zip(to).for_each(|(buffer, old)| buffer.restore(old));
        let workers = match self.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            workers => workers,
        };
        // For repeated runs: another schedule, or a second run that does not depend on timing.
        let before = (schedules.len() > 1 || self.checks != Checks::Off).then(|| snapshots(None));
        let mut first: Option<(Schedule, Vec<Snapshot>)> = None;
        for (number, &schedule) in schedules.iter().enumerate() {
            // A kernel without a fault in the common order is run in an uncommon one.
            let is_second = number > 0 && self.schedule == Schedule::Standard;
            if is_second && first.is_none() {
                break;
            }
            if let Some(before) = before.as_deref().filter(|_| number > 0) {
                restore(before);
            }
            let request = |workers| Request {
                grid: self.grid,
                cluster: self.cluster,
                block: self.block,
                dynamic_bytes: self.dynamic_bytes,
                limits: &self.limits,
                schedule,
                // NaN in every type first, then other values: a result that depends on them differs.
                poison: [0xff, 0x00, 0x5a, 0xc3, 0x3c][number % 5],
                checks: if is_second { Checks::Faults } else { self.checks },
                policy: self.policy,
                synchronizations: &self.synchronizations,
                workers,
                time_limit: self.time_limit,
                budget: self.budget,
                started,
                only_block: self.only_block,
                resident_blocks: self.resident_blocks,
                progress: self.progress.clone(),
                watched: Arc::default(),
            };
            // Nothing that was written before the launch is the kernel's.
            buffers.iter().for_each(|buffer| buffer.lay_red_zones());
            let run_started = Instant::now();
            let mut outcome = engine::run(&request(workers), &kernel);
            if outcome.blocks_race && workers > 1 {
                // The order of the two depended on timing. With one worker it does not.
                if let Some(before) = &before {
                    restore(before);
                    outcome = engine::run(&request(1), &kernel);
                }
            }
            let watched = WatchedRaces::of(outcome.faults.iter().chain(&outcome.warnings));
            if let Some(before) = before.as_deref().filter(|_| !watched.is_empty())
                && run_started.elapsed() < REPEATED
            {
                let watched = Arc::new(watched);
                restore(before);
                engine::run(
                    &Request {
                        watched: Arc::clone(&watched),
                        progress: None,
                        ..request(1)
                    },
                    &kernel,
                );
                watched.complete(outcome.faults.iter_mut().chain(&mut outcome.warnings));
            }
            // Only the buffers of this thread can be compared and restored.
            let is_foreign = |used: &Arc<Allocation>| !buffers.iter().any(|own| Arc::ptr_eq(own, used));
            let is_alone = self.schedule == Schedule::Standard && outcome.buffers.iter().any(is_foreign);
            let broken = !outcome.faults.is_empty() || is_alone;
            self.add(&mut report, outcome, number == 0, schedule);
            add_red_zones(&mut report, &buffers);
            if schedules.len() > 1 && !broken {
                let after = snapshots(first.as_ref().map(|(_, first)| &first[..]).or(before.as_deref()));
                match &first {
                    None => first = Some((schedule, after)),
                    Some((earlier, expected)) => {
                        let differences = expected.iter().zip(&after).zip(&buffers).enumerate();
                        for (number, ((expected, found), buffer)) in differences {
                            if let Some((offset, bytes)) = expected.difference(found, buffer.bytes())
                                && !self.allows(buffer, expected, found)
                            {
                                let name = buffer.name().map(str::to_owned);
                                let fault = SimFault::of_launch(FaultKind::ScheduleDependent {
                                    schedules: [earlier.to_string(), schedule.to_string()],
                                    buffer: number as u32,
                                    offset,
                                    bytes,
                                });
                                report.add_fault(SimFault { buffer: name, ..fault });
                            }
                        }
                    }
                }
            }
        }
        report.faults_left_out = report.faults.len().saturating_sub(self.max_faults) as u64;
        report.faults.truncate(self.max_faults);
        report.warnings.truncate(self.max_faults);
        report.seconds = started.elapsed().as_secs_f64();
        if !report.output.is_empty() {
            print!("{}", report.output);
        }
        report
    }

    /// Whether the contents of a buffer after two schedules may differ.
    fn allows(&self, buffer: &Allocation, expected: &Snapshot, found: &Snapshot) -> bool {
        let comparison = buffer.comparison();
        (self.policy != Policy::default() || comparison != Comparison::Exact) && {
            let (element, bytes) = (buffer.element(), buffer.bytes());
            let (expected, found) = (expected.to_bytes(bytes), found.to_bytes(bytes));
            self.policy.allows(element, &expected, &found) || comparison.allows(element, &expected, &found)
        }
    }

    /// The schedules to run.
    fn schedules(&self) -> Vec<Schedule> {
        match self.schedule {
            Schedule::Standard if self.checks == Checks::Off || self.only_block.is_some() => vec![Schedule::Forward],
            schedule => schedule.each(),
        }
    }

    fn empty_report(&self) -> Report {
        Report {
            architecture: self.limits.name.clone(),
            grid: self.grid.to_array(),
            block: self.block.to_array(),
            schedule: self.schedule.to_string(),
            checks: self.checks,
            blocks: 0,
            threads: 0,
            resident_blocks: 0,
            faults: Vec::new(),
            faults_left_out: 0,
            warnings: Vec::new(),
            shared: SharedUsage {
                static_bytes: 0,
                dynamic_bytes: self.dynamic_bytes.into(),
                high_water_bytes: 0,
                limit_bytes: self.limits.shared_bytes.into(),
            },
            barriers_per_thread: (0, 0),
            lines: Vec::new(),
            synchronizations: Vec::new(),
            approximate_accesses: 0,
            output: String::new(),
            seconds: 0.0,
        }
    }

    fn add(&self, report: &mut Report, outcome: Outcome, is_first: bool, schedule: Schedule) {
        for mut fault in outcome.faults.into_iter().chain(outcome.warnings) {
            fault.schedule = Some(schedule.to_string());
            report.add_fault(fault);
        }
        report.shared.static_bytes = report.shared.static_bytes.max(outcome.static_bytes);
        if outcome.blocks > 0 {
            report.shared.high_water_bytes = report.shared.static_bytes + report.shared.dynamic_bytes;
        }
        if is_first {
            report.blocks = outcome.blocks;
            report.resident_blocks = outcome.resident;
            report.threads = outcome.blocks * self.block.count();
            report.barriers_per_thread = outcome.barriers;
            report.lines = outcome.lines;
            report.synchronizations = outcome.synchronizations;
            report.approximate_accesses = outcome.approximate;
            report.output = outcome.output;
        }
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

/// Records the buffers beside which the run wrote.
fn add_red_zones(report: &mut Report, buffers: &[Arc<Allocation>]) {
    for (number, buffer) in buffers.iter().enumerate() {
        let Some((offset, bytes)) = buffer.check_red_zones() else {
            continue;
        };
        let kind = FaultKind::RedZone {
            buffer: number as u32,
            buffer_bytes: buffer.bytes() as u64,
            offset,
            bytes,
        };
        // Two buffers have one fault each.
        let name = buffer.name().map(str::to_owned);
        report.faults.push(SimFault {
            buffer: name,
            ..SimFault::of_launch(kind)
        });
    }
}
