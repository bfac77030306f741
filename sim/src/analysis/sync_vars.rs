//! Order through atomics and fences, by the rules of the PTX ISA, which order all that C++20 and Rust order.
//!
//! - A *release* store publishes at its address what its thread has done and knows; it replaces what was published
//!   there before.
//! - A read-modify-write continues the release sequence: what was published stays, and what it releases itself is
//!   added.
//! - A relaxed store or read-modify-write publishes in the same way what its thread's last release *fence* saw, and
//!   what its thread's last release at the same address did. If there was neither, a relaxed store publishes nothing,
//!   and ends the release sequence.
//! - An *acquire* load or read-modify-write learns what is published at its address. What a relaxed one would have
//!   learnt is learnt at its thread's next acquire at that address, or next acquire fence.
//!
//! Scopes: an operation of block scope neither publishes to other blocks nor learns from them; between threads of one
//! block the scope does not matter. One approximation: two blocks that publish through one address at block scope,
//! which is a mistake in itself, overwrite each other's publications.
//!
//! Each answer follows the order in which the engine executed the atomics. That `fence.sc` instructions of different
//! threads are themselves ordered is not used: which one comes first is up to the run.
//!
//! Sources: PTX ISA, "Memory Consistency Model" ("Scope", "Release and acquire patterns", "Observation order", "Memory
//! synchronization"), <https://docs.nvidia.com/cuda/parallel-thread-execution/>; the C++20 standard, `[intro.races]`
//! and `[atomics.fences]`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::Op;
use super::clock::{BlockClock, Clocks};
use super::grid_clock::{GridClock, GridKnowledge, Known};
use super::sites::SiteSpace;

/// Who an atomic or a fence is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncScope {
    /// The threads of the own block.
    Block,
    /// All threads of the device, or of the system.
    Grid,
}

/// What an atomic access does, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtomicAccess {
    /// The memory.
    pub(crate) space: SiteSpace,
    /// The address; one variable is always accessed at the same one.
    pub(crate) address: usize,
    /// [`Op::AtomicLoad`], [`Op::AtomicStore`] or [`Op::AtomicUpdate`]. A compare-and-exchange that fails is a load.
    pub(crate) op: Op,
    /// As in `core::sync::atomic`.
    pub(crate) order: Ordering,
    /// For whom it synchronises.
    pub(crate) scope: SyncScope,
}

/// What a thread knew when it published.
#[derive(Clone, Debug)]
struct Snapshot {
    /// Of its own block, in this interval.
    clock: Arc<BlockClock>,
    /// Of other blocks.
    grid: GridClock,
}

/// What a thread knew when it published, for those that may learn it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Publication {
    /// For threads of its block.
    local: Option<Arc<Snapshot>>,
    /// For threads of other blocks.
    grid: GridClock,
}

/// What threads knew that have arrived at a barrier without waiting there.
#[derive(Default)]
pub(crate) struct Arrivals(Publication);

/// What is published at one address.
#[derive(Default)]
struct Variable {
    /// The block that the local part is of.
    block: u64,
    published: Publication,
}

/// An address in one of the memories.
type Place = (SiteSpace, usize);

/// What a thread's fences and relaxed atomics have to do with each other and with what it did at the same address.
#[derive(Default)]
struct Patterns {
    /// What the last release fence saw.
    fence: Publication,
    /// What the last release at each address published.
    released: HashMap<Place, Publication>,
    /// What relaxed reads saw published, since the last acquire at the address or acquire fence.
    pending: HashMap<Place, Publication>,
}

/// What atomics on global memory have published in one run; shared by its workers.
///
/// Only the block that may execute device-wide atomics calls in here at grid scope, so that the order of the calls is
/// the order of the atomics.
#[derive(Default)]
pub(crate) struct GridSync {
    variables: Mutex<HashMap<usize, Variable>>,
    /// Something was published: until then relaxed atomics need not look.
    used: AtomicBool,
}

/// All order of the block that a worker runs: barriers, meetings, atomics, fences.
pub(crate) struct Synchronization {
    /// The order within the block. Its `start_block`, `barrier` and `join` are called from here only.
    pub(crate) clocks: Clocks,
    block: u64,
    knowledge: GridKnowledge,
    patterns: HashMap<u16, Patterns>,
    shared: HashMap<usize, Variable>,
}

impl Synchronization {
    /// No block yet.
    pub(crate) fn new() -> Self {
        Self {
            clocks: Clocks::new(),
            block: 0,
            knowledge: GridKnowledge::default(),
            patterns: HashMap::new(),
            shared: HashMap::new(),
        }
    }

    /// Starts the block of linear index `block`, of at most 1,024 threads.
    pub(crate) fn start_block(&mut self, block: u64, threads: usize) {
        self.clocks.start_block(threads);
        self.block = block;
        self.knowledge.clear();
        self.patterns.clear();
        self.shared.clear();
    }

    /// All threads of the block have met.
    pub(crate) fn barrier(&mut self) {
        self.clocks.barrier();
        self.knowledge.barrier();
    }

    /// Some threads of the block have met, each once.
    pub(crate) fn join(&mut self, threads: impl Iterator<Item = u16> + Clone) {
        self.clocks.join(threads.clone());
        self.knowledge.join(threads);
    }

    /// `agent` starts, with what all of `parents` know. Returns its stamp. Of other blocks it knows what the first one
    /// knows.
    pub(crate) fn fork(&mut self, agent: u16, parents: impl Iterator<Item = u16> + Clone) -> u32 {
        if let Some(first) = parents.clone().next() {
            let known = self.knowledge.of(first).clone();
            self.knowledge.acquire(agent, &known);
        }
        self.clocks.fork(agent, parents)
    }

    /// What `thread` knows now, itself included, for threads of its block.
    pub(crate) fn release_to_block(&mut self, thread: u16) -> Publication {
        self.publish(thread, SyncScope::Block)
    }

    /// What `thread` knows now, itself included, for threads of all blocks.
    pub(crate) fn release_to_cluster(&mut self, thread: u16) -> Publication {
        let local = None;
        Publication {
            local,
            ..self.publish(thread, SyncScope::Grid)
        }
    }

    /// `agent` starts for a thread of another block, with what that has released. Returns its stamp.
    pub(crate) fn fork_from(&mut self, agent: u16, published: &Publication) -> u32 {
        self.fork(agent, std::iter::empty());
        self.learn(agent, published);
        self.clocks.restamp(agent)
    }

    /// The barriers of this block that who has published knows of: those before this stamp.
    pub(crate) fn published_below(&self, published: &Publication) -> u32 {
        let known = published.grid.of_block(self.block).map(|known| known.below);
        known.max().unwrap_or_else(|| self.clocks.block_start())
    }

    /// Whether what is published includes what `agent` of this block did at `stamp`.
    pub(crate) fn is_published(&self, published: &Publication, agent: u16, stamp: u32) -> bool {
        published.grid.ordered(self.block, agent, stamp)
    }

    /// `thread` learns what others, of its block or of its cluster, have released.
    pub(crate) fn acquire(&mut self, thread: u16, published: &Publication) {
        self.learn(thread, published);
    }

    /// `thread` has arrived at a barrier and goes on: those who wait there learn what it knows now.
    pub(crate) fn arrive(&mut self, thread: u16, arrivals: &mut Arrivals) {
        let published = self.publish(thread, SyncScope::Block);
        arrivals.0.merge(&published);
    }

    /// Some threads of the block, at least one, have met at a barrier; others had arrived there.
    pub(crate) fn meet(&mut self, threads: &[u16], arrivals: &Arrivals) {
        self.join(threads.iter().copied());
        for &thread in threads {
            self.learn(thread, &arrivals.0);
        }
    }

    /// Whether what `other` of another block did at `stamp` is ordered before what `thread` does now.
    pub(crate) fn ordered_in_grid(&self, thread: u16, block: u64, other: u16, stamp: u32) -> bool {
        self.knowledge.of(thread).ordered(block, other, stamp)
    }

    /// Whether `thread` knows anything of other blocks.
    pub(crate) fn knows_blocks(&self, thread: u16) -> bool {
        !self.knowledge.of(thread).is_empty()
    }

    /// `thread` executes an atomic access; `check` looks whether it races.
    ///
    /// `check` is called between the two halves: what the access acquires is ordered before it, and it is itself part
    /// of what it releases.
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
            SiteSpace::Shared => {
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
            SiteSpace::Global => {
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

    /// `thread` executes a fence.
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
        let place = access.place();
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
        // What this operation has itself acquired, its thread knows, and has published again.
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
        if variable.published.is_empty() {
            variables.remove(&access.address);
        }
    }

    /// What `thread` knows now, itself included, for its block and, at grid scope, for all.
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
        // The own block's doings may come back by way of others.
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

    /// Takes the place of what the same thread published earlier; what it published for all blocks stays if this is
    /// for its own block only.
    fn succeed(&mut self, later: Self) {
        self.local = later.local;
        if !later.grid.is_empty() {
            self.grid = later.grid;
        }
    }

    /// What an acquire of `scope` learns of it, and what is then no longer pending.
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
