//! The copies under way against a list of them.

use std::panic::Location;

use proptest::prelude::*;

use crate::analysis::in_flight::{AsyncCopy, InFlight};

const THREADS: u16 = 3;
/// Words of shared memory.
const WORDS: usize = 40;

#[derive(Clone, Debug)]
enum Step {
    /// Thread, offset in words, words.
    Start(u16, usize, usize),
    Commit(u16),
    /// Thread, groups that it leaves.
    Wait(u16, u32),
    /// Offset and bytes.
    Find(usize, usize),
    NextBlock,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let thread = 0..THREADS;
    let start = (thread.clone(), 0..WORDS, prop_oneof![Just(1_usize), Just(2), Just(4)])
        .prop_map(|(thread, at, words)| Step::Start(thread, at / words * words, words));
    let find = (
        0..4 * WORDS,
        prop_oneof![Just(1_usize), Just(2), Just(4), Just(8), Just(16)],
    )
        .prop_map(|(at, bytes)| Step::Find(at / bytes * bytes, bytes));
    let step = prop_oneof![
        6 => start,
        3 => thread.clone().prop_map(Step::Commit),
        3 => (thread, 0..4_u32).prop_map(|(thread, pending)| Step::Wait(thread, pending)),
        6 => find,
        1 => Just(Step::NextBlock),
    ];
    proptest::collection::vec(step, 1..100)
}

/// A copy under way: its thread, its bytes, and how many groups its thread has committed since its start.
#[derive(Clone, Debug)]
struct Known {
    thread: u16,
    bytes: std::ops::Range<usize>,
    commits: u32,
}

fn copy_of(offset: usize, bytes: usize) -> AsyncCopy {
    AsyncCopy {
        offset: Some(offset),
        to: std::ptr::null_mut(),
        bytes,
        from: std::ptr::null(),
        valid: bytes,
        data: [0; 16],
        location: Location::caller(),
    }
}

proptest! {
    #[test]
    fn finds_and_finishes_what_a_list_does(steps in steps()) {
        let mut in_flight = InFlight::new(THREADS.into());
        let mut list: Vec<Known> = Vec::new();
        let overlaps = |known: &Known, offset: usize, bytes: usize| {
            known.bytes.start < offset + bytes && offset < known.bytes.end
        };
        for step in steps {
            match step {
                Step::Start(thread, at, words) => {
                    let (offset, bytes) = (4 * at, 4 * words);
                    if list.iter().any(|known| overlaps(known, offset, bytes)) {
                        continue;
                    }
                    in_flight.start(thread, copy_of(offset, bytes));
                    list.push(Known { thread, bytes: offset..offset + bytes, commits: 0 });
                }
                Step::Commit(thread) => {
                    in_flight.commit(thread);
                    list.iter_mut().filter(|known| known.thread == thread).for_each(|known| known.commits += 1);
                }
                Step::Wait(thread, pending) => {
                    let is_over = |known: &Known| known.thread == thread && known.commits > pending;
                    let over = list.iter().filter(|known| is_over(known));
                    let over: Vec<_> = over.map(|known| Some(known.bytes.start)).collect();
                    list.retain(|known| !is_over(known));
                    let finished = in_flight.wait(thread, pending);
                    prop_assert_eq!(finished.iter().map(|copy| copy.offset).collect::<Vec<_>>(), over);
                }
                Step::Find(offset, bytes) => {
                    let found = in_flight.find(offset, bytes).map(|pending| (pending.thread, pending.committed));
                    let mut overlapping: Vec<_> = list.iter().filter(|known| overlaps(known, offset, bytes)).collect();
                    overlapping.sort_by_key(|known| known.bytes.start);
                    prop_assert_eq!(found, overlapping.first().map(|known| (known.thread, known.commits > 0)));
                }
                Step::NextBlock => {
                    in_flight.start_block();
                    list.clear();
                }
            }
        }
    }
}
