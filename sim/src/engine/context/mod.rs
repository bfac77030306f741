//! The state of one thread block (CTA) while it runs, and the receiver of its threads' calls.
//!
//! A [`BlockContext`] is composed of parts with one responsibility each. A part keeps its fields to itself; the methods
//! of the context that concern a part are in the part's file.
//!
//! | part | responsibility | files |
//! |---|---|---|
//! | [`Threads`] | the block's threads, their states, their stacks | [`threads`], [`warp_scheduler`] |
//! | [`SharedMemory`] | the arena, the static arrays, addresses | [`shared_memory`], [`arena`] |
//! | [`Views`] | views of shared memory that overlap | [`views`] |
//! | [`GlobalMemory`] | the buffers that the block has accessed | [`global_memory`] |
//! | [`Analysis`] | order, races, traffic | [`analysis`], [`memory`], [`agent`], [`async_copy`], [`atomics`] |
//! | [`BulkCopies`] | TMA loads and stores under way | [`bulk_copy`], [`bulk_bytes`], [`groups`], [`tensor_map`] |
//! | [`Warpgroups`] | `wgmma`: rendezvous, fences, groups | [`warpgroup`] |
//! | [`Barriers`] | barriers, named ones, mbarriers | [`barrier`], [`call_site`], [`named_barrier`], [`mbarrier`] |
//! | [`Dependents`] | the launch after this one: when it may start | [`griddepcontrol`] |
//! | [`ClusterMember`] | the other blocks of the cluster | [`cluster`], [`cluster_scheduler`], [`distributed_memory`] |
//! | [`GridTurn`] | the place among all blocks, the token for global atomics | [`grid_turn`] |
//! | [`WorkerWatch`] | the watchdog's view of this worker | [`watchdog`](super::watchdog) |
//! | [`FaultLog`] | faults, panics, output, call stacks | [`faults`], [`watched`] |
//!
//! Instructions of a whole warp are in [`warp_rendezvous`] and [`matrix`]; [`transfer`] counts those that are executed
//! as a whole.
//!
//! A context is used by one thread of the operating system. The scheduler and the simulated thread that it resumed
//! share it by reference and never run at the same time; all state is in cells.

mod agent;
mod analysis;
mod arena;
mod async_copy;
mod atomics;
mod barrier;
mod bulk_bytes;
mod bulk_copy;
mod call_site;
mod cluster;
mod cluster_scheduler;
mod distributed_memory;
mod faults;
mod global_memory;
mod grid_turn;
mod griddepcontrol;
mod groups;
mod matrix;
mod mbarrier;
mod memory;
mod named_barrier;
mod shared_memory;
mod tensor_map;
mod threads;
mod transfer;
mod unwaited;
mod views;
mod warp_rendezvous;
mod warp_scheduler;
mod warpgroup;
mod watched;

use std::cell::{Cell, Ref, RefCell};
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use crate::analysis::grid_clock::block_number;
use crate::attributes::KernelAttributes;
use crate::dim::Dim3;
use crate::fault::SimFault;
use crate::launch::Checks;
use crate::schedule::Preemption;
use crate::synchronization::{Counts, SyncKind, Synchronizations};

use super::fiber::Stacks;
use super::launched_grid::LaunchedGrid;
use super::run::Run;
use super::watchdog::WorkerWatch;

use analysis::Analysis;
use barrier::Barriers;
use bulk_copy::BulkCopies;
use cluster::ClusterMember;
use faults::FaultLog;
use global_memory::GlobalMemory;
use griddepcontrol::Dependents;
use shared_memory::SharedMemory;
use threads::Threads;
use views::Views;
use warpgroup::Warpgroups;

pub(super) use arena::CANARY_BYTES;
pub(super) use cluster_scheduler::{Cluster, Pause};
pub(super) use faults::install_panic_hook;
pub(super) use grid_turn::GridTurn;
pub use mbarrier::MbarrierAccess;
pub(crate) use watched::WatchedRaces;

/// Lanes of a warp.
const WARP: usize = 32;

/// Identity of the block that runs.
#[derive(Clone, Copy, Default)]
struct BlockId {
    /// Place in the order of the schedule.
    position: u64,
    /// [Number](block_number) in the run.
    number: u64,
    /// Index in the grid, x, y, z.
    index: [u32; 3],
}

/// The results of a block.
pub(super) struct BlockResults {
    /// Place in the order of the schedule.
    pub(super) position: u64,
    /// Distinct faults, in the order of their first occurrence.
    pub(super) faults: Vec<SimFault>,
    pub(super) output: String,
}

/// The state of one thread block. A worker uses it for one block after the other; the blocks of a cluster, and blocks
/// that wait for others, have one each.
pub(crate) struct BlockContext {
    run: Arc<Run>,
    /// The launch whose blocks it runs.
    launch: Arc<LaunchedGrid>,
    checks: Checks,
    /// The run records call stacks of races.
    is_watching: bool,
    /// Accesses are checked, and their call stacks are not recorded.
    checks_and_no_more: bool,
    /// Origin of the clock that kernels read.
    started: Instant,
    id: Cell<BlockId>,
    threads: Threads,
    shared: SharedMemory,
    views: Views,
    global: GlobalMemory,
    analysis: RefCell<Analysis>,
    bulk_copies: RefCell<BulkCopies>,
    warpgroups: RefCell<Warpgroups>,
    barriers: Barriers,
    dependents: Dependents,
    cluster: ClusterMember,
    turn: Rc<GridTurn>,
    watchdog: Arc<WorkerWatch>,
    faults: FaultLog,
    /// Barriers, waits and fences that threads executed, where the launch lists them.
    synchronizations: RefCell<Counts>,
    /// Address and length of the store under way, and the bytes that it stores, where the policy asks for them.
    value: Cell<(usize, usize, *const u8)>,
}

impl BlockContext {
    /// A context for the blocks of rank `rank` of the clusters of a launch that a worker runs. `turn` is the
    /// cluster's, `watchdog` and `stacks` are the worker's.
    ///
    /// # Errors
    /// The system has no memory for the shared-memory arena.
    pub(super) fn new(
        run: Arc<Run>,
        launch: Arc<LaunchedGrid>,
        rank: u32,
        turn: Rc<GridTurn>,
        watchdog: Arc<WorkerWatch>,
        stacks: Rc<Stacks>,
    ) -> std::io::Result<Self> {
        let threads = Threads::new(launch.config.block, stacks);
        Ok(Self {
            checks: launch.config.checks,
            is_watching: !run.watched.is_empty(),
            checks_and_no_more: launch.config.checks != Checks::Off && run.watched.is_empty(),
            started: Instant::now(),
            id: Cell::default(),
            shared: SharedMemory::new(&launch.config)?,
            views: Views::default(),
            global: GlobalMemory::default(),
            analysis: RefCell::new(Analysis::new(threads.len())),
            bulk_copies: RefCell::default(),
            warpgroups: RefCell::default(),
            barriers: Barriers::default(),
            dependents: Dependents::default(),
            cluster: ClusterMember::new(rank),
            turn,
            watchdog,
            faults: FaultLog::default(),
            synchronizations: RefCell::default(),
            value: Cell::new((0, 0, std::ptr::null())),
            threads,
            launch,
            run,
        })
    }

    /// Resets every part to the state before a block's first instruction.
    ///
    /// `position` is the block's place in the order of the schedule, `linear` its linear index in the grid.
    pub(super) fn start_block(&self, position: u64, linear: u64) {
        self.id.set(BlockId {
            position,
            number: block_number(self.launch.number, linear),
            index: self.launch.config.grid.position(linear),
        });
        let preemption = Preemption::of_block(self.run.schedule, linear, position);
        self.threads.start_block(preemption);
        self.faults.start_block();
        self.barriers.start_block();
        self.dependents.start_block();
        self.cluster.start_block();
        self.bulk_copies.take();
        self.warpgroups.take();
        let dynamic_bytes = self.launch.config.dynamic_bytes as usize;
        self.analysis
            .borrow_mut()
            .start_block(self.id.get().number, self.threads.len(), dynamic_bytes);
        self.shared.start_block();
        self.views.start_block();
        self.poison_statics();
        self.watchdog.reset();
    }

    /// Unwinds the threads that still run, and hands the block's results to the run.
    fn end_block(&self) {
        self.unwind_threads();
        if !self.faults.is_aborted() {
            self.analysis.borrow_mut().traffic.barrier();
            self.check_canaries();
            self.check_copies_at_exit();
            self.note_statics();
        }
        self.barriers.end_block();
        self.watchdog.revive();
        let (faults, output) = self.faults.take();
        let position = self.id.get().position;
        if self.run.launches.len() > 1 && !self.is_torn() {
            self.launch.add_knowledge(&self.analysis.borrow().sync.known_blocks());
        }
        self.launch.hand_in(BlockResults {
            position,
            faults,
            output,
        });
    }

    /// Whether a signal ended a thread while the simulator worked for it. What it worked on stays borrowed, so that the
    /// context can run no other block, and its counts are lost.
    pub(super) fn is_torn(&self) -> bool {
        self.analysis.try_borrow_mut().is_err()
            || self.bulk_copies.try_borrow_mut().is_err()
            || self.warpgroups.try_borrow_mut().is_err()
            || self.synchronizations.try_borrow_mut().is_err()
    }

    /// The analysis of all blocks that the context has run.
    pub(super) fn analysis(&self) -> Ref<'_, Analysis> {
        self.analysis.borrow()
    }

    /// The fewest and the most barriers that any block of this context has passed.
    pub(super) fn barriers_passed(&self) -> Option<(u32, u32)> {
        self.barriers.passed()
    }

    /// Barriers, waits and fences that threads of all its blocks executed, where the launch lists them.
    pub(super) fn synchronizations(&self) -> Ref<'_, Counts> {
        self.synchronizations.borrow()
    }

    /// Counts a barrier, wait or fence of the running thread where the launch lists them. Whether it is the one that
    /// does nothing.
    pub(crate) fn leaves_out(&self, kind: SyncKind, location: &'static Location<'static>) -> bool {
        let left_out = match &self.launch.config.synchronizations {
            Synchronizations::Unlisted => return false,
            Synchronizations::Listed => false,
            Synchronizations::Without(one) => one.is_at(kind, location) && kind.can_be_left_out(),
        };
        self.synchronizations.borrow_mut().count(kind, location);
        left_out
    }

    // Queries of the running thread.

    pub(crate) fn thread_idx(&self) -> [u32; 3] {
        self.check_watchdog();
        self.threads.running_index()
    }

    pub(crate) fn block_idx(&self) -> [u32; 3] {
        self.id.get().index
    }

    pub(crate) fn block_dim(&self) -> Dim3 {
        self.launch.config.block
    }

    pub(crate) fn grid_dim(&self) -> Dim3 {
        self.launch.config.grid
    }

    pub(crate) fn lane(&self) -> u32 {
        (self.threads.running_number() % WARP) as u32
    }

    pub(crate) fn compute_capability(&self) -> u32 {
        self.launch.config.compute_capability
    }

    /// Nanoseconds since the context was created.
    pub(crate) fn clock(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    /// Ends the run if the kernel that the thread enters does not allow this launch.
    #[inline]
    pub(crate) fn enter_kernel(&self, attributes: &KernelAttributes) {
        let config = &self.launch.config;
        if let Err(problem) = attributes.check_launch(config.grid, config.block, config.compute_capability) {
            self.run.fail(&self.launch, &problem);
            self.stop();
        }
        self.note_cluster(attributes.cluster);
    }
}
