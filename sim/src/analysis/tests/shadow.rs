//! The shadow of shared memory against a list of all accesses.

use proptest::prelude::*;

use super::order::{Means, Order, Sync, sync};
use super::sync_vars::Grid;
use crate::analysis::Op;
use crate::analysis::clock::Clocks;
use crate::analysis::shadow::{Conflict, SharedShadow, Verdict};

pub(super) const THREADS: usize = 70;

/// One step of a random program on a few bytes of memory.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Block, thread, what, offset, bytes.
    Access(usize, u16, Op, usize, usize),
    Sync(Sync),
    /// The worker's next block.
    NextBlock,
}

/// Random accesses to `memory` bytes. `plain` makes them words.
pub(super) fn steps(blocks: usize, memory: usize, plain: bool, means: Means) -> impl Strategy<Value = Vec<Step>> {
    let op = if plain {
        prop_oneof![Just(Op::Read), Just(Op::Write)].boxed()
    } else {
        prop_oneof![
            4 => Just(Op::Read),
            3 => Just(Op::Write),
            1 => Just(Op::AtomicLoad),
            1 => Just(Op::AtomicStore),
            2 => Just(Op::AtomicUpdate),
        ]
        .boxed()
    };
    let bytes = if plain {
        Just(4_usize).boxed()
    } else {
        prop_oneof![1 => Just(1_usize), 1 => Just(2), 4 => Just(4), 1 => Just(8)].boxed()
    };
    // Few threads, in two warps and at their boundary, interact often.
    let thread = prop_oneof![
        Just(0_u16),
        Just(1),
        Just(2),
        Just(31),
        Just(32),
        Just(33),
        Just(64),
        0..THREADS as u16
    ];
    let access = (0..blocks, thread, op, bytes, 0..memory)
        .prop_map(move |(block, thread, op, bytes, at)| Step::Access(block, thread, op, at / bytes * bytes, bytes));
    let sync = sync(blocks, THREADS, means).prop_map(Step::Sync);
    proptest::collection::vec(prop_oneof![20 => access, 6 => sync, 1 => Just(Step::NextBlock)], 1..120)
}

/// Number of an access, its thread, what it does, and to which bytes.
type Entry = (usize, (usize, u16), Op, std::ops::Range<usize>);

/// All accesses of a block, with what they did.
#[derive(Default)]
pub(super) struct Log {
    accesses: Vec<Entry>,
    /// Words in which a race was found.
    raced: std::collections::BTreeSet<usize>,
}

impl Log {
    /// Adds an access: the numbers of those that it races with, and whether there is one in a word without races so
    /// far.
    pub(super) fn add(
        &mut self,
        order: &Order,
        number: usize,
        thread: (usize, u16),
        op: Op,
        bytes: std::ops::Range<usize>,
    ) -> (Vec<usize>, bool) {
        let mut racing = Vec::new();
        let mut words = std::collections::BTreeSet::new();
        for (earlier, _, earlier_op, earlier_bytes) in &self.accesses {
            let common = bytes.start.max(earlier_bytes.start)..bytes.end.min(earlier_bytes.end);
            let conflicts = match (op, *earlier_op) {
                (Op::Read | Op::AtomicLoad, Op::Read | Op::AtomicLoad) => false,
                (Op::Read | Op::Write, _) | (_, Op::Read | Op::Write) => true,
                _ => false,
            };
            if !common.is_empty() && conflicts && !order.is_before(*earlier, thread) {
                racing.push(*earlier);
                words.extend(common.start / 4..common.end.div_ceil(4));
            }
        }
        let new = words.iter().any(|word| !self.raced.contains(word));
        self.raced.extend(words);
        self.accesses.push((number, thread, op, bytes));
        (racing, new)
    }

    pub(super) fn get(&self, number: usize) -> Option<((usize, u16), Op)> {
        let found = self.accesses.iter().find(|access| access.0 == number)?;
        Some((found.1, found.2))
    }
}

const MEMORY: usize = 24;

fn check(steps: &[Step], means: Means) -> Result<(), TestCaseError> {
    let mut grid = Grid::new(1, THREADS);
    let mut order = Order::new(1, THREADS);
    let mut log = Log::default();
    let mut written = [false; MEMORY + 8];
    let mut shadow = SharedShadow::new();
    shadow.start_block(MEMORY, grid.blocks[0].clocks.block_start());
    for step in steps {
        match step {
            Step::Access(_, thread, op, offset, bytes) => {
                let number = order.access((0, *thread));
                let range = *offset..offset + bytes;
                let found = shadow.access(&grid.blocks[0].clocks, *offset, *bytes, *thread, *op, number as u16);
                let (racing, new) = log.add(&order, number, (0, *thread), *op, range.clone());
                let expected = op.reads() && !written[range.clone()].iter().all(|&byte| byte);
                prop_assert_eq!(found.uninitialized, expected);
                if op.writes() {
                    written[range].fill(true);
                }
                if let Some(conflict) = found.conflict {
                    let earlier = usize::from(conflict.location);
                    prop_assert!(racing.contains(&earlier), "no race with {}", earlier);
                    prop_assert_eq!(log.get(earlier), Some(((0, conflict.thread), conflict.op)));
                } else if means == Means::Barriers {
                    prop_assert!(!new, "access {} races with {:?}", number, racing);
                }
            }
            Step::Sync(sync) => {
                grid.sync(sync);
                order.sync(sync);
            }
            Step::NextBlock => {
                grid.blocks[0].start_block(1, THREADS);
                shadow.start_block(MEMORY, grid.blocks[0].clocks.block_start());
                order = Order::new(1, THREADS);
                log = Log::default();
                written.fill(false);
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn words_and_barriers(steps in steps(1, 12, true, Means::Barriers)) {
        check(&steps, Means::Barriers)?;
    }

    #[test]
    fn all_widths_and_atomics(steps in steps(1, MEMORY, false, Means::Barriers)) {
        check(&steps, Means::Barriers)?;
    }

    #[test]
    fn no_false_alarm_with_finer_order(steps in steps(1, 12, false, Means::All)) {
        check(&steps, Means::All)?;
    }
}

fn block(threads: usize) -> (Clocks, SharedShadow) {
    let mut clocks = Clocks::new();
    clocks.start_block(threads);
    let mut shadow = SharedShadow::new();
    shadow.start_block(64, clocks.block_start());
    (clocks, shadow)
}

const CLEAN: Verdict = Verdict {
    uninitialized: false,
    conflict: None,
};

fn race(thread: u16, op: Op, location: u16) -> Verdict {
    Verdict {
        uninitialized: false,
        conflict: Some(Conflict { thread, location, op }),
    }
}

#[test]
fn lanes_of_one_instruction_race_on_one_address() {
    let (clocks, mut shadow) = block(32);
    assert_eq!(shadow.access(&clocks, 0, 4, 3, Op::Write, 7), CLEAN);
    assert_eq!(shadow.access(&clocks, 0, 4, 4, Op::Write, 7), race(3, Op::Write, 7));
}

#[test]
fn a_write_by_one_of_many_readers_races_with_another() {
    let (mut clocks, mut shadow) = block(64);
    shadow.access(&clocks, 8, 4, 0, Op::Write, 0);
    clocks.barrier();
    for thread in 0..64 {
        assert_eq!(shadow.access(&clocks, 8, 4, thread, Op::Read, 1), CLEAN);
    }
    for writer in [0, 1, 32, 63] {
        let mut shadow = shadow_of(&clocks, 64);
        let found = shadow.access(&clocks, 8, 4, writer, Op::Write, 2).conflict;
        assert!(found.is_some_and(|conflict| conflict.thread != writer && conflict.op == Op::Read));
    }
}

/// A shadow of which all threads have read a word.
fn shadow_of(clocks: &Clocks, threads: u16) -> SharedShadow {
    let mut shadow = SharedShadow::new();
    shadow.start_block(64, clocks.block_start());
    for thread in 0..threads {
        shadow.access(clocks, 8, 4, thread, Op::Read, 1);
    }
    shadow
}

#[test]
fn a_thread_that_reads_again_is_kept_once() {
    for atomics in [false, true] {
        let (mut clocks, mut shadow) = block(32);
        shadow.access(&clocks, 8, 4, 0, Op::Write, 0);
        clocks.barrier();
        if atomics {
            shadow.access(&clocks, 0, 4, 0, Op::AtomicStore, 0);
        }
        shadow.access(&clocks, 8, 4, 0, Op::Read, 1);
        shadow.access(&clocks, 8, 4, 1, Op::Read, 1);
        clocks.join([0, 1].into_iter());
        shadow.access(&clocks, 8, 4, 1, Op::Read, 1);
        shadow.access(&clocks, 8, 4, 2, Op::Read, 1);
        assert_eq!(shadow.access(&clocks, 8, 4, 1, Op::Write, 2), race(2, Op::Read, 1));
    }
}

#[test]
fn one_mistake_is_reported_once_a_cell() {
    let (clocks, mut shadow) = block(64);
    shadow.access(&clocks, 0, 4, 0, Op::Write, 0);
    assert_eq!(shadow.access(&clocks, 0, 4, 1, Op::Read, 1), race(0, Op::Write, 0));
    for _ in 0..3 {
        assert_eq!(shadow.access(&clocks, 0, 4, 1, Op::Read, 1), CLEAN);
        assert_eq!(shadow.access(&clocks, 0, 4, 2, Op::Read, 1), CLEAN);
    }
    assert_eq!(shadow.access(&clocks, 0, 4, 1, Op::Write, 2), race(2, Op::Read, 1));
}

#[test]
fn a_warp_rendezvous_orders_its_lanes_only() {
    let (mut clocks, mut shadow) = block(64);
    shadow.access(&clocks, 0, 4, 0, Op::Write, 0);
    shadow.access(&clocks, 4, 4, 0, Op::Write, 0);
    clocks.join(0..32);
    assert_eq!(shadow.access(&clocks, 0, 4, 9, Op::Read, 1), CLEAN);
    assert_eq!(shadow.access(&clocks, 4, 4, 32, Op::Read, 1), race(0, Op::Write, 0));
    clocks.barrier();
    assert_eq!(shadow.access(&clocks, 0, 4, 32, Op::Write, 1), CLEAN);
}

#[test]
fn neighbours_in_a_word_do_not_race() {
    let (clocks, mut shadow) = block(32);
    assert_eq!(shadow.access(&clocks, 0, 8, 0, Op::Write, 0), CLEAN);
    for thread in 0..4 {
        assert_eq!(
            shadow.access(&clocks, 32 + usize::from(thread), 1, thread, Op::Write, 0),
            CLEAN
        );
    }
    assert_eq!(shadow.access(&clocks, 36, 2, 1, Op::Write, 0), CLEAN);
    assert!(shadow.access(&clocks, 36, 4, 1, Op::Read, 0).uninitialized);
    assert_eq!(
        shadow.access(&clocks, 7, 1, 2, Op::AtomicUpdate, 1),
        race(0, Op::Write, 0)
    );
    // A 4-byte access across two words, and one beyond the end.
    assert_eq!(
        shadow.access(&clocks, 34, 4, 2, Op::Write, 3),
        race(3, Op::Write, 0).or_first(2)
    );
    assert_eq!(shadow.access(&clocks, 4096, 4, 2, Op::Write, 3), CLEAN);
    assert_eq!(shadow.access(&clocks, 4096, 4, 3, Op::Write, 3), race(2, Op::Write, 3));
}

impl Verdict {
    /// The same, unless the first cell in conflict was accessed by `own`.
    fn or_first(self, own: u16) -> Self {
        assert_ne!(self.conflict.map(|conflict| conflict.thread), Some(own));
        self
    }
}

#[test]
fn atomics_race_with_plain_accesses_only() {
    let (mut clocks, mut shadow) = block(64);
    shadow.access(&clocks, 0, 4, 0, Op::Write, 0);
    clocks.barrier();
    assert_eq!(shadow.access(&clocks, 0, 4, 5, Op::Read, 1), CLEAN);
    assert_eq!(shadow.access(&clocks, 0, 4, 1, Op::AtomicLoad, 2), CLEAN);
    assert_eq!(
        shadow.access(&clocks, 0, 4, 2, Op::AtomicUpdate, 3),
        race(5, Op::Read, 1)
    );
    assert_eq!(shadow.access(&clocks, 0, 4, 3, Op::AtomicUpdate, 3), CLEAN);
    assert_eq!(shadow.access(&clocks, 0, 4, 3, Op::AtomicStore, 4), CLEAN);
    assert_eq!(
        shadow.access(&clocks, 0, 4, 2, Op::Read, 5),
        race(3, Op::AtomicStore, 4)
    );
    // Memory that only atomics have written is written.
    shadow.access(&clocks, 16, 4, 2, Op::AtomicStore, 4);
    clocks.barrier();
    assert_eq!(shadow.access(&clocks, 16, 4, 2, Op::Read, 5), CLEAN);
    assert!(shadow.access(&clocks, 20, 4, 2, Op::AtomicUpdate, 5).uninitialized);
}
