//! Order within and between blocks against sets of accesses.

use std::sync::atomic::Ordering;

use proptest::prelude::*;

use super::order::{Means, Order, Sync, Thread, sync, thread};
use crate::access::Space;
use crate::analysis::Op;
use crate::analysis::clock::Clocks;
use crate::analysis::sync_vars::{AtomicAccess, GridSync, SyncScope, Synchronization};

/// Blocks that run at the same time, each on a worker of its own.
pub(super) struct Grid {
    pub(super) blocks: Vec<Synchronization>,
    sync: GridSync,
}

impl Grid {
    pub(super) fn new(blocks: usize, threads: usize) -> Self {
        let start = |block| {
            let mut sync = Synchronization::new();
            // A worker has run other blocks before.
            for earlier in 0..block {
                sync.start_block(earlier, threads);
                sync.barrier();
            }
            sync.start_block(block, threads);
            sync
        };
        Self {
            blocks: (0..blocks as u64).map(start).collect(),
            sync: GridSync::default(),
        }
    }

    pub(super) fn sync(&mut self, sync: &Sync) {
        match sync {
            Sync::Barrier(block) => self.blocks[*block].barrier(),
            Sync::Join(block, threads) => self.blocks[*block].join(threads.iter().copied()),
            Sync::Fence((block, thread), order, scope) => self.blocks[*block].fence(*thread, *order, *scope),
            Sync::Atomic(thread, access) => self.atomic(*thread, *access, |_| ()),
        }
    }

    pub(super) fn atomic(
        &mut self,
        (block, thread): Thread,
        access: AtomicAccess,
        check: impl FnOnce(&Synchronization),
    ) {
        self.blocks[block].atomic(&self.sync, thread, access, check);
    }

    /// Whether an access of `earlier` is before what `thread` does now.
    pub(super) fn ordered(&self, earlier: Thread, epoch: u32, (block, thread): Thread) -> bool {
        if earlier.0 == block {
            self.blocks[block].clocks.ordered(earlier.1, epoch, thread)
        } else {
            self.blocks[block].ordered_in_grid(thread, earlier.0 as u64, earlier.1, epoch)
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Access(Thread),
    Sync(Sync),
}

fn steps(blocks: usize, threads: usize, means: Means) -> impl Strategy<Value = Vec<Step>> {
    let access = thread(blocks, threads).prop_map(Step::Access);
    let step = prop_oneof![2 => access, 3 => sync(blocks, threads, means).prop_map(Step::Sync)];
    proptest::collection::vec(step, 1..80)
}

fn check(blocks: usize, threads: usize, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut grid = Grid::new(blocks, threads);
    let mut order = Order::new(blocks, threads);
    let mut epochs = Vec::new();
    for step in steps {
        match step {
            Step::Access(thread) => {
                order.access(*thread);
                epochs.push(grid.blocks[thread.0].clocks.epoch(thread.1));
            }
            // An atomic is itself an access: after what it acquires, and part of what it releases.
            Step::Sync(Sync::Atomic(thread, access)) => {
                order.observe(*thread, *access);
                let mut found = Vec::new();
                let mut epoch = 0;
                let earlier = || order.accesses.iter().zip(&epochs).enumerate();
                grid.atomic(*thread, *access, |own| {
                    let is_before = |&(_, (&(block, other), &epoch)): &(usize, (&Thread, &u32))| {
                        if block == thread.0 {
                            own.clocks.ordered(other, epoch, thread.1)
                        } else {
                            own.ordered_in_grid(thread.1, block as u64, other, epoch)
                        }
                    };
                    found.extend(earlier().filter(is_before).map(|(number, _)| number));
                    epoch = own.clocks.epoch(thread.1);
                });
                let expected: Vec<usize> = (0..order.accesses.len())
                    .filter(|&number| order.is_before(number, *thread))
                    .collect();
                prop_assert_eq!(found, expected);
                order.access(*thread);
                epochs.push(epoch);
                order.change(*thread, *access);
            }
            Step::Sync(sync) => {
                grid.sync(sync);
                order.sync(sync);
            }
        }
        for (number, &earlier) in order.accesses.iter().enumerate() {
            for block in 0..blocks {
                for thread in 0..threads as u16 {
                    let now = (block, thread);
                    let expected = order.is_before(number, now);
                    let found = grid.ordered(earlier, epochs[number], now);
                    prop_assert_eq!(found, expected, "access {} of {:?} before {:?}", number, earlier, now);
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn one_block(steps in steps(1, 70, Means::All)) {
        check(1, 70, &steps)?;
    }

    #[test]
    fn barriers_only(steps in steps(2, 40, Means::Barriers)) {
        check(2, 40, &steps)?;
    }

    #[test]
    fn some_blocks(steps in steps(3, 3, Means::All)) {
        check(3, 3, &steps)?;
    }
}

const FLAG: usize = 0x1000;

fn access(op: Op, order: Ordering, scope: SyncScope) -> AtomicAccess {
    AtomicAccess {
        space: Space::Global,
        address: FLAG,
        op,
        order,
        scope,
    }
}

/// Whether what the first block's thread 1 does before a barrier, and thread 0 after it, is ordered before what thread
/// 5 of the second block does in the end.
fn message(store: Ordering, load: Ordering, fences: bool, scope: SyncScope) -> [bool; 2] {
    let mut grid = Grid::new(2, 8);
    let early = grid.blocks[0].clocks.epoch(1);
    grid.sync(&Sync::Barrier(0));
    let late = grid.blocks[0].clocks.epoch(0);
    if fences {
        grid.sync(&Sync::Fence((0, 0), Ordering::AcqRel, SyncScope::Grid));
    }
    grid.sync(&Sync::Atomic((0, 0), access(Op::AtomicStore, store, scope)));
    grid.sync(&Sync::Atomic((1, 2), access(Op::AtomicUpdate, load, scope)));
    if fences {
        grid.sync(&Sync::Fence((1, 2), Ordering::SeqCst, SyncScope::Grid));
    }
    assert!(!grid.ordered((0, 1), early, (1, 5)), "thread 5 has not heard of it yet");
    grid.sync(&Sync::Barrier(1));
    let after = grid.blocks[0].clocks.epoch(0);
    assert!(!grid.ordered((0, 0), after, (1, 5)) || after == late);
    [grid.ordered((0, 1), early, (1, 5)), grid.ordered((0, 0), late, (1, 5))]
}

#[test]
fn messages_between_blocks() {
    use Ordering::{Acquire, Relaxed, Release, SeqCst};
    assert_eq!(message(Release, Acquire, false, SyncScope::Grid), [true; 2]);
    assert_eq!(message(SeqCst, SeqCst, false, SyncScope::Grid), [true; 2]);
    assert_eq!(message(Relaxed, Relaxed, true, SyncScope::Grid), [true; 2]);
    assert_eq!(message(Relaxed, Acquire, false, SyncScope::Grid), [false; 2]);
    assert_eq!(message(Release, Relaxed, false, SyncScope::Grid), [false; 2]);
    assert_eq!(message(Release, Acquire, false, SyncScope::Block), [false; 2]);
}

/// PTX ISA, "Release and acquire patterns": a relaxed store after a release to the same location, a relaxed read before
/// an acquire of it.
#[test]
fn relaxed_accesses_complete_the_patterns_of_their_address() {
    use Ordering::{Acquire, Relaxed, Release};
    let mut grid = Grid::new(2, 8);
    let epoch = grid.blocks[0].clocks.epoch(0);
    let mut step = |thread, op, order| {
        grid.sync(&Sync::Atomic(thread, access(op, order, SyncScope::Grid)));
        grid.ordered((0, 0), epoch, thread)
    };
    step((0, 0), Op::AtomicStore, Release);
    step((0, 0), Op::AtomicStore, Relaxed);
    assert!(!step((1, 1), Op::AtomicLoad, Relaxed));
    step((0, 3), Op::AtomicStore, Relaxed);
    assert!(step((1, 1), Op::AtomicLoad, Acquire));
    assert!(
        !step((1, 2), Op::AtomicLoad, Acquire),
        "thread 3 of the first block has overwritten it"
    );
}

/// The pattern of the last block that finishes: every block raises a counter after its work, between fences.
#[test]
fn the_last_of_many_blocks_knows_all() {
    let blocks = 3000;
    let sync = GridSync::default();
    let count = access(Op::AtomicUpdate, Ordering::Relaxed, SyncScope::Grid);
    let mut epochs = Vec::new();
    let mut last = Synchronization::new();
    for block in 0..blocks {
        last.start_block(block, 64);
        epochs.push(last.clocks.epoch(7));
        last.barrier();
        last.fence(0, Ordering::SeqCst, SyncScope::Grid);
        last.atomic(&sync, 0, count, |_| ());
        last.fence(0, Ordering::SeqCst, SyncScope::Grid);
    }
    let knows = |thread| {
        let ordered = |(block, &epoch): (usize, &u32)| last.ordered_in_grid(thread, block as u64, 7, epoch);
        epochs[..epochs.len() - 1]
            .iter()
            .enumerate()
            .filter(|&earlier| ordered(earlier))
            .count()
    };
    assert_eq!(knows(0), epochs.len() - 1);
    assert_eq!(knows(1), 0);
}

#[test]
fn used_up_epochs_order_everything() {
    let mut clocks = Clocks::new();
    assert!(!clocks.needs_reset());
    clocks.skip_to(u32::MAX - 2);
    assert!(clocks.needs_reset());
    clocks.start_block(64);
    let epoch = clocks.epoch(1);
    assert!(!clocks.ordered(1, epoch, 2));
    for _ in 0..3 {
        clocks.barrier();
        assert!(clocks.ordered(1, epoch, 2));
    }
    let epoch = clocks.epoch(1);
    assert!(clocks.ordered(1, epoch, 2), "no epoch is left to tell these apart");
    clocks.join([1, 2].into_iter());
    clocks.start_block(32);
    assert!(clocks.ordered(1, clocks.epoch(1), 2));
}
