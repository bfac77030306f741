//! What happens before what, by sets: every thread, every publication, is the set of accesses that are before it.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use proptest::prelude::*;

use crate::analysis::Op;
use crate::analysis::sites::SiteSpace;
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

#[derive(Clone, Default)]
struct Fences {
    released: Option<Set>,
    released_to_grid: Option<Set>,
    pending: Set,
    pending_from_grid: Set,
}

/// The order of all accesses of some blocks.
pub(super) struct Order {
    /// Of each access, its thread.
    pub(super) accesses: Vec<Thread>,
    before: Vec<Vec<Set>>,
    variables: HashMap<(Option<usize>, usize), Variable>,
    fences: HashMap<Thread, Fences>,
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
            fences: HashMap::new(),
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

    fn meet(&mut self, block: usize, threads: &[u16]) {
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
                self.meet(*block, &threads);
            }
            Sync::Join(block, threads) => self.meet(*block, threads),
            Sync::Fence(thread, order, scope) => {
                let mut fences = self.fences.remove(thread).unwrap_or_default();
                if acquires(*order) {
                    self.of(*thread).append(&mut fences.pending);
                    if *scope == SyncScope::Grid {
                        self.of(*thread).append(&mut fences.pending_from_grid);
                    }
                }
                if releases(*order) {
                    fences.released = Some(self.of(*thread).clone());
                    if *scope == SyncScope::Grid {
                        fences.released_to_grid = Some(self.of(*thread).clone());
                    }
                }
                self.fences.insert(*thread, fences);
            }
            Sync::Atomic(thread, access) => {
                self.observe(*thread, *access);
                self.change(*thread, *access);
            }
        }
    }

    fn key((block, _): Thread, access: AtomicAccess) -> (Option<usize>, usize) {
        ((access.space == SiteSpace::Shared).then_some(block), access.address)
    }

    /// The first half of an atomic.
    pub(super) fn observe(&mut self, thread: Thread, access: AtomicAccess) {
        let Some(variable) = self.variables.get(&Self::key(thread, access)).cloned() else {
            return;
        };
        if !access.op.reads() {
            return;
        }
        let mut local = variable
            .local
            .filter(|(block, _)| *block == thread.0)
            .unwrap_or_default()
            .1;
        let mut grid = if access.scope == SyncScope::Grid {
            variable.grid
        } else {
            Set::new()
        };
        if acquires(access.order) {
            self.of(thread).append(&mut local);
            self.of(thread).append(&mut grid);
        } else {
            let fences = self.fences.entry(thread).or_default();
            fences.pending.append(&mut local);
            fences.pending_from_grid.append(&mut grid);
        }
    }

    /// The second half of an atomic.
    pub(super) fn change(&mut self, thread: Thread, access: AtomicAccess) {
        if !access.op.writes() {
            return;
        }
        let fences = self.fences.get(&thread).cloned().unwrap_or_default();
        let own = self.of(thread).clone();
        let (local, to_grid) = if releases(access.order) {
            (Some(own.clone()), Some(own))
        } else {
            (fences.released, fences.released_to_grid)
        };
        let to_grid = to_grid.filter(|_| access.scope == SyncScope::Grid);
        let variable = self.variables.entry(Self::key(thread, access)).or_default();
        if access.op == Op::AtomicStore {
            *variable = Variable::default();
        }
        if let Some(mut local) = local {
            if let Some((block, before)) = &mut variable.local
                && *block == thread.0
            {
                before.append(&mut local);
            } else {
                variable.local = Some((thread.0, local));
            }
        }
        variable.grid.append(&mut to_grid.unwrap_or_default());
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

/// A random synchronisation among `blocks` blocks of `threads` threads.
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
    let space = prop_oneof![1 => Just(SiteSpace::Shared), 2 => Just(SiteSpace::Global)];
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
