//! One run of a grid under one schedule: its workers, what they have in common, and what they leave.

use std::collections::BTreeMap;
use std::panic::Location;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Once};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use crate::access::Space;
use crate::analysis::global_shadow::GlobalShadow;
use crate::analysis::sites::SiteSpace;
use crate::analysis::sync_vars::GridSync;
use crate::buffer::Allocation;
use crate::dim::Dim3;
use crate::fault::{FaultKind, SimFault, Site};
use crate::launch::{Checks, Progress};
use crate::limits::Limits;
use crate::report::{LineTraffic, TrafficKind};
use crate::schedule::{Schedule, block_at};

use super::arena::CANARY_BYTES;
use super::blocks::run_blocks;
use super::grid::Grid;
use super::slot::{Slot, Turn, message_of};
use super::statics::Statics;
use super::watch::{Message, Watch, watch};
use super::{CURRENT, trap};

/// What to run.
pub(crate) struct Request<'a> {
    pub(crate) grid: Dim3,
    pub(crate) cluster: Dim3,
    pub(crate) block: Dim3,
    pub(crate) dynamic_bytes: u32,
    pub(crate) limits: &'a Limits,
    pub(crate) schedule: Schedule,
    /// What uninitialised shared memory holds.
    pub(crate) poison: u8,
    pub(crate) checks: Checks,
    pub(crate) workers: usize,
    pub(crate) time_limit: Duration,
    pub(crate) only_block: Option<u64>,
    pub(crate) progress: Option<Arc<Progress>>,
}

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) blocks: u64,
    /// In the order of the schedule.
    pub(crate) faults: Vec<SimFault>,
    /// Whether two blocks raced, so that the outcome depends on which was faster.
    pub(crate) blocks_race: bool,
    pub(crate) static_bytes: u64,
    pub(crate) barriers: (u32, u32),
    pub(crate) lines: Vec<LineTraffic>,
    pub(crate) approximate: u64,
    pub(crate) output: String,
}

/// The part of a request that does not change during the run.
pub(super) struct Config {
    pub(super) grid: Dim3,
    /// Blocks of a cluster, of which the grid is made.
    pub(super) cluster: Dim3,
    pub(super) block: Dim3,
    pub(super) dynamic_bytes: u32,
    pub(super) compute_capability: u32,
    pub(super) poison: u8,
    pub(super) checks: Checks,
    pub(super) time_limit: Duration,
    pub(super) limits: Limits,
}

impl Config {
    /// The clusters of the grid.
    pub(super) fn clusters(&self) -> Dim3 {
        let (grid, cluster) = (self.grid.to_array(), self.cluster.to_array());
        std::array::from_fn::<u32, 3, _>(|axis| grid[axis] / cluster[axis].max(1)).into()
    }

    /// The linear index of the block of this rank in a cluster.
    fn block_of(&self, cluster: u64, rank: u64) -> u64 {
        let (corner, inside) = (self.clusters().position(cluster), self.cluster.position(rank));
        let extents = self.cluster.to_array();
        self.grid
            .linear(std::array::from_fn(|axis| corner[axis] * extents[axis] + inside[axis]))
    }

    /// The linear index of the cluster that a block is of.
    fn cluster_of(&self, block: u64) -> u64 {
        let (position, extents) = (self.grid.position(block), self.cluster.to_array());
        self.clusters()
            .linear(std::array::from_fn(|axis| position[axis] / extents[axis].max(1)))
    }

    /// Room for static arrays: the limit, and the canaries of as many arrays as anybody writes down.
    pub(super) fn static_capacity(&self) -> usize {
        const ARRAYS: usize = 256;
        self.limits.static_shared_bytes as usize + ARRAYS * 2 * CANARY_BYTES
    }
}

/// A buffer that the run has met.
pub(super) struct Touched {
    pub(super) allocation: Arc<Allocation>,
    pub(super) shadow: GlobalShadow,
}

/// What the workers of a run have in common.
pub(super) struct Run {
    pub(super) config: Config,
    pub(super) schedule: Schedule,
    /// The kernel; alive until `run` returns, which is after its workers have ended.
    pub(super) kernel: *const (dyn Fn() + Sync),
    pub(super) grid: Grid,
    pub(super) watch: Watch,
    pub(super) order: Arc<GridSync>,
    touched: Mutex<Vec<Arc<Touched>>>,
    pub(super) statics: Mutex<Statics>,
    sites: RwLock<Vec<&'static Location<'static>>>,
    blocks_race: AtomicBool,
    left: Mutex<Left>,
}

// SAFETY: the kernel is `Sync`; the rest is shared by locks and atomics.
unsafe impl Send for Run {}
// SAFETY: as above.
unsafe impl Sync for Run {}

/// What blocks have handed in.
#[derive(Default)]
struct Left {
    /// By kind and lines: the position of the block that had it first, its number in the block, and the fault.
    faults: Vec<(u64, usize, SimFault)>,
    output: BTreeMap<u64, String>,
    lines: BTreeMap<(Site, TrafficKind), LineTraffic>,
    approximate: u64,
    barriers: Option<(u32, u32)>,
    blocks: u64,
}

impl Run {
    /// The allocation as a buffer of this run.
    pub(super) fn touch(&self, allocation: Arc<Allocation>) -> Arc<Touched> {
        let mut touched = self.touched.lock();
        if let Some(known) = touched.iter().find(|known| Arc::ptr_eq(&known.allocation, &allocation)) {
            return Arc::clone(known);
        }
        let shadow = GlobalShadow::new(allocation.bytes());
        let new = Arc::new(Touched { allocation, shadow });
        touched.push(Arc::clone(&new));
        new
    }

    /// The run's number of a site.
    pub(super) fn intern(&self, site: &'static Location<'static>) -> u32 {
        let mut sites = self.sites.write();
        let known = sites.iter().position(|known| *known == site);
        let number = known.unwrap_or_else(|| {
            sites.push(site);
            sites.len() - 1
        });
        number as u32
    }

    /// The site of a number.
    pub(super) fn site(&self, number: u32) -> &'static Location<'static> {
        self.sites.read()[number as usize]
    }

    pub(super) fn note_race_between_blocks(&self) {
        self.blocks_race.store(true, Relaxed);
    }

    /// Takes what a slot has of the block that it just ended.
    pub(super) fn hand_in(&self, slot: &Slot) {
        let position = slot.position.get();
        let (faults, output) = (slot.faults.take(), slot.output.take());
        let mut left = self.left.lock();
        left.blocks += 1;
        for (number, fault) in faults.into_iter().enumerate() {
            match left.faults.iter_mut().find(|(_, _, known)| known.is_like(&fault)) {
                Some((first, place, known)) => {
                    let count = known.count + fault.count;
                    if position < *first {
                        (*first, *place, *known) = (position, number, fault);
                    }
                    known.count = count;
                }
                None => left.faults.push((position, number, fault)),
            }
        }
        if !output.is_empty() {
            left.output.insert(position, output);
        }
    }

    /// Takes what a slot has counted over all its blocks.
    fn hand_in_counts(&self, slot: &Slot) {
        let analysis = slot.analysis.borrow();
        let mut left = self.left.lock();
        left.approximate += analysis.traffic.approximate();
        let totals = analysis.traffic.totals().iter().enumerate();
        for (number, total) in totals.filter(|(_, total)| total.requests > 0) {
            let (location, kind) = analysis.sites.get(number as u16);
            let kind = TrafficKind {
                space: match kind.space {
                    SiteSpace::Shared => Space::Shared,
                    SiteSpace::Global => Space::Global,
                },
                access: kind.op.into(),
            };
            let site = Site::from(location);
            let line = left.lines.entry((site.clone(), kind)).or_insert_with(|| LineTraffic {
                site,
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
        if let Some((fewest, most)) = slot.barriers.get() {
            let (low, high) = left.barriers.unwrap_or((fewest, most));
            left.barriers = Some((low.min(fewest), high.max(most)));
        }
    }
}

impl Slot {
    /// The number under which all slots know a site.
    pub(super) fn run_site(&self, id: u16, site: &'static Location<'static>) -> u32 {
        const UNKNOWN: u32 = u32::MAX;
        let mut numbers = self.run_sites.borrow_mut();
        let id = usize::from(id);
        if numbers.len() <= id {
            numbers.resize(id + 1, UNKNOWN);
        }
        if numbers[id] == UNKNOWN {
            numbers[id] = self.run.intern(site);
        }
        numbers[id]
    }
}

/// Runs every block of the request.
pub(crate) fn run(request: &Request<'_>, kernel: &(dyn Fn() + Sync)) -> Outcome {
    trap::install();
    install_panic_hook();
    let statics = crate::device::shared_statics();
    // They are one per program and not one per block: blocks, and launches, take turns.
    let _turn = (!statics.is_empty()).then(|| SHARED_STATICS_TURN.lock());
    // Clusters run, most of one block each.
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
            time_limit: request.time_limit,
            limits: request.limits.clone(),
        },
        schedule: request.schedule,
        kernel,
        grid: Grid::new(blocks),
        watch: Watch::default(),
        order: Default::default(),
        touched: Mutex::default(),
        statics: Mutex::default(),
        sites: RwLock::default(),
        blocks_race: AtomicBool::new(false),
        left: Mutex::default(),
    });
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        let start = || {
            let (run, sender) = (Arc::clone(&run), sender.clone());
            let only_block = request.only_block;
            let name = "cuda-sim".to_owned();
            std::thread::Builder::new()
                .name(name)
                .spawn_scoped(scope, move || worker(&run, only_block, &sender))
                .map(drop)
        };
        let spawn = || start().is_ok();
        // The first must start; with fewer others it only takes longer.
        if let Err(error) = start() {
            run.lack(format!("no thread could be started: {error}"));
            return;
        }
        let mut alive = 1;
        for _ in 1..workers {
            alive += usize::from(spawn());
        }
        watch(&run, &receiver, alive, &spawn, request, blocks);
    });
    drop(sender);
    let mut left = std::mem::take(&mut *run.left.lock());
    left.faults.sort_by_key(|&(position, number, _)| (position, number));
    let static_bytes = run.static_bytes();
    Outcome {
        blocks: left.blocks,
        faults: left.faults.into_iter().map(|(_, _, fault)| fault).collect(),
        blocks_race: run.blocks_race.load(Relaxed),
        static_bytes,
        barriers: left.barriers.unwrap_or((0, 0)),
        lines: left.lines.into_values().collect(),
        approximate: left.approximate,
        output: left.output.into_values().collect(),
    }
}

static SHARED_STATICS_TURN: Mutex<()> = Mutex::new(());

impl Run {
    /// Ends the run: the launch as a whole is at fault. The first such fault counts, whichever worker met it.
    pub(super) fn fail(&self, problem: &str) {
        self.end(FaultKind::LaunchShape {
            problem: problem.to_owned(),
        });
    }

    /// Ends the run because this machine cannot do it.
    pub(super) fn lack(&self, problem: String) {
        self.end(FaultKind::Resources { problem });
    }

    fn end(&self, kind: FaultKind) {
        let fault = SimFault::of_launch(kind);
        let mut left = self.left.lock();
        if !left.faults.iter().any(|(_, _, known)| known.is_like(&fault)) {
            left.faults.push((0, 0, fault));
        }
        drop(left);
        self.grid.stop();
    }
}

/// Runs blocks until none is left to start.
fn worker(run: &Arc<Run>, only_block: Option<u64>, messages: &Sender<Message>) {
    let expired = Arc::new(AtomicBool::new(false));
    let number = run.watch.add(Arc::clone(&expired));
    run.watch.set_target(number, Some(trap::target()));
    let turn = Rc::new(Turn::default());
    let size = run.config.cluster.count().max(1);
    let slot = |rank| {
        let ids = (number, rank as u32);
        Slot::new(Arc::clone(run), ids, Arc::clone(&expired), Rc::clone(&turn))
    };
    match (0..size).map(slot).collect::<Result<Vec<_>, _>>() {
        Err(error) => run.lack(format!("no memory for a block: {error}")),
        Ok(slots) => {
            for slot in &slots {
                slot.peers.replace(slots.iter().map(std::ptr::from_ref).collect());
            }
            // The watch ends when the last worker has; it cannot have gone.
            let spawn = || drop(messages.send(Message::Spawn));
            while let Some((position, place)) = run.grid.start() {
                let cluster = match only_block {
                    Some(block) => run.config.cluster_of(block),
                    None => block_at(run.schedule, position, run.config.clusters().count()),
                };
                turn.place.replace(Some(place));
                turn.holds_token.set(false);
                for (rank, slot) in (0..).zip(&slots) {
                    slot.prepare(position * size + rank, run.config.block_of(cluster, rank));
                }
                run_blocks(&slots, &spawn);
                run.watch.met(number);
                let place = turn.place.take().expect("it had one");
                run.grid.finish(&place);
            }
            slots.iter().for_each(|slot| run.hand_in_counts(slot));
        }
    }
    run.watch.set_target(number, None);
    run.watch.pause(number, true);
    drop(messages.send(Message::Ended));
}

/// Lets a panic in a simulated thread leave its message and place with the slot instead of on standard error.
fn install_panic_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let slot = CURRENT.get();
            if slot.is_null() {
                return previous(info);
            }
            // SAFETY: set while one of the slot's threads runs, which is this one.
            let slot = unsafe { &*slot };
            let site = info.location().map(|location| Site {
                // A panic's place is in the program's text, but its type does not say so.
                file: intern_file(location.file()),
                line: location.line(),
                column: location.column(),
            });
            slot.panicked.replace(Some((message_of(info.payload()), site)));
        }));
    });
}

/// The name of a file for the life of the program. There are as many as there are files of source.
pub(super) fn intern_file(file: &str) -> &'static str {
    static FILES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut files = FILES.lock();
    match files.iter().find(|known| **known == file) {
        Some(known) => known,
        None => {
            let new: &'static str = Box::leak(file.to_owned().into_boxed_str());
            files.push(new);
            new
        }
    }
}
