//! Order through atomics and fences, by the rules of C++20 and Rust.
//!
//! - A *release* store publishes at its address what its thread has done and knows; it replaces what was published
//!   there before.
//! - A read-modify-write continues the release sequence: what was published stays, and what it releases itself is
//!   added.
//! - A relaxed store or read-modify-write publishes in the same way what its thread's last release *fence* saw, if
//!   there was one. A relaxed store without a fence before it publishes nothing, and ends the release sequence.
//! - An *acquire* load or read-modify-write learns what is published at its address. What a relaxed one would have
//!   learnt is learnt at its thread's next acquire fence.
//!
//! Scopes: an operation of block scope neither publishes to other blocks nor learns from them (PTX ISA, "Scope",
//! "Morally strong operations"); between threads of one block the scope does not matter. One approximation: two blocks
//! that publish through one address at block scope, which is a mistake in itself, overwrite each other's publications.
//!
//! Each answer follows the order in which the engine executed the atomics. Sources: the C++20 standard, \[intro.races\]
//! and \[atomics.fences\]; PTX ISA, "Memory Consistency Model",
//! <https://docs.nvidia.com/cuda/parallel-thread-execution/>.

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

/// What is published at one address.
#[derive(Default)]
struct Variable {
    /// For the threads of one block, and which.
    local: Option<(u64, Arc<Snapshot>)>,
    /// For all blocks.
    grid: GridClock,
}

/// What a thread's fences and relaxed atomics have to do with each other.
#[derive(Default)]
struct Fences {
    /// What the last release fence saw, for the own block and, if it was of grid scope, for all blocks.
    released: Option<Arc<Snapshot>>,
    released_to_grid: Option<GridClock>,
    /// What relaxed reads saw published since the last acquire fence.
    pending: Vec<Arc<Snapshot>>,
    pending_from_grid: GridClock,
}

/// Snapshots that may be pending one by one; more are made one.
const PENDING: usize = 8;

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
    fences: HashMap<u16, Fences>,
    shared: HashMap<usize, Variable>,
}

impl Synchronization {
    /// No block yet.
    pub(crate) fn new() -> Self {
        Self {
            clocks: Clocks::new(),
            block: 0,
            knowledge: GridKnowledge::default(),
            fences: HashMap::new(),
            shared: HashMap::new(),
        }
    }

    /// Starts the block of linear index `block`, of at most 1,024 threads.
    pub(crate) fn start_block(&mut self, block: u64, threads: usize) {
        self.clocks.start_block(threads);
        self.block = block;
        self.knowledge.clear();
        self.fences.clear();
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
            && let Some(fences) = self.fences.get_mut(&thread)
        {
            let pending = std::mem::take(&mut fences.pending);
            let from_grid = match scope {
                SyncScope::Block => GridClock::default(),
                SyncScope::Grid => std::mem::take(&mut fences.pending_from_grid),
            };
            for snapshot in pending {
                self.learn(thread, &snapshot);
            }
            self.learn_from_grid(thread, &from_grid);
        }
        if releases(order) {
            let (snapshot, to_grid) = self.publish(thread, scope);
            let fences = self.fences.entry(thread).or_default();
            fences.released = Some(snapshot);
            if to_grid.is_some() {
                fences.released_to_grid = to_grid;
            }
        }
    }

    fn has_released(&self, thread: u16) -> bool {
        !self.fences.is_empty() && self.fences.get(&thread).is_some_and(|fences| fences.released.is_some())
    }

    /// The acquiring half of an atomic access.
    fn observe(&mut self, variables: &HashMap<usize, Variable>, thread: u16, access: AtomicAccess) {
        let AtomicAccess {
            address,
            op,
            order,
            scope,
            ..
        } = access;
        let Some(variable) = variables.get(&address) else {
            return;
        };
        if !op.reads() {
            return;
        }
        let local = variable.local.as_ref().filter(|(block, _)| *block == self.block);
        let from_grid = (scope == SyncScope::Grid).then_some(&variable.grid);
        if acquires(order) {
            if let Some((_, snapshot)) = local {
                self.learn(thread, snapshot);
            }
            if let Some(clock) = from_grid {
                self.learn_from_grid(thread, clock);
            }
            return;
        }
        let fences = self.fences.entry(thread).or_default();
        if let Some((_, snapshot)) = local
            && !fences.pending.iter().any(|pending| Arc::ptr_eq(pending, snapshot))
        {
            if fences.pending.len() == PENDING {
                let all = fences
                    .pending
                    .drain(..)
                    .reduce(|a, b| Arc::new(Snapshot::merged(&a, &b)));
                fences.pending.extend(all);
            }
            fences.pending.push(snapshot.clone());
        }
        if let Some(clock) = from_grid {
            fences.pending_from_grid.merge(clock);
        }
    }

    /// The releasing half of an atomic access.
    fn change(&mut self, variables: &mut HashMap<usize, Variable>, thread: u16, access: AtomicAccess) {
        let AtomicAccess {
            address,
            op,
            order,
            scope,
            ..
        } = access;
        if !op.writes() {
            return;
        }
        let (local, to_grid) = if releases(order) {
            let (snapshot, to_grid) = self.publish(thread, scope);
            (Some(snapshot), to_grid)
        } else {
            match self.fences.get(&thread) {
                Some(fences) => {
                    let to_grid = fences.released_to_grid.clone().filter(|_| scope == SyncScope::Grid);
                    (fences.released.clone(), to_grid)
                }
                None => (None, None),
            }
        };
        if op == Op::AtomicStore || !variables.contains_key(&address) {
            if local.is_none() && to_grid.is_none() {
                variables.remove(&address);
                return;
            }
            let variable = Variable {
                local: local.map(|snapshot| (self.block, snapshot)),
                grid: to_grid.unwrap_or_default(),
            };
            variables.insert(address, variable);
            return;
        }
        let variable = variables.entry(address).or_default();
        // What this operation has itself acquired, its thread knows: it need not be merged again.
        let knows_it = op.reads() && acquires(order) && releases(order);
        if let Some(snapshot) = local {
            variable.local = Some(match variable.local.take() {
                Some((block, before)) if block == self.block && !knows_it => {
                    (block, Arc::new(Snapshot::merged(&before, &snapshot)))
                }
                _ => (self.block, snapshot),
            });
        }
        if let Some(to_grid) = to_grid {
            if knows_it {
                variable.grid = to_grid;
            } else {
                variable.grid.merge(&to_grid);
            }
        }
    }

    /// What `thread` knows now, itself included, for its block and, at grid scope, for all.
    fn publish(&mut self, thread: u16, scope: SyncScope) -> (Arc<Snapshot>, Option<GridClock>) {
        let clock = Arc::new(self.clocks.release(thread));
        let grid = self.knowledge.of(thread).clone();
        let to_grid = (scope == SyncScope::Grid).then(|| {
            let mut to_grid = grid.clone();
            to_grid.insert(Known {
                block: self.block,
                below: self.clocks.interval_start(),
                clock: clock.clone(),
            });
            to_grid
        });
        (Arc::new(Snapshot { clock, grid }), to_grid)
    }

    fn learn(&mut self, thread: u16, snapshot: &Snapshot) {
        self.clocks.acquire(thread, &snapshot.clock);
        self.knowledge.acquire(thread, &snapshot.grid);
    }

    fn learn_from_grid(&mut self, thread: u16, clock: &GridClock) {
        // The own block's doings may come back by way of others.
        for known in clock.of_block(self.block) {
            self.clocks.acquire(thread, &known.clock);
        }
        self.knowledge.acquire(thread, clock);
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
