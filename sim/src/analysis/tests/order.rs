//! What happens before what, by sets: every thread, every publication, is the set of accesses that are before it.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use proptest::prelude::*;

use crate::access::Space;
use crate::analysis::Op;
use crate::analysis::sync_vars::{AtomicAccess, SyncScope};

/// A set of accesses by number.
pub(super) type Set = std::collections::BTreeSet<usize>;

/// A thread of a block.
pub(super) type Thread = (usize, u16);

/// Something that orders threads.
#[derive(Clone, Debug)]
pub(super) enum Sync {
    Barrier(usize),
    Join(usize, Vec<u16>),
    Atomic(Thread, AtomicAccess),
    Fence(Thread, Ordering, SyncScope),
}

/// What is published at an address: for one block, and for all.
#[derive(Clone, Default)]
struct Variable {
    local: Option<(usize, Set)>,
    grid: Set,
}

/// What a thread has released, with fences or at an address: for its block, and for all.
#[derive(Clone, Default)]
struct Released {
    local: Option<Set>,
    grid: Option<Set>,
}

#[derive(Clone, Default)]
struct Patterns {
    fence: Released,
    released: HashMap<Place, Released>,
    pending: HashMap<Place, (Set, Set)>,
}

/// An address in global memory, or in a block's shared memory.
type Place = (Option<usize>, usize);

/// The order of all accesses of some blocks.
pub(super) struct Order {
    /// Of each access, its thread.
    pub(super) accesses: Vec<Thread>,
    before: Vec<Vec<Set>>,
    variables: HashMap<Place, Variable>,
    patterns: HashMap<Thread, Patterns>,
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

impl Order {
    pub(super) fn new(blocks: usize, threads: usize) -> Self {
        Self {
            accesses: Vec::new(),
            before: vec![vec![Set::new(); threads]; blocks],
            variables: HashMap::new(),
            patterns: HashMap::new(),
        }
    }

    fn of(&mut self, (block, thread): Thread) -> &mut Set {
        &mut self.before[block][usize::from(thread)]
    }

    /// A thread accesses something: the number of the access.
    pub(super) fn access(&mut self, thread: Thread) -> usize {
        let number = self.accesses.len();
        self.accesses.push(thread);
        self.of(thread).insert(number);
        number
    }

    /// Whether an access is before what a thread does now.
    pub(super) fn is_before(&self, access: usize, (block, thread): Thread) -> bool {
        self.before[block][usize::from(thread)].contains(&access)
    }

    fn join(&mut self, block: usize, threads: &[u16]) {
        let all: Set = threads
            .iter()
            .flat_map(|&thread| self.of((block, thread)).clone())
            .collect();
        for &thread in threads {
            self.of((block, thread)).clone_from(&all);
        }
    }

    pub(super) fn sync(&mut self, sync: &Sync) {
        match sync {
            Sync::Barrier(block) => {
                let threads: Vec<u16> = (0..self.before[*block].len() as u16).collect();
                self.join(*block, &threads);
            }
            Sync::Join(block, threads) => self.join(*block, threads),
            Sync::Fence(thread, order, scope) => {
                let mut patterns = self.patterns.remove(thread).unwrap_or_default();
                if acquires(*order) {
                    for (local, grid) in patterns.pending.values_mut() {
                        self.learn(*thread, local, grid, *scope);
                    }
                }
                if releases(*order) {
                    let now = self.released(*thread, *scope);
                    patterns.fence = now.after(patterns.fence);
                }
                self.patterns.insert(*thread, patterns);
            }
            Sync::Atomic(thread, access) => {
                self.observe(*thread, *access);
                self.change(*thread, *access);
            }
        }
    }

    fn learn(&mut self, thread: Thread, local: &mut Set, grid: &mut Set, scope: SyncScope) {
        self.of(thread).append(local);
        if scope == SyncScope::Grid {
            self.of(thread).append(grid);
        }
    }

    fn released(&mut self, thread: Thread, scope: SyncScope) -> Released {
        let own = self.of(thread).clone();
        Released {
            local: Some(own.clone()),
            grid: (scope == SyncScope::Grid).then_some(own),
        }
    }

    fn place((block, _): Thread, access: AtomicAccess) -> Place {
        ((access.space == Space::Shared).then_some(block), access.address)
    }

    /// The first half of an atomic.
    pub(super) fn observe(&mut self, thread: Thread, access: AtomicAccess) {
        if !access.op.reads() {
            return;
        }
        let place = Self::place(thread, access);
        let variable = self.variables.get(&place).cloned().unwrap_or_default();
        let mut patterns = self.patterns.remove(&thread).unwrap_or_default();
        let (local, grid) = patterns.pending.entry(place).or_default();
        local.extend(
            variable
                .local
                .filter(|(block, _)| *block == thread.0)
                .unwrap_or_default()
                .1,
        );
        if access.scope == SyncScope::Grid {
            grid.extend(variable.grid);
        }
        if acquires(access.order) {
            self.learn(thread, local, grid, access.scope);
        }
        self.patterns.insert(thread, patterns);
    }

    /// The second half of an atomic.
    pub(super) fn change(&mut self, thread: Thread, access: AtomicAccess) {
        if !access.op.writes() {
            return;
        }
        let place = Self::place(thread, access);
        let now = releases(access.order).then(|| self.released(thread, access.scope));
        let patterns = self.patterns.entry(thread).or_default();
        let at_place = patterns.released.entry(place).or_default();
        let released = match now {
            Some(now) => {
                *at_place = now.clone().after(at_place.clone());
                now
            }
            None => {
                let both = |a: &Option<Set>, b: &Option<Set>| match (a, b) {
                    (None, None) => None,
                    _ => Some(a.iter().chain(b).flatten().copied().collect()),
                };
                Released {
                    local: both(&patterns.fence.local, &at_place.local),
                    grid: both(&patterns.fence.grid, &at_place.grid),
                }
            }
        };
        let variable = self.variables.entry(place).or_default();
        if access.op == Op::AtomicStore {
            *variable = Variable::default();
        }
        if let Some(mut local) = released.local {
            if let Some((block, before)) = &mut variable.local
                && *block == thread.0
            {
                before.append(&mut local);
            } else {
                variable.local = Some((thread.0, local));
            }
        }
        if access.scope == SyncScope::Grid {
            variable.grid.append(&mut released.grid.unwrap_or_default());
        }
    }
}

impl Released {
    /// This, after `earlier` by the same thread.
    fn after(self, earlier: Self) -> Self {
        Self {
            grid: self.grid.or(earlier.grid),
            ..self
        }
    }
}

/// What a random program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// Barriers of blocks and of whole warps.
    Barriers,
    /// Also barriers of some threads of a block, atomics of all orders and scopes, and fences.
    All,
}

/// A random synchronization among `blocks` blocks of `threads` threads.
pub(super) fn sync(blocks: usize, threads: usize, means: Means) -> BoxedStrategy<Sync> {
    let block = 0..blocks;
    let thread = move || (0..blocks, 0..threads as u16);
    let barrier = block.clone().prop_map(Sync::Barrier);
    let warp = (block.clone(), 0..threads.div_ceil(32) as u16)
        .prop_map(move |(block, warp)| Sync::Join(block, (warp * 32..(threads as u16).min((warp + 1) * 32)).collect()));
    if means == Means::Barriers {
        return prop_oneof![1 => barrier, 2 => warp].boxed();
    }
    let all: Vec<u16> = (0..threads as u16).collect();
    let some = (block, proptest::sample::subsequence(all, 1..threads.min(7)))
        .prop_map(|(block, lanes)| Sync::Join(block, lanes));
    let scope = || prop_oneof![Just(SyncScope::Grid), Just(SyncScope::Block)];
    let order = || {
        use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        prop_oneof![Just(Relaxed), Just(Acquire), Just(Release), Just(AcqRel), Just(SeqCst)]
    };
    let fence = (thread(), order(), scope()).prop_map(|(thread, order, scope)| Sync::Fence(thread, order, scope));
    let op = prop_oneof![1 => Just(Op::AtomicLoad), 1 => Just(Op::AtomicStore), 2 => Just(Op::AtomicUpdate)];
    let space = prop_oneof![1 => Just(Space::Shared), 2 => Just(Space::Global)];
    let atomic =
        (thread(), space, 0_usize..3, op, order(), scope()).prop_map(|(thread, space, address, op, order, scope)| {
            Sync::Atomic(
                thread,
                AtomicAccess {
                    space,
                    address,
                    op,
                    order,
                    scope,
                },
            )
        });
    prop_oneof![1 => barrier, 1 => warp, 1 => some, 2 => fence, 8 => atomic].boxed()
}

/// A random thread.
pub(super) fn thread(blocks: usize, threads: usize) -> impl Strategy<Value = Thread> {
    (0..blocks, 0..threads as u16)
}
