//! One run of a grid under one schedule: the workers, their shared state, and the outcome.

use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use crate::analysis::global_shadow::GlobalShadow;
use crate::analysis::scopes::AtomicScopes;
use crate::analysis::sync_vars::GridSync;
use crate::budget::Budget;
use crate::buffer::Allocation;
use crate::dim::Dim3;
use crate::fault::{FaultKind, Severity, SimFault, SourceLocation};
use crate::launch::{Checks, Progress};
use crate::limits::Limits;
use crate::policy::Policy;
use crate::report::{LineTraffic, TrafficKind};
use crate::schedule::Schedule;
use crate::synchronization::{SyncKind, Synchronization, Synchronizations};

use super::context::{BlockContext, BlockResults, CANARY_BYTES, WatchedRaces, install_panic_hook};
use super::grid::Grid;
use super::statics::Statics;
use super::trap;
use super::watchdog::{Watchdog, watch};
use super::worker::work;

/// The launch to run.
pub(crate) struct Request<'a> {
    pub(crate) grid: Dim3,
    pub(crate) cluster: Dim3,
    pub(crate) block: Dim3,
    pub(crate) dynamic_bytes: u32,
    pub(crate) limits: &'a Limits,
    pub(crate) schedule: Schedule,
    /// The value of uninitialized bytes of shared memory.
    pub(crate) poison: u8,
    pub(crate) checks: Checks,
    pub(crate) policy: Policy,
    pub(crate) synchronizations: &'a Synchronizations,
    pub(crate) workers: usize,
    pub(crate) time_limit: Duration,
    pub(crate) budget: Budget,
    /// The start of the launch.
    pub(crate) started: Instant,
    pub(crate) only_block: Option<u64>,
    /// The most blocks that may be resident.
    pub(crate) resident_blocks: Option<u64>,
    pub(crate) progress: Option<Arc<Progress>>,
    /// The races whose call stacks to record.
    pub(crate) watched: Arc<WatchedRaces>,
}

/// The outcome of a run.
pub(crate) struct Outcome {
    pub(crate) blocks: u64,
    /// In the order of the schedule.
    pub(crate) faults: Vec<SimFault>,
    /// In the order of the schedule.
    pub(crate) warnings: Vec<SimFault>,
    /// Whether two blocks raced: the outcome then depends on which was faster.
    pub(crate) blocks_race: bool,
    pub(crate) static_bytes: u64,
    pub(crate) barriers: (u32, u32),
    pub(crate) lines: Vec<LineTraffic>,
    pub(crate) synchronizations: Vec<Synchronization>,
    pub(crate) approximate: u64,
    pub(crate) output: String,
    /// The most blocks that were resident.
    pub(crate) resident: u64,
    /// The buffers that were accessed.
    pub(crate) buffers: Vec<Arc<Allocation>>,
}

/// The part of a request that does not change during the run.
pub(super) struct Config {
    pub(super) grid: Dim3,
    /// Blocks of a cluster along each axis.
    pub(super) cluster: Dim3,
    pub(super) block: Dim3,
    pub(super) dynamic_bytes: u32,
    pub(super) compute_capability: u32,
    pub(super) poison: u8,
    pub(super) checks: Checks,
    pub(super) policy: Policy,
    pub(super) synchronizations: Synchronizations,
    pub(super) time_limit: Duration,
    pub(super) budget: Budget,
    pub(super) limits: Limits,
}

impl Config {
    /// The clusters of the grid.
    pub(super) fn clusters(&self) -> Dim3 {
        let (grid, cluster) = (self.grid.to_array(), self.cluster.to_array());
        std::array::from_fn::<u32, 3, _>(|axis| grid[axis] / cluster[axis].max(1)).into()
    }

    /// The linear index of the block of this rank in a cluster.
    pub(super) fn block_of(&self, cluster: u64, rank: u64) -> u64 {
        let (corner, inside) = (self.clusters().position(cluster), self.cluster.position(rank));
        let extents = self.cluster.to_array();
        self.grid
            .linear(std::array::from_fn(|axis| corner[axis] * extents[axis] + inside[axis]))
    }

    /// The linear index of the cluster of a block.
    pub(super) fn cluster_of(&self, block: u64) -> u64 {
        let (position, extents) = (self.grid.position(block), self.cluster.to_array());
        self.clusters()
            .linear(std::array::from_fn(|axis| position[axis] / extents[axis].max(1)))
    }

    /// Bytes of an arena's static part: the limit, plus the canaries of 256 arrays.
    pub(super) fn static_capacity(&self) -> usize {
        const ARRAYS: usize = 256;
        self.limits.static_shared_bytes as usize + ARRAYS * 2 * CANARY_BYTES
    }
}

/// A buffer that the run has accessed.
pub(super) struct TrackedBuffer {
    pub(super) allocation: Arc<Allocation>,
    pub(super) shadow: GlobalShadow,
}

/// The state that the workers of a run share.
pub(super) struct Run {
    pub(super) config: Config,
    pub(super) schedule: Schedule,
    /// The kernel. It lives until `run` returns, which is after its workers have ended.
    pub(super) kernel: *const (dyn Fn() + Sync),
    pub(super) watched: Arc<WatchedRaces>,
    pub(super) grid: Grid,
    pub(super) watchdog: Watchdog,
    pub(super) order: Arc<GridSync>,
    pub(super) scopes: AtomicScopes,
    buffers: Mutex<Vec<Arc<TrackedBuffer>>>,
    pub(super) statics: Mutex<Statics>,
    locations: RwLock<Vec<&'static Location<'static>>>,
    blocks_race: AtomicBool,
    /// The budget's time is over.
    out_of_time: AtomicBool,
    results: Mutex<RunResults>,
}

// SAFETY: the kernel is `Sync`; the rest is shared by locks and atomics.
unsafe impl Send for Run {}
// SAFETY: as above.
unsafe impl Sync for Run {}

/// The results of blocks so far.
#[derive(Default)]
struct RunResults {
    /// Distinct faults, each with the position of the first block that had it and its number in that block.
    faults: Vec<(u64, usize, SimFault)>,
    output: BTreeMap<u64, String>,
    lines: BTreeMap<(SourceLocation, TrafficKind), LineTraffic>,
    synchronizations: BTreeMap<(SourceLocation, SyncKind), u64>,
    approximate: u64,
    barriers: Option<(u32, u32)>,
    blocks: u64,
}

impl Run {
    /// The allocation as a buffer of this run.
    pub(super) fn track(&self, allocation: Arc<Allocation>) -> Arc<TrackedBuffer> {
        let mut buffers = self.buffers.lock();
        if let Some(known) = buffers.iter().find(|known| Arc::ptr_eq(&known.allocation, &allocation)) {
            return Arc::clone(known);
        }
        let shadow = GlobalShadow::new(allocation.bytes());
        let new = Arc::new(TrackedBuffer { allocation, shadow });
        buffers.push(Arc::clone(&new));
        new
    }

    /// The run's number of a source location.
    pub(super) fn intern(&self, location: &'static Location<'static>) -> u32 {
        let mut locations = self.locations.write();
        let known = locations.iter().position(|known| *known == location);
        let number = known.unwrap_or_else(|| {
            locations.push(location);
            locations.len() - 1
        });
        number as u32
    }

    /// The source location of a number.
    pub(super) fn location(&self, number: u32) -> &'static Location<'static> {
        self.locations.read()[number as usize]
    }

    /// Whether the budget's time is over.
    pub(super) fn is_out_of_time(&self) -> bool {
        self.out_of_time.load(Relaxed)
    }

    /// Ends the run because the budget's time is over: no block starts, and those that run end at their next step.
    pub(super) fn end_time(&self) {
        self.out_of_time.store(true, Relaxed);
        self.grid.stop();
    }

    pub(super) fn note_race_between_blocks(&self) {
        self.blocks_race.store(true, Relaxed);
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

    /// Adds the counts of a context over all its blocks: traffic and barriers.
    pub(super) fn hand_in_counts(&self, context: &BlockContext) {
        let analysis = context.analysis();
        let mut results = self.results.lock();
        results.approximate += analysis.traffic.approximate();
        let totals = analysis.traffic.totals().iter().enumerate();
        for (number, total) in totals.filter(|(_, total)| total.requests > 0) {
            let (location, class) = analysis.locations.get(number as u16);
            let kind = TrafficKind {
                space: class.space,
                access: class.op.into(),
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
                });
            line.requests += total.requests;
            line.lanes += total.lanes;
            line.actual += total.actual;
            line.ideal += total.ideal;
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

    /// Ends the run: the launch as a whole is at fault. The first such fault counts, whichever worker found it.
    pub(super) fn fail(&self, problem: &str) {
        self.end(FaultKind::LaunchShape {
            problem: problem.to_owned(),
        });
    }

    /// Ends the run because this machine lacks a resource.
    pub(super) fn lack(&self, problem: String) {
        self.end(FaultKind::Resources { problem });
    }

    fn end(&self, kind: FaultKind) {
        let fault = SimFault::of_launch(kind);
        let mut results = self.results.lock();
        if !results.faults.iter().any(|(_, _, known)| known.is_like(&fault)) {
            results.faults.push((0, 0, fault));
        }
        drop(results);
        self.grid.stop();
    }
}

/// Runs every block of the request.
pub(crate) fn run(request: &Request<'_>, kernel: &(dyn Fn() + Sync)) -> Outcome {
    trap::install();
    install_panic_hook();
    let statics = crate::device::shared_statics();
    // A program has one of each, not one per block: blocks and launches take turns.
    let _turn = (!statics.is_empty()).then(|| SHARED_STATICS_TURN.lock());
    // The units that run are clusters; most have one block.
    let cluster_blocks = request.cluster.count().max(1);
    let blocks = match request.only_block {
        Some(_) => 1,
        None => request.grid.count() / cluster_blocks,
    };
    let workers = if statics.is_empty() { request.workers } else { 1 };
    let workers = u64::try_from(workers).unwrap_or(1).clamp(1, blocks.max(1));
    // SAFETY: only the lifetime changes. The kernel is called by workers alone, and all of them end before this
    // function returns.
    let kernel: &'static (dyn Fn() + Sync) = unsafe { std::mem::transmute(kernel) };
    let run = Arc::new(Run {
        config: Config {
            grid: request.grid,
            cluster: request.cluster,
            block: request.block,
            dynamic_bytes: request.dynamic_bytes,
            compute_capability: request.limits.compute_capability,
            poison: request.poison,
            checks: request.checks,
            policy: request.policy,
            synchronizations: request.synchronizations.clone(),
            time_limit: request.time_limit,
            budget: request.budget,
            limits: request.limits.clone(),
        },
        schedule: request.schedule,
        kernel,
        watched: Arc::clone(&request.watched),
        grid: Grid::new(
            blocks,
            request.resident_blocks.map_or(u64::MAX, |most| most / cluster_blocks),
        ),
        watchdog: Watchdog::default(),
        order: Default::default(),
        scopes: AtomicScopes::default(),
        buffers: Mutex::default(),
        statics: Mutex::default(),
        locations: RwLock::default(),
        blocks_race: AtomicBool::new(false),
        out_of_time: AtomicBool::new(false),
        results: Mutex::default(),
    });
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        let start = || {
            let (run, sender) = (Arc::clone(&run), sender.clone());
            let only_block = request.only_block;
            let name = "cuda-sim".to_owned();
            std::thread::Builder::new()
                .name(name)
                .spawn_scoped(scope, move || work(&run, only_block, &sender))
                .map(drop)
        };
        // The first must start. With fewer others the run only takes longer.
        if let Err(error) = start() {
            run.lack(format!("no thread could be started: {error}"));
            return;
        }
        let mut alive = 1;
        for _ in 1..workers {
            alive += usize::from(start().is_ok());
        }
        watch(&run, &receiver, alive, request, blocks);
    });
    drop(sender);
    let mut results = std::mem::take(&mut *run.results.lock());
    results.faults.sort_by_key(|&(position, number, _)| (position, number));
    let found = causes_first(results.faults.into_iter().map(|(_, _, fault)| fault).collect());
    let (warnings, faults) = found
        .into_iter()
        .partition(|found| found.kind.severity() == Severity::Warning);
    let static_bytes = run.static_bytes();
    Outcome {
        blocks: results.blocks,
        faults,
        warnings,
        blocks_race: run.blocks_race.load(Relaxed),
        static_bytes,
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
        resident: run.grid.most_resident() * cluster_blocks,
        buffers: (run.buffers.lock().iter())
            .map(|buffer| Arc::clone(&buffer.allocation))
            .collect(),
    }
}

static SHARED_STATICS_TURN: Mutex<()> = Mutex::new(());

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
