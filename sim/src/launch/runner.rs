//! Runs launches under the schedules that they ask for, and makes their reports.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::analysis::grid_clock::LAUNCHES;
use crate::buffer::{Allocation, Snapshot};
use crate::engine::{self, LaunchOutcome, LaunchRequest, Request, WatchedRaces};
use crate::fault::{FaultKind, LaunchName, SimFault};
use crate::policy::{Comparison, Policy};
use crate::report::{Report, SharedUsage};
use crate::schedule::Schedule;

use super::{Checks, Launch};

/// Runs with races that take less are repeated for call stacks.
const REPEATED: Duration = Duration::from_secs(5);

/// A launch in a stream.
pub(crate) struct Queued<'a> {
    pub(crate) launch: &'a Launch,
    pub(crate) kernel: &'a (dyn Fn() + Sync),
    /// It may overlap with the launch before it.
    pub(crate) is_dependent: bool,
}

/// Runs launches one after the other, dependent ones with those before them. The options of the simulation are those of
/// the first. Returns a report for each.
pub(crate) fn run(launches: &[Queued<'_>]) -> Vec<Report> {
    let mut runner = Runner {
        launches,
        started: Instant::now(),
        buffers: Allocation::of_this_thread(),
        reports: launches.iter().map(|queued| queued.launch.empty_report()).collect(),
    };
    runner.run();
    for report in &mut runner.reports {
        report.seconds = runner.started.elapsed().as_secs_f64();
        if !report.output.is_empty() {
            print!("{}", report.output);
        }
    }
    runner.reports
}

struct Runner<'a> {
    launches: &'a [Queued<'a>],
    started: Instant,
    buffers: Vec<Arc<Allocation>>,
    reports: Vec<Report>,
}

/// One pass over all launches.
#[derive(Clone, Copy)]
struct Pass {
    schedule: Schedule,
    poison: u8,
    checks: Checks,
    is_first: bool,
}

impl Runner<'_> {
    /// The launch whose options of the simulation apply.
    fn options(&self) -> Option<&Launch> {
        Some(self.launches.first()?.launch)
    }

    fn run(&mut self) {
        let Some(options) = self.options().cloned() else {
            return;
        };
        let groups = self.groups();
        if self.refuses(&groups) {
            return;
        }
        let schedules = options.schedules();
        // For repeated runs: another schedule, or a second run that does not depend on timing.
        let before = (schedules.len() > 1 || options.checks != Checks::Off).then(|| self.snapshots(None));
        let mut first: Option<(Schedule, Vec<Snapshot>)> = None;
        for (number, &schedule) in schedules.iter().enumerate() {
            // A kernel without a fault in the common order is run in an uncommon one.
            let is_second = number > 0 && options.schedule == Schedule::Standard;
            if is_second && first.is_none() {
                break;
            }
            if let Some(before) = before.as_deref().filter(|_| number > 0) {
                self.restore(before);
            }
            let pass = Pass {
                schedule,
                // NaN in every type first, then other values: a result that depends on them differs.
                poison: [0xff, 0x00, 0x5a, 0xc3, 0x3c][number % 5],
                checks: if is_second { Checks::Faults } else { options.checks },
                is_first: number == 0,
            };
            let broken = self.run_groups(&options, &groups, pass, before.as_deref());
            if schedules.len() > 1 && !broken {
                let after = self.snapshots(first.as_ref().map(|(_, first)| &first[..]).or(before.as_deref()));
                match &first {
                    None => first = Some((schedule, after)),
                    Some((earlier, expected)) => self.compare(&options, (*earlier, expected), (schedule, &after)),
                }
            }
        }
        for report in &mut self.reports {
            report.faults_left_out = report.faults.len().saturating_sub(options.max_faults) as u64;
            report.faults.truncate(options.max_faults);
            report.warnings.truncate(options.max_faults);
        }
    }

    /// The launches in groups that run together: one, and those that may overlap with it.
    fn groups(&self) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (number, queued) in self.launches.iter().enumerate() {
            match groups.last_mut() {
                Some(group) if queued.is_dependent => group.end += 1,
                _ => groups.push(number..number + 1),
            }
        }
        groups
    }

    /// Whether a launch is impossible, which its report then says.
    fn refuses(&mut self, groups: &[Range<usize>]) -> bool {
        for (report, queued) in self.reports.iter_mut().zip(self.launches) {
            if let Err(kind) = queued.launch.check_shape() {
                report.faults.push(SimFault::of_launch(kind));
                return true;
            }
        }
        let has_only_block = self.launches.iter().any(|queued| queued.launch.only_block.is_some());
        let problem = if self.launches.len() > 1 && has_only_block {
            "Launch::only_block in a stream of several launches".to_owned()
        } else if let Some(group) = groups.iter().find(|group| group.len() > LAUNCHES) {
            format!(
                "{} launches that may overlap, at most {LAUNCHES} are simulated",
                group.len()
            )
        } else {
            return false;
        };
        self.reports[0]
            .faults
            .push(SimFault::of_launch(FaultKind::LaunchShape { problem }));
        true
    }

    /// The contents of all buffers. Those of `earlier` are shared where they are the same.
    fn snapshots(&self, earlier: Option<&[Snapshot]>) -> Vec<Snapshot> {
        let earlier = |number: usize| earlier.and_then(|earlier| earlier.get(number));
        let numbered = self.buffers.iter().enumerate();
        numbered
            .map(|(number, buffer)| buffer.snapshot(earlier(number)))
            .collect()
    }

    fn restore(&self, to: &[Snapshot]) {
        self.buffers
            .iter()
            .zip(to)
            .for_each(|(buffer, old)| buffer.restore(old));
    }

    /// Runs all groups, up to the first with a fault; returns whether there is one, or the buffers cannot be compared.
    /// `before` is the contents of the buffers now, if runs are repeated.
    fn run_groups(
        &mut self,
        options: &Launch,
        groups: &[Range<usize>],
        pass: Pass,
        before: Option<&[Snapshot]>,
    ) -> bool {
        groups.iter().any(|group| {
            let later = (group.start > 0 && before.is_some()).then(|| self.snapshots(before));
            self.run_group(options, group.clone(), pass, later.as_deref().or(before))
        })
    }

    /// Runs a group of launches; returns whether there is a fault, or the buffers cannot be compared.
    fn run_group(&mut self, options: &Launch, group: Range<usize>, pass: Pass, before: Option<&[Snapshot]>) -> bool {
        let launches: Vec<LaunchRequest<'_>> = group.clone().map(|number| self.launch_request(number)).collect();
        let workers = match options.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            workers => workers,
        };
        let request = |workers| Request {
            launches: &launches,
            schedule: pass.schedule,
            poison: pass.poison,
            checks: pass.checks,
            policy: options.policy,
            fp8_accumulation: options.fp8_accumulation,
            synchronizations: &options.synchronizations,
            workers,
            time_limit: options.time_limit,
            budget: options.budget,
            started: self.started,
            only_block: options.only_block,
            resident_blocks: options.resident_blocks,
            progress: options.progress.clone(),
            watched: Arc::default(),
        };
        // Nothing that was written before the launch is the kernel's.
        self.buffers.iter().for_each(|buffer| buffer.lay_red_zones());
        let run_started = Instant::now();
        let mut outcome = engine::run(&request(workers));
        if outcome.blocks_race
            && workers > 1
            && group.len() == 1
            && let Some(before) = before
        {
            // The order of the two depended on timing. With one worker it does not.
            self.restore(before);
            outcome = engine::run(&request(1));
        }
        // Another schedule has reported some of them already, with their call stacks.
        let found = group.clone().zip(&outcome.launches).flat_map(|(number, launch)| {
            let (report, faults) = (&self.reports[number], launch.faults.iter().chain(&launch.warnings));
            faults.filter(|fault| !report.has_like(fault))
        });
        let watched = WatchedRaces::of(found);
        if let Some(before) = before.filter(|_| !watched.is_empty())
            && run_started.elapsed() < REPEATED
        {
            let watched = Arc::new(watched);
            self.restore(before);
            engine::run(&Request {
                watched: Arc::clone(&watched),
                progress: None,
                ..request(1)
            });
            let found = outcome.launches.iter_mut();
            watched.complete(found.flat_map(|launch| launch.faults.iter_mut().chain(&mut launch.warnings)));
        }
        // Only the buffers of this thread can be compared and restored.
        let is_foreign = |used: &Arc<Allocation>| !self.buffers.iter().any(|own| Arc::ptr_eq(own, used));
        let is_alone = options.schedule == Schedule::Standard && outcome.buffers.iter().any(is_foreign);
        let has_faults = outcome.launches.iter().any(|launch| !launch.faults.is_empty());
        let last = group.end - 1;
        for (number, launch) in group.zip(outcome.launches) {
            self.add(number, launch, outcome.resident, pass);
        }
        add_red_zones(&mut self.reports[last], &self.buffers);
        has_faults || is_alone
    }

    fn launch_request(&self, number: usize) -> LaunchRequest<'_> {
        let Queued { launch, kernel, .. } = &self.launches[number];
        let name = || LaunchName {
            number: number as u32 + 1,
            name: launch.name.clone(),
        };
        LaunchRequest {
            grid: launch.grid,
            cluster: launch.cluster,
            block: launch.block,
            dynamic_bytes: launch.dynamic_bytes,
            limits: &launch.limits,
            kernel: *kernel,
            name: (self.launches.len() > 1).then(name),
        }
    }

    /// Records where the contents of the buffers after two schedules differ.
    fn compare(
        &mut self,
        options: &Launch,
        (earlier, expected): (Schedule, &[Snapshot]),
        (later, found): (Schedule, &[Snapshot]),
    ) {
        let Some(report) = self.reports.last_mut() else {
            return;
        };
        let differences = expected.iter().zip(found).zip(&self.buffers).enumerate();
        for (number, ((expected, found), buffer)) in differences {
            if let Some((offset, bytes)) = expected.difference(found, buffer.bytes())
                && !options.allows(buffer, expected, found)
            {
                let name = buffer.name().map(str::to_owned);
                let fault = SimFault::of_launch(FaultKind::ScheduleDependent {
                    schedules: [earlier.to_string(), later.to_string()],
                    buffer: number as u32,
                    offset,
                    bytes,
                });
                report.add_fault(SimFault { buffer: name, ..fault });
            }
        }
    }

    /// Adds the outcome of a launch to its report.
    fn add(&mut self, number: usize, outcome: LaunchOutcome, resident: u64, pass: Pass) {
        let (report, launch) = (&mut self.reports[number], self.launches[number].launch);
        for mut fault in outcome.faults.into_iter().chain(outcome.warnings) {
            fault.schedule = Some(pass.schedule.to_string());
            report.add_fault(fault);
        }
        report.shared.static_bytes = report.shared.static_bytes.max(outcome.static_bytes);
        if outcome.blocks > 0 {
            report.shared.high_water_bytes = report.shared.static_bytes + report.shared.dynamic_bytes;
        }
        if pass.is_first {
            report.blocks = outcome.blocks;
            report.resident_blocks = resident;
            report.threads = outcome.blocks * launch.block.count();
            report.barriers_per_thread = outcome.barriers;
            report.lines = outcome.lines;
            report.synchronizations = outcome.synchronizations;
            report.approximate_accesses = outcome.approximate;
            report.output = outcome.output;
        }
    }
}

impl Launch {
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
            name: self.name.clone(),
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
