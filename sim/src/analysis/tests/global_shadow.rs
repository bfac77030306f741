//! The shadow of global memory against a list of all accesses.

use proptest::prelude::*;

use super::order::{Means, Order};
use super::shadow::{Log, Step, THREADS, steps};
use super::sync_vars::Grid;
use crate::analysis::Op;
use crate::analysis::global_shadow::{GlobalAccess, GlobalConflict, GlobalShadow};

const BLOCKS: usize = 3;
const MEMORY: usize = 16;
/// Where the accesses are, across a boundary of chunks.
const BASE: usize = 4096 - 8;

fn check(steps: &[Step], means: Means) -> Result<(), TestCaseError> {
    let mut grid = Grid::new(BLOCKS, THREADS);
    let mut order = Order::new(BLOCKS, THREADS);
    let mut log = Log::default();
    let shadow = GlobalShadow::new(BASE + MEMORY);
    for step in steps {
        match step {
            Step::Access(block, thread, op, offset, bytes) => {
                let accessor = (*block, *thread);
                let number = order.access(accessor);
                let own = &grid.blocks[*block];
                let access = GlobalAccess {
                    block: *block as u64,
                    thread: *thread,
                    epoch: own.clocks.epoch(*thread),
                    op: *op,
                    location: number as u32,
                    knows_blocks: own.knows_blocks(*thread),
                };
                let found = shadow.access(
                    access,
                    BASE + offset,
                    *bytes,
                    |earlier, epoch| own.clocks.ordered(earlier, epoch, *thread),
                    |block, earlier, epoch| own.ordered_in_grid(*thread, block, earlier, epoch),
                );
                let (racing, new) = log.add(&order, number, accessor, *op, *offset..offset + bytes);
                if let Some(conflict) = found {
                    let earlier = conflict.location as usize;
                    prop_assert!(racing.contains(&earlier), "no race with {}", earlier);
                    prop_assert_eq!(
                        log.get(earlier),
                        Some(((conflict.block as usize, conflict.thread), conflict.op))
                    );
                } else if means == Means::Barriers {
                    prop_assert!(!new, "access {} races with {:?}", number, racing);
                }
            }
            Step::Sync(sync) => {
                grid.sync(sync);
                order.sync(sync);
            }
            Step::NextBlock => {}
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn words_and_barriers(steps in steps(BLOCKS, 12, true, Means::Barriers)) {
        check(&steps, Means::Barriers)?;
    }

    #[test]
    fn all_widths_and_atomics(steps in steps(BLOCKS, MEMORY, false, Means::Barriers)) {
        check(&steps, Means::Barriers)?;
    }

    #[test]
    fn no_false_alarm_with_finer_order(steps in steps(BLOCKS, 8, false, Means::All)) {
        check(&steps, Means::All)?;
    }
}

/// An access by a block that knows what others did, if they are in `known`.
fn informed_access(shadow: &GlobalShadow, block: u64, op: Op, known: &[u64]) -> Option<u64> {
    let access = GlobalAccess {
        block,
        thread: 0,
        epoch: 1,
        op,
        location: 0,
        knows_blocks: !known.is_empty(),
    };
    let found = shadow.access(access, 0, 4, |_, _| false, |block, _, _| known.contains(&block));
    found.map(|conflict| conflict.block)
}

fn access(shadow: &GlobalShadow, block: u64, op: Op, offset: usize, bytes: usize) -> Option<GlobalConflict> {
    let access = GlobalAccess {
        block,
        thread: 0,
        epoch: 1,
        op,
        location: block as u32,
        knows_blocks: false,
    };
    shadow.access(access, offset, bytes, |_, _| false, |_, _, _| false)
}

#[test]
fn two_readers_do_not_hide_a_write() {
    let shadow = GlobalShadow::new(64);
    assert_eq!(informed_access(&shadow, 0, Op::Write, &[]), None);
    assert_eq!(informed_access(&shadow, 1, Op::Read, &[0]), None);
    assert_eq!(informed_access(&shadow, 2, Op::Read, &[0]), None);
    assert_eq!(informed_access(&shadow, 3, Op::Read, &[]), Some(0));
}

#[test]
fn a_read_after_other_blocks_is_remembered() {
    let shadow = GlobalShadow::new(64);
    assert_eq!(informed_access(&shadow, 0, Op::Read, &[]), None);
    assert_eq!(informed_access(&shadow, 1, Op::Read, &[]), None);
    assert_eq!(informed_access(&shadow, 2, Op::Read, &[0, 1]), None);
    assert_eq!(informed_access(&shadow, 3, Op::Write, &[0, 1]), Some(2));
}

#[test]
fn the_last_write_to_a_byte_is_known() {
    let shadow = GlobalShadow::new(BASE + MEMORY);
    assert_eq!(shadow.last_write(BASE), None);
    for (block, op, offset, bytes) in [
        (1, Op::Write, BASE + 4, 8),
        (2, Op::Write, BASE + 9, 1),
        (3, Op::Read, BASE, 16),
    ] {
        access(&shadow, block, op, offset, bytes);
    }
    let blocks: Vec<_> = (BASE..BASE + MEMORY)
        .map(|offset| shadow.last_write(offset).map(|write| (write.block, write.op)))
        .collect();
    let (none, first, second) = (None, Some((1, Op::Write)), Some((2, Op::Write)));
    assert_eq!(blocks[..4], [none; 4]);
    assert_eq!(blocks[4..12], [first, first, first, first, first, second, first, first]);
    assert_eq!(blocks[12..], [none; 4]);
    assert_eq!(shadow.last_write(BASE + MEMORY + 4096), None);
}

#[test]
fn blocks_beyond_32_bits_are_told_apart() {
    let shadow = GlobalShadow::new(64);
    let far = (1 << 40) + 5;
    assert_eq!(access(&shadow, 5, Op::Write, 0, 4), None);
    let found = access(&shadow, far, Op::Write, 0, 4);
    assert_eq!(found.map(|conflict| conflict.block), Some(5));
    let found = access(&shadow, 5, Op::Read, 0, 4);
    assert_eq!(found.map(|conflict| conflict.block), Some(far));
    // Outside the buffer there is nothing.
    assert_eq!(access(&shadow, 1, Op::Write, 1 << 30, 4), None);
    assert_eq!(access(&shadow, 2, Op::Write, 1 << 30, 4), None);
}

/// Readers and a writer on threads of their own: every race is seen by one of the two sides.
#[test]
fn every_race_is_seen_by_one_side() {
    const WORDS: usize = 1500;
    for round in 0..20 {
        let shadow = GlobalShadow::new(4 * WORDS);
        let run = |blocks: std::ops::Range<u64>, op| {
            let mut seen = vec![0_u32; WORDS];
            for block in blocks {
                for (word, seen) in seen.iter_mut().enumerate() {
                    *seen += u32::from(access(&shadow, block, op, 4 * word, 4).is_some());
                }
            }
            seen
        };
        let (read, written) = std::thread::scope(|scope| {
            let readers = scope.spawn(|| run(0..3, Op::Read));
            let writer = scope.spawn(|| {
                if round % 2 == 0 {
                    // Narrower cells come into being under the readers.
                    access(&shadow, 7, Op::AtomicLoad, 4, 2);
                }
                run(7..8, Op::Write)
            });
            (readers.join().expect("no panic"), writer.join().expect("no panic"))
        });
        for word in 0..WORDS {
            assert!(read[word] + written[word] > 0, "word {word} in round {round}");
        }
    }
}
