//! One run of a launch, or of launches that may overlap, under one schedule: the workers, their shared state, and the
//! outcome.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use crate::analysis::global_shadow::GlobalShadow;
use crate::analysis::grid_clock::launch_and_block;
use crate::analysis::scopes::AtomicScopes;
use crate::analysis::sync_vars::GridSync;
use crate::analysis::tensor_maps::TensorMapFences;
use crate::budget::Budget;
use crate::buffer::Allocation;
use crate::dim::Dim3;
use crate::fault::{FaultKind, LaunchName, SimFault};
use crate::launch::{Checks, Progress};
use crate::limits::Limits;
use crate::policy::Policy;
use crate::report::LineTraffic;
use crate::schedule::Schedule;
use crate::synchronization::{Synchronization, Synchronizations};
use crate::wgmma::Fp8Accumulation;

use super::context::{CANARY_BYTES, WatchedRaces, install_panic_hook};
use super::grid::Grid;
use super::launched_grid::LaunchedGrid;
use super::trap;
use super::watchdog::{Watchdog, watch};
use super::worker::work;

/// One of the launches to run.
pub(crate) struct LaunchRequest<'a> {
    pub(crate) grid: Dim3,
    pub(crate) cluster: Dim3,
    pub(crate) block: Dim3,
    pub(crate) dynamic_bytes: u32,
    pub(crate) limits: &'a Limits,
    pub(crate) kernel: &'a (dyn Fn() + Sync),
    /// Its name in faults, if it is one of several launches.
    pub(crate) name: Option<LaunchName>,
}

/// The launches to run, and how.
pub(crate) struct Request<'a> {
    /// Each but the first may overlap with the one before it (programmatic dependent launch). At most
    /// [`LAUNCHES`](crate::analysis::grid_clock::LAUNCHES).
    pub(crate) launches: &'a [LaunchRequest<'a>],
    pub(crate) schedule: Schedule,
    /// The value of uninitialized bytes of shared memory.
    pub(crate) poison: u8,
    pub(crate) checks: Checks,
    pub(crate) policy: Policy,
    pub(crate) fp8_accumulation: Fp8Accumulation,
    pub(crate) synchronizations: &'a Synchronizations,
    pub(crate) workers: usize,
    pub(crate) time_limit: Duration,
    pub(crate) budget: Budget,
    /// The start of the first launch.
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
    pub(crate) launches: Vec<LaunchOutcome>,
    /// Whether two blocks raced: the outcome then depends on which was faster.
    pub(crate) blocks_race: bool,
    /// The most blocks that were resident.
    pub(crate) resident: u64,
    /// The buffers that were accessed.
    pub(crate) buffers: Vec<Arc<Allocation>>,
}

/// The outcome of one launch.
pub(crate) struct LaunchOutcome {
    pub(crate) blocks: u64,
    /// In the order of the schedule.
    pub(crate) faults: Vec<SimFault>,
    /// In the order of the schedule.
    pub(crate) warnings: Vec<SimFault>,
    pub(crate) static_bytes: u64,
    pub(crate) barriers: (u32, u32),
    pub(crate) lines: Vec<LineTraffic>,
    pub(crate) synchronizations: Vec<Synchronization>,
    pub(crate) approximate: u64,
    pub(crate) output: String,
}

/// How the blocks of one launch run.
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
    pub(super) fp8_accumulation: Fp8Accumulation,
    pub(super) synchronizations: Synchronizations,
    pub(super) time_limit: Duration,
    pub(super) budget: Budget,
    pub(super) limits: Limits,
}

impl Config {
    /// That of one launch of the request.
    pub(super) fn new(request: &Request<'_>, launch: &LaunchRequest<'_>) -> Self {
        Self {
            grid: launch.grid,
            cluster: launch.cluster,
            block: launch.block,
            dynamic_bytes: launch.dynamic_bytes,
            compute_capability: launch.limits.compute_capability,
            poison: request.poison,
            checks: request.checks,
            policy: request.policy,
            fp8_accumulation: request.fp8_accumulation,
            synchronizations: request.synchronizations.clone(),
            time_limit: request.time_limit,
            budget: request.budget,
            limits: launch.limits.clone(),
        }
    }

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
    /// The launches, at least one.
    pub(super) launches: Vec<Arc<LaunchedGrid>>,
    pub(super) schedule: Schedule,
    pub(super) watched: Arc<WatchedRaces>,
    pub(super) grid: Grid,
    pub(super) watchdog: Watchdog,
    pub(super) order: Arc<GridSync>,
    pub(super) scopes: AtomicScopes,
    pub(super) tensor_maps: TensorMapFences,
    buffers: Mutex<Vec<Arc<TrackedBuffer>>>,
    locations: RwLock<Vec<&'static Location<'static>>>,
    blocks_race: AtomicBool,
    /// The budget's time is over.
    out_of_time: AtomicBool,
}

impl Run {
    /// How the blocks of the first launch run. Of time limit and budget all have the same.
    pub(super) fn config(&self) -> &Config {
        &self.launches[0].config
    }

    /// The launch of the block with this number, and its linear index there.
    pub(super) fn launch_of(&self, block: u64) -> (&LaunchedGrid, u64) {
        let (launch, linear) = match &self.launches[..] {
            [_] => (0, block),
            _ => launch_and_block(block),
        };
        (&self.launches[launch as usize], linear)
    }

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

    /// Ends the run: a launch as a whole is at fault.
    pub(super) fn fail(&self, launch: &LaunchedGrid, problem: &str) {
        launch.add_fault(FaultKind::LaunchShape {
            problem: problem.to_owned(),
        });
        self.grid.stop();
    }

    /// Ends the run because this machine lacks a resource.
    pub(super) fn lack(&self, problem: String) {
        self.launches[0].add_fault(FaultKind::Resources { problem });
        self.grid.stop();
    }
}

/// Runs every block of the request.
pub(crate) fn run(request: &Request<'_>) -> Outcome {
    trap::install();
    install_panic_hook();
    let statics = crate::device::shared_statics();
    // A program has one of each, not one per block: blocks and launches take turns.
    let _turn = (!statics.is_empty()).then(|| SHARED_STATICS_TURN.lock());
    let launches: Vec<Arc<LaunchedGrid>> = (0..)
        .zip(request.launches)
        .map(|(number, launch)| Arc::new(LaunchedGrid::new(number, request, launch)))
        .collect();
    // The units that run are clusters; most have one block.
    let units = |launch: &LaunchRequest<'_>| match request.only_block {
        Some(_) => 1,
        None => launch.grid.count() / launch.cluster.count().max(1),
    };
    let blocks: u64 = request.launches.iter().map(units).sum();
    // Blocks of launches that overlap wait for each other, in an order that several workers would not keep.
    let takes_turns = !statics.is_empty() || launches.len() > 1;
    let workers = if takes_turns { 1 } else { request.workers };
    let workers = u64::try_from(workers).unwrap_or(1).clamp(1, blocks.max(1));
    let cluster_blocks = |launch: &LaunchRequest<'_>| launch.cluster.count().max(1);
    let cluster_blocks = request.launches.iter().map(cluster_blocks).max().unwrap_or(1);
    let resident = request.resident_blocks.map_or(u64::MAX, |most| most / cluster_blocks);
    let run = Arc::new(Run {
        launches,
        schedule: request.schedule,
        watched: Arc::clone(&request.watched),
        grid: Grid::new(request.launches.iter().map(units), resident),
        watchdog: Watchdog::default(),
        order: Default::default(),
        scopes: AtomicScopes::default(),
        tensor_maps: TensorMapFences::default(),
        buffers: Mutex::default(),
        locations: RwLock::default(),
        blocks_race: AtomicBool::new(false),
        out_of_time: AtomicBool::new(false),
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
    Outcome {
        launches: run.launches.iter().map(|launch| launch.outcome()).collect(),
        blocks_race: run.blocks_race.load(Relaxed),
        resident: run.grid.most_resident() * cluster_blocks,
        buffers: (run.buffers.lock().iter())
            .map(|buffer| Arc::clone(&buffer.allocation))
            .collect(),
    }
}

static SHARED_STATICS_TURN: Mutex<()> = Mutex::new(());
