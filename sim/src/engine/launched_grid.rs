//! One launch of a run: its kernel, its shape, and the results of its blocks.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::analysis::grid_clock::GridClock;
use crate::fault::{FaultKind, LaunchName, Severity, SimFault, SourceLocation};
use crate::report::{LineTraffic, TrafficKind};
use crate::synchronization::{SyncKind, Synchronization};

use super::context::{BlockContext, BlockResults};
use super::run::{Config, LaunchOutcome, LaunchRequest, Request};
use super::statics::Statics;

/// One launch of a run, which its workers share.
pub(super) struct LaunchedGrid {
    /// Its number among the launches of the run.
    pub(super) number: u32,
    /// Its name in faults, if it is one of several launches.
    pub(super) name: Option<LaunchName>,
    pub(super) config: Config,
    /// The kernel. It lives until `run` returns, which is after its workers have ended.
    pub(super) kernel: *const (dyn Fn() + Sync),
    pub(super) statics: Mutex<Statics>,
    /// What the threads of the blocks that have ended know of other blocks; kept if there is a later launch.
    known: Mutex<GridClock>,
    results: Mutex<Results>,
}

// SAFETY: the kernel is `Sync`; the rest is shared by locks.
unsafe impl Send for LaunchedGrid {}
// SAFETY: as above.
unsafe impl Sync for LaunchedGrid {}

/// The results of blocks so far.
#[derive(Default)]
struct Results {
    /// Distinct faults, each with the position of the first block that had it and its number in that block.
    faults: Vec<(u64, usize, SimFault)>,
    output: BTreeMap<u64, String>,
    lines: BTreeMap<(SourceLocation, TrafficKind), LineTraffic>,
    synchronizations: BTreeMap<(SourceLocation, SyncKind), u64>,
    approximate: u64,
    barriers: Option<(u32, u32)>,
    blocks: u64,
}

impl LaunchedGrid {
    /// The launch of this number in the request. The caller keeps its kernel alive.
    pub(super) fn new(number: u32, request: &Request<'_>, launch: &LaunchRequest<'_>) -> Self {
        // SAFETY: only the lifetime changes. The kernel is called by workers alone, and `run`, which the request
        // outlives, returns after all of them have ended.
        let kernel = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(launch.kernel) };
        Self {
            number,
            name: launch.name.clone(),
            config: Config::new(request, launch),
            kernel,
            statics: Mutex::default(),
            known: Mutex::default(),
            results: Mutex::default(),
        }
    }

    /// Adds the results of a block.
    pub(super) fn hand_in(&self, block: BlockResults) {
        let position = block.position;
        let mut results = self.results.lock();
        results.blocks += 1;
        for (number, fault) in block.faults.into_iter().enumerate() {
            match results.faults.iter_mut().find(|(_, _, known)| known.is_like(&fault)) {
                Some((first, place, known)) => {
                    let count = known.count + fault.count;
                    if position < *first {
                        (*first, *place, *known) = (position, number, fault);
                    }
                    known.count = count;
                }
                None => results.faults.push((position, number, fault)),
            }
        }
        if !block.output.is_empty() {
            results.output.insert(position, block.output);
        }
    }

    /// Adds the counts of a context over all its blocks: traffic and barriers. A context that is torn has none.
    pub(super) fn hand_in_counts(&self, context: &BlockContext) {
        if context.is_torn() {
            return;
        }
        let analysis = context.analysis();
        let mut results = self.results.lock();
        results.approximate += analysis.traffic.approximate();
        let totals = analysis.traffic.totals().iter().enumerate();
        for (number, total) in totals.filter(|(_, total)| total.requests > 0) {
            let (location, class) = analysis.locations.get(number as u16);
            let kind = TrafficKind {
                space: class.space,
                access: class.op.into(),
                instruction: class.instruction,
            };
            let location = SourceLocation::from(location);
            let line = results
                .lines
                .entry((location.clone(), kind))
                .or_insert_with(|| LineTraffic {
                    location,
                    kind,
                    requests: 0,
                    lanes: 0,
                    actual: 0,
                    ideal: 0,
                    bytes: 0,
                });
            line.requests += total.requests;
            line.lanes += total.lanes;
            line.actual += total.actual;
            line.ideal += total.ideal;
            line.bytes += total.bytes;
        }
        for counted in context.synchronizations().iter() {
            let own = results.synchronizations.entry((counted.location, counted.kind));
            *own.or_default() += counted.executions;
        }
        if let Some((fewest, most)) = context.barriers_passed() {
            let (low, high) = results.barriers.unwrap_or((fewest, most));
            results.barriers = Some((low.min(fewest), high.max(most)));
        }
    }

    /// Records that the launch as a whole is at fault. The first such fault counts, whichever worker found it.
    pub(super) fn add_fault(&self, kind: FaultKind) {
        let fault = SimFault::of_launch(kind);
        let mut results = self.results.lock();
        if !results.faults.iter().any(|(_, _, known)| known.is_like(&fault)) {
            results.faults.push((0, 0, fault));
        }
    }

    /// Adds what the threads of a block that has ended know of other blocks.
    pub(super) fn add_knowledge(&self, known: &GridClock) {
        self.known.lock().merge(known);
    }

    /// What is known to whoever knows that the launch has ended: all that it has done, and what it knew.
    pub(super) fn knowledge(&self) -> GridClock {
        let mut known = self.known.lock().clone();
        known.insert_launch(self.number);
        known
    }

    /// The outcome, when all blocks have ended.
    pub(super) fn outcome(&self) -> LaunchOutcome {
        let mut results = std::mem::take(&mut *self.results.lock());
        results.faults.sort_by_key(|&(position, number, _)| (position, number));
        let found = causes_first(results.faults.into_iter().map(|(_, _, fault)| fault).collect());
        let (warnings, faults) = found
            .into_iter()
            .partition(|found| found.kind.severity() == Severity::Warning);
        LaunchOutcome {
            blocks: results.blocks,
            faults,
            warnings,
            static_bytes: self.static_bytes(),
            barriers: results.barriers.unwrap_or((0, 0)),
            lines: results.lines.into_values().collect(),
            synchronizations: (results.synchronizations.into_iter())
                .map(|((location, kind), executions)| Synchronization {
                    location,
                    kind,
                    executions,
                })
                .collect(),
            approximate: results.approximate,
            output: results.output.into_values().collect(),
        }
    }
}

/// Faults in the order of the schedule, but causes first: atomics of too small a scope before the races that follow,
/// and a race before a read of memory that its write came too late for.
fn causes_first(mut faults: Vec<SimFault>) -> Vec<SimFault> {
    let mut raced: Vec<SourceLocation> = Vec::new();
    for race in &faults {
        if let FaultKind::GlobalRace { .. } = race.kind {
            let other = race.other.as_ref().map(|other| &other.location);
            raced.extend(race.location.iter().chain(other).cloned());
        }
    }
    faults.sort_by_key(|fault| match (&fault.kind, &fault.location) {
        (FaultKind::AtomicScope { .. }, _) => 0,
        (FaultKind::UninitializedRead { .. }, Some(location)) if raced.contains(location) => 2,
        _ => 1,
    });
    faults
}
