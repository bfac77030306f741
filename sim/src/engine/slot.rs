//! What a worker keeps for the block that it runs, and where the running thread's calls arrive.
//!
//! A slot is used by one thread of the operating system. The block's scheduler and the simulated thread that it resumed
//! both hold it by shared reference, one at a time; all state is in cells.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{Location, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use crate::analysis::agents::Agents;
use crate::analysis::in_flight::InFlight;
use crate::analysis::mbarrier::Mbarriers;
use crate::analysis::shadow::SharedShadow;
use crate::analysis::sites::Sites;
use crate::analysis::sync_vars::Synchronization;
use crate::analysis::traffic::Traffic;
use crate::attributes::KernelAttributes;
use crate::device::{BarrierOp, LaneWords, WarpValues};
use crate::dim::Dim3;
use crate::fault::{FaultKind, OtherAccess, SimFault, Site};
use crate::launch::Checks;

use super::arena::Arena;
use super::fiber::{self, Fiber, Stacks};
use super::grid::Place;
use super::named_barrier::NamedBarriers;
use super::operations::Operations;
use super::run::{Run, Touched};
use super::statics::StaticArray;

/// Threads of a warp.
pub(crate) const WARP: usize = 32;

/// What a thread of the block is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// It can go on.
    Ready,
    /// At a barrier of the block.
    Barrier(Option<BarrierOp>),
    /// At a warp function, with other lanes to come: a barrier of the warp, or an exchange of values.
    Warp(WarpOp),
    /// At a named barrier.
    NamedBarrier,
    /// Polling: others go first.
    Polling,
    /// Waits for a phase of the mbarrier whose offset is its value.
    Phase,
    /// At the barrier of the cluster.
    Cluster,
    /// At an instruction of its warpgroup, with other threads to come.
    Warpgroup,
    /// It returned.
    Exited,
}

/// What lanes of a warp meet for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WarpOp {
    /// `sync_warp`: orders memory.
    Sync,
    /// A shuffle, vote or the like: orders nothing.
    Exchange,
    /// An instruction of the whole warp, at one place of the source: orders nothing.
    Instruction,
}

/// One thread of the block.
pub(super) struct Thread {
    pub(super) status: Cell<Status>,
    /// Where it waits or last called.
    pub(super) site: Cell<Option<&'static Location<'static>>>,
    /// The mask of the warp function that it is at.
    pub(super) mask: Cell<u32>,
    /// What it brings to a barrier or an exchange; what a barrier answers.
    pub(super) value: Cell<u64>,
    /// What the last exchange yielded.
    pub(super) exchanged: RefCell<Option<Rc<WarpValues>>>,
    /// What it brings to an instruction of the whole warp.
    pub(super) words: Cell<LaneWords>,
    /// What all lanes brought to the last one.
    pub(super) gathered: RefCell<Option<Rc<[LaneWords; WARP]>>>,
    /// How often in a row it got the same value from the same address and changed nothing, and which.
    pub(super) idle: Cell<u32>,
    pub(super) seen: Cell<(usize, u64)>,
    pub(super) fiber: RefCell<Option<Fiber>>,
}

impl Thread {
    fn new() -> Self {
        Self {
            status: Cell::new(Status::Ready),
            site: Cell::new(None),
            mask: Cell::new(0),
            value: Cell::new(0),
            exchanged: RefCell::new(None),
            words: Cell::default(),
            gathered: RefCell::new(None),
            idle: Cell::new(0),
            seen: Cell::new((0, 0)),
            fiber: RefCell::new(None),
        }
    }
}

/// Everything that looks at accesses.
pub(super) struct Analysis {
    pub(super) sites: Sites,
    pub(super) sync: Synchronization,
    pub(super) shadow: SharedShadow,
    pub(super) in_flight: InFlight,
    pub(super) agents: Agents,
    pub(super) mbarriers: Mbarriers,
    pub(super) traffic: Traffic,
}

/// The place of a block, or of the blocks of a cluster, among those that run.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) place: RefCell<Option<Place>>,
    pub(super) holds_token: Cell<bool>,
}

/// See the module.
pub(crate) struct Slot {
    pub(super) run: Arc<Run>,
    /// Distinguishes the slots of a run.
    pub(super) number: u16,
    pub(super) arena: Arena,
    pub(super) threads: Vec<Thread>,
    pub(super) stacks: RefCell<Stacks>,
    pub(super) analysis: RefCell<Analysis>,
    /// Bulk copies and matrix products of the block.
    pub(super) operations: RefCell<Operations>,
    pub(super) named_barriers: RefCell<NamedBarriers>,
    /// Buffers that this slot has met, the last one first.
    pub(super) touched: RefCell<Vec<Arc<Touched>>>,
    /// Static arrays that the slot has met.
    pub(super) arrays: RefCell<Vec<StaticArray>>,
    /// By the slot's number of a site, the run's.
    pub(super) run_sites: RefCell<Vec<u32>>,
    pub(super) turn: Rc<Turn>,
    /// The slots of the blocks of its cluster by their ranks, itself included.
    pub(super) peers: RefCell<Vec<*const Slot>>,
    pub(super) rank: u32,
    /// The block.
    pub(super) position: Cell<u64>,
    pub(super) block: Cell<u64>,
    pub(super) block_idx: Cell<[u32; 3]>,
    /// The thread that runs.
    pub(super) thread: Cell<usize>,
    pub(super) thread_idx: Cell<[u32; 3]>,
    /// Barriers complete.
    pub(super) interval: Cell<u32>,
    /// Counts what others of the block may wait for.
    pub(super) progress: Cell<u64>,
    /// A thread can go on whose turn may be over.
    pub(super) woken: Cell<bool>,
    /// The block has to end.
    pub(super) aborted: Cell<bool>,
    /// Set by the watch: the thread has run for too long.
    pub(super) expired: Arc<AtomicBool>,
    pub(super) checks: Checks,
    /// The message and place of a panic, from the hook.
    pub(super) panicked: RefCell<Option<(String, Option<Site>)>>,
    /// What the block printed.
    pub(super) output: RefCell<String>,
    /// Distinct faults of the block, in order.
    pub(super) faults: RefCell<Vec<SimFault>>,
    /// Barriers that the current thread count has passed: the fewest and the most of any thread of any block.
    pub(super) barriers: Cell<Option<(u32, u32)>>,
    started: Instant,
}

/// The payload that ends a simulated thread whose fault is recorded already.
struct Stop;

impl Slot {
    pub(super) fn new(
        run: Arc<Run>,
        (number, rank): (u16, u32),
        expired: Arc<AtomicBool>,
        turn: Rc<Turn>,
    ) -> std::io::Result<Self> {
        let config = &run.config;
        let threads = config.block.count() as usize;
        let arena = Arena::new(config.static_capacity(), config.dynamic_bytes as usize)?;
        Ok(Self {
            number,
            threads: (0..threads).map(|_| Thread::new()).collect(),
            stacks: RefCell::default(),
            analysis: RefCell::new(Analysis {
                sites: Sites::new(),
                sync: Synchronization::new(),
                shadow: SharedShadow::new(),
                in_flight: InFlight::new(threads),
                agents: Agents::default(),
                mbarriers: Mbarriers::new(),
                traffic: Traffic::new(threads),
            }),
            operations: RefCell::default(),
            named_barriers: RefCell::default(),
            touched: RefCell::default(),
            arrays: RefCell::default(),
            run_sites: RefCell::default(),
            turn,
            peers: RefCell::default(),
            rank,
            position: Cell::new(0),
            block: Cell::new(0),
            block_idx: Cell::new([0; 3]),
            thread: Cell::new(0),
            thread_idx: Cell::new([0; 3]),
            interval: Cell::new(0),
            progress: Cell::new(0),
            woken: Cell::new(false),
            aborted: Cell::new(false),
            expired,
            checks: config.checks,
            panicked: RefCell::new(None),
            output: RefCell::default(),
            faults: RefCell::default(),
            barriers: Cell::new(None),
            started: Instant::now(),
            arena,
            run,
        })
    }

    /// Makes everything look as before the first instruction of a block.
    pub(super) fn prepare(&self, position: u64, block: u64) {
        self.position.set(position);
        self.block.set(block);
        self.block_idx.set(self.run.config.grid.position(block));
        self.interval.set(0);
        self.woken.set(false);
        self.aborted.set(false);
        self.named_barriers.take();
        let analysis = &mut *self.analysis.borrow_mut();
        if analysis.sync.clocks.needs_reset() {
            analysis.sync = Synchronization::new();
            analysis.shadow = SharedShadow::new();
        }
        analysis.sync.start_block(block, self.threads.len());
        analysis.in_flight.start_block();
        analysis.agents.start_block(analysis.sync.clocks.first_agent());
        analysis.mbarriers.clear();
        self.operations.borrow_mut().start_block();
        analysis.shadow.start_block(
            self.run.config.dynamic_bytes as usize,
            analysis.sync.clocks.block_start(),
        );
        self.arena.poison(
            self.arena.static_bytes(),
            self.run.config.dynamic_bytes as usize,
            self.run.config.poison,
        );
        self.arrays.borrow().iter().for_each(|array| self.prepare_array(array));
        self.poison_statics();
        self.run.watch.met(self.number);
    }

    // What the running thread asks.

    pub(crate) fn thread_idx(&self) -> [u32; 3] {
        self.check_watch();
        self.thread_idx.get()
    }

    pub(crate) fn block_idx(&self) -> [u32; 3] {
        self.block_idx.get()
    }

    pub(crate) fn block_dim(&self) -> Dim3 {
        self.run.config.block
    }

    pub(crate) fn grid_dim(&self) -> Dim3 {
        self.run.config.grid
    }

    pub(crate) fn lane(&self) -> u32 {
        (self.thread.get() % WARP) as u32
    }

    pub(crate) fn compute_capability(&self) -> u32 {
        self.run.config.compute_capability
    }

    /// Ends the run because this machine cannot do it.
    pub(super) fn lack(&self, problem: String) {
        self.run.lack(problem);
    }

    /// Ends the run if the kernel that the thread enters is not made for such a launch.
    #[inline]
    pub(crate) fn enter_kernel(&self, attributes: &KernelAttributes) {
        let config = &self.run.config;
        if let Err(problem) = attributes.check_launch(config.grid, config.block, config.compute_capability) {
            self.run.fail(&problem);
            self.stop();
        }
        self.note_cluster(attributes.cluster);
    }

    /// Nanoseconds since the slot was made: a clock.
    pub(crate) fn clock(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    /// Adds to what the block prints.
    pub(crate) fn print(&self, text: std::fmt::Arguments<'_>) {
        use std::fmt::Write;
        self.check_watch();
        // A formatter that fails has panicked or prints less: nothing to add.
        let _ = self.output.borrow_mut().write_fmt(text);
    }

    // How the running thread waits.

    pub(super) fn running(&self) -> &Thread {
        &self.threads[self.thread.get()]
    }

    /// Waits as `status` says, at `site`.
    pub(super) fn wait(&self, status: Status, site: &'static Location<'static>) {
        self.check_watch();
        let thread = self.running();
        thread.status.set(status);
        thread.site.set(Some(site));
        if !matches!(status, Status::Polling) {
            thread.idle.set(0);
        }
        self.suspend();
    }

    /// Lets others run; the thread stays ready.
    pub(super) fn suspend(&self) {
        let number = self.thread.get();
        fiber::suspend();
        debug_assert_eq!(
            self.thread.get(),
            number,
            "the scheduler resumes the thread that it names"
        );
    }

    /// A barrier of the block.
    pub(crate) fn barrier(&self, reduction: Option<(BarrierOp, u32)>, site: &'static Location<'static>) -> u32 {
        let thread = self.running();
        let predicate = reduction.is_some_and(|(_, predicate)| predicate != 0);
        thread.value.set(u64::from(predicate));
        self.wait(Status::Barrier(reduction.map(|(op, _)| op)), site);
        thread.value.get() as u32
    }

    /// A meeting of the lanes of `mask`.
    pub(super) fn meet(&self, op: WarpOp, mask: u32, value: u64, site: &'static Location<'static>) {
        let lane = self.lane();
        if mask >> lane & 1 == 0 {
            self.fatal(FaultKind::WarpMask { mask, lane }, Some(site), None);
        }
        let thread = self.running();
        thread.mask.set(mask);
        thread.value.set(value);
        self.wait(Status::Warp(op), site);
    }

    /// `sync_warp`.
    pub(crate) fn sync_warp(&self, mask: u32, site: &'static Location<'static>) {
        self.meet(WarpOp::Sync, mask, 0, site);
    }

    /// The values that the lanes of `mask` bring.
    pub(crate) fn exchange(&self, mask: u32, value: u64, site: &'static Location<'static>) -> Rc<WarpValues> {
        self.meet(WarpOp::Exchange, mask, value, site);
        let values = self.running().exchanged.take();
        values.expect("the meeting leaves its values")
    }

    /// The thread got `value` from `address` and changed nothing. Where that has been so for a few times, it polls:
    /// others go first.
    pub(super) fn note_same(&self, address: usize, value: u64, site: &'static Location<'static>) {
        const PATIENCE: u32 = 32;
        let thread = self.running();
        if thread.seen.replace((address, value)) != (address, value) {
            return self.note_change();
        }
        thread.idle.set(thread.idle.get() + 1);
        if thread.idle.get() >= PATIENCE {
            self.wait(Status::Polling, site);
        }
    }

    /// The thread did something new, which others may wait for.
    pub(super) fn note_change(&self) {
        self.running().idle.set(0);
        self.progress.set(self.progress.get() + 1);
    }

    /// `nanosleep`: others go first.
    pub(crate) fn sleep(&self, site: &'static Location<'static>) {
        self.wait(Status::Polling, site);
    }

    /// Ends the thread if the watch says so.
    #[inline]
    pub(super) fn check_watch(&self) {
        if self.expired.load(Relaxed) {
            self.time_is_up();
        }
    }

    pub(super) fn time_limit(&self) -> FaultKind {
        FaultKind::TimeLimit {
            milliseconds: self.run.config.time_limit.as_millis() as u64,
        }
    }

    #[cold]
    fn time_is_up(&self) -> ! {
        let site = self.running().site.get();
        self.fatal(self.time_limit(), site, None)
    }

    // Faults.

    /// Records a fault of the running thread; the thread goes on.
    #[cold]
    pub(super) fn fault(&self, kind: FaultKind, site: Option<&'static Location<'static>>, other: Option<OtherAccess>) {
        self.record(self.thread.get(), kind, site.map(Site::from), other);
    }

    /// A trap: ends the block with `kind`.
    pub(crate) fn trap(&self, kind: FaultKind, site: &'static Location<'static>) -> ! {
        self.fatal(kind, Some(site), None)
    }

    /// Records a fault of the running thread and ends its block.
    #[cold]
    pub(super) fn fatal(
        &self,
        kind: FaultKind,
        site: Option<&'static Location<'static>>,
        other: Option<OtherAccess>,
    ) -> ! {
        self.fault(kind, site, other);
        self.stop()
    }

    /// Ends the running thread and its block.
    #[cold]
    pub(super) fn stop(&self) -> ! {
        self.aborted.set(true);
        resume_unwind(Box::new(Stop))
    }

    /// Records a fault of a thread of the block.
    pub(super) fn record(&self, thread: usize, kind: FaultKind, site: Option<Site>, other: Option<OtherAccess>) {
        let fault = SimFault {
            kind,
            block: self.block_idx.get(),
            thread: self.thread_position(thread),
            site,
            interval: self.interval.get(),
            other,
            count: 1,
        };
        let mut faults = self.faults.borrow_mut();
        match faults.iter_mut().find(|known| known.is_like(&fault)) {
            Some(known) => known.count += 1,
            None => faults.push(fault),
        }
    }

    pub(super) fn thread_position(&self, thread: usize) -> [u32; 3] {
        self.run.config.block.position(thread as u64)
    }

    /// What a simulated thread's unwinding means: nothing where the fault is recorded, else a panic.
    pub(super) fn caught(&self, payload: &(dyn Any + Send)) {
        if payload.is::<Stop>() || !fiber::is_panic(payload) {
            return;
        }
        let (message, site) = self.panicked.take().unwrap_or_else(|| (message_of(payload), None));
        self.record(self.thread.get(), FaultKind::Panic { message }, site, None);
        self.aborted.set(true);
    }
}

/// The text of a panic.
pub(super) fn message_of(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic with a value of its own".to_owned())
}
