//! Order through atomics and fences, by the rules of the PTX ISA, which order all that C++20 and Rust order.
//!
//! - A *release* store publishes at its address its thread's accesses and knowledge; it replaces the earlier
//!   publication.
//! - A read-modify-write continues the release sequence: the publication remains, and its own release is added.
//! - A relaxed store or read-modify-write publishes in the same way the knowledge of its thread's last release *fence*,
//!   and of its thread's last release at the same address. If there was neither, a relaxed store publishes nothing, and
//!   ends the release sequence.
//! - An *acquire* load or read-modify-write acquires the publication at its address. A relaxed one defers that to its
//!   thread's next acquire at that address, or next acquire fence.
//!
//! Scopes: an operation of block scope neither publishes to other blocks nor acquires from them; between threads of one
//! block the scope does not matter. One approximation: two blocks that publish through one address at block scope,
//! which is a bug in itself, overwrite each other's publications.
//!
//! Each answer follows the order in which the engine executed the atomics. That `fence.sc` instructions of different
//! threads are themselves ordered is not used: which one comes first is up to the run.
//!
//! Sources: PTX ISA, "Memory Consistency Model" ("Scope", "Release and acquire patterns", "Observation order", "Memory
//! synchronization"), <https://docs.nvidia.com/cuda/parallel-thread-execution/>; the C++20 standard, `[intro.races]`
//! and `[atomics.fences]`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::Op;
use super::clock::{BlockClock, Clocks};
use super::grid_clock::{GridClock, GridKnowledge, Known};
use crate::access::Space;

/// Scope of an atomic or a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncScope {
    /// The threads of the own block.
    Block,
    /// All threads of the device, or of the system.
    Grid,
}

/// An atomic access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtomicAccess {
    /// The memory.
    pub(crate) space: Space,
    /// The address; one variable is always accessed at the same one.
    pub(crate) address: usize,
    /// [`Op::AtomicLoad`], [`Op::AtomicStore`] or [`Op::AtomicUpdate`]. A compare-and-exchange that fails is a load.
    pub(crate) op: Op,
    /// As in `core::sync::atomic`.
    pub(crate) order: Ordering,
    /// For whom it synchronizes.
    pub(crate) scope: SyncScope,
}

/// A thread's knowledge at a publication.
#[derive(Clone, Debug)]
struct Snapshot {
    /// Of its own block, in this interval.
    clock: Arc<BlockClock>,
    /// Of other blocks.
    grid: GridClock,
}

/// A thread's knowledge at a publication, by scope.
#[derive(Clone, Debug, Default)]
pub(crate) struct Publication {
    /// For threads of its block.
    local: Option<Arc<Snapshot>>,
    /// For threads of other blocks.
    grid: GridClock,
}

/// Knowledge of the threads that have arrived at a barrier without waiting.
#[derive(Default)]
pub(crate) struct Arrivals(Publication);

/// The publication at one address.
#[derive(Default)]
struct Variable {
    /// The block of the local part.
    block: u64,
    published: Publication,
    /// Changes with `published`: no two publications of a program have the same.
    version: u64,
}

/// An address in one of the memories.
type Place = (Space, usize);

/// A thread's fences, releases and relaxed reads that later atomics may combine with.
#[derive(Default)]
struct Patterns {
    /// Knowledge at the last release fence.
    fence: Publication,
    /// Publication of the last release at each address.
    released: HashMap<Place, Publication>,
    /// Publications that relaxed reads saw, since the last acquire at the address or acquire fence.
    pending: HashMap<Place, Publication>,
}

/// Publications of one run's atomics on global memory; shared by its workers.
///
/// Only the block that may execute device-wide atomics calls in here at grid scope, so that the order of the calls is
/// the order of the atomics.
#[derive(Default)]
pub(crate) struct GridSync {
    variables: Mutex<HashMap<usize, Variable>>,
    /// There was a publication: until then relaxed atomics have nothing to acquire.
    used: AtomicBool,
}

/// All order of the block that a worker runs: barriers, warp rendezvous, atomics, fences.
pub(crate) struct Synchronization {
    /// The order within the block. Its `start_block`, `barrier` and `join` are called from here only.
    pub(crate) clocks: Clocks,
    block: u64,
    knowledge: GridKnowledge,
    patterns: HashMap<u16, Patterns>,
    shared: HashMap<usize, Variable>,
    /// The version that a thread last acquired at a place. A thread that polls acquires the same one again and again.
    acquired: HashMap<(u16, Place), (u64, SyncScope)>,
}

/// The version of the next publication.
static VERSION: AtomicU64 = AtomicU64::new(1);

impl Synchronization {
    /// No block yet.
    pub(crate) fn new() -> Self {
        Self {
            clocks: Clocks::new(),
            block: 0,
            knowledge: GridKnowledge::default(),
            patterns: HashMap::new(),
            shared: HashMap::new(),
            acquired: HashMap::new(),
        }
    }

    /// Starts the block of this number, of at most 1,024 threads.
    pub(crate) fn start_block(&mut self, block: u64, threads: usize) {
        self.clocks.start_block(threads);
        self.block = block;
        self.knowledge.clear();
        self.patterns.clear();
        self.shared.clear();
        self.acquired.clear();
    }

    /// Completes a barrier of the block.
    pub(crate) fn barrier(&mut self) {
        self.clocks.barrier();
        self.knowledge.barrier();
    }

    /// Completes a barrier of some threads, each given once.
    pub(crate) fn join(&mut self, threads: impl Iterator<Item = u16> + Clone) {
        self.clocks.join(threads.clone());
        self.knowledge.join(threads);
    }

    /// Starts `agent` with the knowledge that all of `parents` have in common; about other blocks, with that of the
    /// first one. Returns its epoch.
    pub(crate) fn fork(&mut self, agent: u16, parents: impl Iterator<Item = u16> + Clone) -> u32 {
        if let Some(first) = parents.clone().next() {
            let known = self.knowledge.of(first).clone();
            self.knowledge.acquire(agent, &known);
        }
        self.clocks.fork(agent, parents)
    }

    /// Publishes the knowledge of `thread`, itself included, to its block.
    pub(crate) fn release_to_block(&mut self, thread: u16) -> Publication {
        self.publish(thread, SyncScope::Block)
    }

    /// Publishes the knowledge of `thread`, itself included, to all blocks.
    pub(crate) fn release_to_cluster(&mut self, thread: u16) -> Publication {
        let local = None;
        Publication {
            local,
            ..self.publish(thread, SyncScope::Grid)
        }
    }

    /// Starts `agent` for a thread of another block, with its publication. Returns the agent's epoch.
    pub(crate) fn fork_from(&mut self, agent: u16, published: &Publication) -> u32 {
        self.fork(agent, std::iter::empty());
        self.learn(agent, published);
        self.clocks.advance_epoch(agent)
    }

    /// The publisher knows of this block's barriers those before the returned epoch.
    pub(crate) fn published_below(&self, published: &Publication) -> u32 {
        let known = published.grid.of_block(self.block).map(|known| known.below);
        known.max().unwrap_or_else(|| self.clocks.block_start())
    }

    /// Whether the publication includes the accesses of this block's `agent` at `epoch`.
    pub(crate) fn is_published(&self, published: &Publication, agent: u16, epoch: u32) -> bool {
        published.grid.ordered(self.block, agent, epoch)
    }

    /// Adds a publication, of the block or the cluster, to the knowledge of `thread`.
    pub(crate) fn acquire(&mut self, thread: u16, published: &Publication) {
        self.learn(thread, published);
    }

    /// `thread` arrives at a barrier without waiting: the threads that wait there acquire its knowledge.
    pub(crate) fn arrive(&mut self, thread: u16, arrivals: &mut Arrivals) {
        let published = self.publish(thread, SyncScope::Block);
        arrivals.0.merge(&published);
    }

    /// Completes a named barrier where `threads`, at least one, wait; others have arrived.
    pub(crate) fn complete_named_barrier(&mut self, threads: &[u16], arrivals: &Arrivals) {
        self.join(threads.iter().copied());
        for &thread in threads {
            self.learn(thread, &arrivals.0);
        }
    }

    /// Whether the accesses of thread `other` of another block at `epoch` are ordered before the next access of
    /// `thread`.
    pub(crate) fn ordered_in_grid(&self, thread: u16, block: u64, other: u16, epoch: u32) -> bool {
        self.knowledge.of(thread).ordered(block, other, epoch)
    }

    /// `thread` learns all that launches have done.
    pub(crate) fn acquire_launches(&mut self, thread: u16, known: &GridClock) {
        self.knowledge.acquire(thread, known);
    }

    /// All that any thread of the block knows of others.
    pub(crate) fn known_blocks(&self) -> GridClock {
        self.knowledge.of_all()
    }

    /// Whether `thread` knows any access of other blocks.
    pub(crate) fn knows_blocks(&self, thread: u16) -> bool {
        !self.knowledge.of(thread).is_empty()
    }

    /// Executes an atomic access of `thread`; `check` looks for a race.
    ///
    /// `check` is called between the acquiring and the releasing half: acquired accesses are ordered before this one,
    /// and this one is part of the release.
    pub(crate) fn atomic<R>(
        &mut self,
        grid: &GridSync,
        thread: u16,
        access: AtomicAccess,
        check: impl FnOnce(&Self) -> R,
    ) -> R {
        debug_assert!(access.op.is_atomic(), "an atomic access at {:#x}", access.address);
        let silent = access.order == Ordering::Relaxed && !self.has_released(thread);
        match access.space {
            Space::Shared => {
                if silent && self.shared.is_empty() {
                    return check(self);
                }
                let mut variables = std::mem::take(&mut self.shared);
                self.observe(&variables, thread, access);
                let result = check(self);
                self.change(&mut variables, thread, access);
                self.shared = variables;
                result
            }
            Space::Global => {
                if silent && !grid.used.load(Ordering::Relaxed) {
                    return check(self);
                }
                let mut variables = grid.variables.lock();
                self.observe(&variables, thread, access);
                let result = check(self);
                self.change(&mut variables, thread, access);
                if !variables.is_empty() {
                    grid.used.store(true, Ordering::Relaxed);
                }
                result
            }
        }
    }

    /// Executes a fence of `thread`.
    pub(crate) fn fence(&mut self, thread: u16, order: Ordering, scope: SyncScope) {
        if acquires(order)
            && let Some(patterns) = self.patterns.get_mut(&thread)
        {
            let mut seen = Publication::default();
            for pending in patterns.pending.values_mut() {
                seen.merge(&pending.take_for(scope));
            }
            patterns.pending.retain(|_, pending| !pending.is_empty());
            self.learn(thread, &seen);
        }
        if releases(order) {
            let published = self.publish(thread, scope);
            self.patterns.entry(thread).or_default().fence.succeed(published);
        }
    }

    fn has_released(&self, thread: u16) -> bool {
        let released = |patterns: &Patterns| patterns.fence.local.is_some() || !patterns.released.is_empty();
        !self.patterns.is_empty() && self.patterns.get(&thread).is_some_and(released)
    }

    /// The acquiring half of an atomic access.
    fn observe(&mut self, variables: &HashMap<usize, Variable>, thread: u16, access: AtomicAccess) {
        if !access.op.reads() {
            return;
        }
        let place = access.place();
        let version = variables.get(&access.address).map_or(0, |variable| variable.version);
        let has_pending = || {
            let patterns = self.patterns.get(&thread);
            patterns.is_some_and(|patterns| patterns.pending.contains_key(&place))
        };
        if acquires(access.order) && !has_pending() {
            let before = self.acquired.insert((thread, place), (version, access.scope));
            if before == Some((version, access.scope)) {
                return;
            }
        }
        let mut seen = match variables.get(&access.address) {
            Some(variable) => Publication {
                local: variable
                    .published
                    .local
                    .clone()
                    .filter(|_| variable.block == self.block),
                grid: match access.scope {
                    SyncScope::Grid => variable.published.grid.clone(),
                    SyncScope::Block => GridClock::default(),
                },
            },
            None => Publication::default(),
        };
        if acquires(access.order) {
            if let Some(patterns) = self.patterns.get_mut(&thread)
                && let Some(pending) = patterns.pending.get_mut(&place)
            {
                seen.merge(&pending.take_for(access.scope));
            }
            self.learn(thread, &seen);
        } else if !seen.is_empty() {
            let patterns = self.patterns.entry(thread).or_default();
            patterns.pending.entry(place).or_default().merge(&seen);
        }
    }

    /// The releasing half of an atomic access.
    fn change(&mut self, variables: &mut HashMap<usize, Variable>, thread: u16, access: AtomicAccess) {
        if !access.op.writes() {
            return;
        }
        let place = access.place();
        let published = if releases(access.order) {
            let published = self.publish(thread, access.scope);
            let patterns = self.patterns.entry(thread).or_default();
            patterns.released.entry(place).or_default().succeed(published.clone());
            published
        } else {
            let mut published = Publication::default();
            if let Some(patterns) = self.patterns.get(&thread) {
                published.clone_from(&patterns.fence);
                if let Some(released) = patterns.released.get(&place) {
                    published.merge(released);
                }
            }
            if access.scope == SyncScope::Block {
                published.grid = GridClock::default();
            }
            published
        };
        // The thread knows everything that this operation acquired, and has published it again.
        let replaces = access.op == Op::AtomicStore || acquires(access.order) && releases(access.order);
        let variable = variables.entry(access.address).or_default();
        if access.op == Op::AtomicStore {
            *variable = Variable::default();
        }
        if published.local.is_some() && (replaces || variable.block != self.block) {
            variable.block = self.block;
            variable.published.local = None;
        }
        if replaces && access.scope == SyncScope::Grid {
            variable.published.grid = GridClock::default();
        }
        variable.published.merge(&published);
        variable.version = VERSION.fetch_add(1, Ordering::Relaxed);
        if variable.published.is_empty() {
            variables.remove(&access.address);
        }
    }

    /// The knowledge of `thread`, itself included, for its block and, at grid scope, for all blocks.
    fn publish(&mut self, thread: u16, scope: SyncScope) -> Publication {
        let clock = Arc::new(self.clocks.release(thread));
        let known = self.knowledge.of(thread).clone();
        let grid = match scope {
            SyncScope::Block => GridClock::default(),
            SyncScope::Grid => {
                let mut grid = known.clone();
                grid.insert(Known {
                    block: self.block,
                    below: self.clocks.interval_start(),
                    clock: clock.clone(),
                });
                grid
            }
        };
        Publication {
            local: Some(Arc::new(Snapshot { clock, grid: known })),
            grid,
        }
    }

    fn learn(&mut self, thread: u16, published: &Publication) {
        if let Some(snapshot) = &published.local {
            self.clocks.acquire(thread, &snapshot.clock);
            self.knowledge.acquire(thread, &snapshot.grid);
        }
        // Knowledge of the own block may return through others.
        for known in published.grid.of_block(self.block) {
            self.clocks.acquire(thread, &known.clock);
        }
        self.knowledge.acquire(thread, &published.grid);
    }
}

impl AtomicAccess {
    fn place(self) -> Place {
        (self.space, self.address)
    }
}

impl Publication {
    fn is_empty(&self) -> bool {
        self.local.is_none() && self.grid.is_empty()
    }

    /// Adds `other`, whose local part is of the same block.
    pub(crate) fn merge(&mut self, other: &Self) {
        match (&mut self.local, &other.local) {
            (_, None) => {}
            (Some(own), Some(other)) if Arc::ptr_eq(own, other) => {}
            (Some(own), Some(other)) => *own = Arc::new(own.merged(other)),
            (own @ None, Some(other)) => *own = Some(other.clone()),
        }
        self.grid.merge(&other.grid);
    }

    /// Replaces an earlier publication of the same thread. The part for all blocks remains if `later` is for the own
    /// block only.
    fn succeed(&mut self, later: Self) {
        self.local = later.local;
        if !later.grid.is_empty() {
            self.grid = later.grid;
        }
    }

    /// Takes the part that an acquire of `scope` acquires.
    fn take_for(&mut self, scope: SyncScope) -> Self {
        match scope {
            SyncScope::Grid => std::mem::take(self),
            SyncScope::Block => Self {
                local: self.local.take(),
                grid: GridClock::default(),
            },
        }
    }
}

impl Snapshot {
    fn merged(&self, other: &Self) -> Self {
        let mut grid = self.grid.clone();
        grid.merge(&other.grid);
        Self {
            clock: Arc::new(self.clock.merged(&other.clock)),
            grid,
        }
    }
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}
