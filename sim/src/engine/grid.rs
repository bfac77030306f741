//! The order of a grid's blocks, and the token for atomics on global memory.
//!
//! Blocks run in parallel, started in the order of the schedule. Atomics on global memory would make the outcome depend
//! on which core was faster; therefore only the block that holds the *token* may execute one: the first, in the order
//! of the schedule, that has not ended. A block that waits for another (it polls, and nothing changes) goes to the back
//! of the order, so that the others run first. One schedule thus gives one run, whatever the number of cores.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Turns and time that a block may poll while no other block makes progress. Both must pass, since a kernel may poll a
/// number of times and then give up.
const FRUITLESS_TURNS: u32 = 10_000;
const FRUITLESS_TIME: Duration = Duration::from_secs(1);
/// Blocks that may wait for others at one time; each holds its threads' stacks and a thread of the operating system.
const PARKED_BLOCKS: usize = 512;

/// The blocks of one run.
pub(super) struct Grid {
    blocks: u64,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The position of the next block to start.
    next: u64,
    /// Running blocks, by their place in the order.
    running: BTreeSet<u64>,
    /// Running blocks that have given way to others.
    parked: usize,
    /// The last place given to a block that gave way.
    last_place: u64,
    /// Counts the events that blocks may wait for.
    progress: u64,
    /// The value of `progress` when a block was found to be stuck.
    stuck_at: Option<u64>,
    /// Workers that wait for a change.
    waiting: usize,
    stopped: bool,
}

/// A block's place in the order.
pub(super) struct Place {
    key: u64,
    fruitless: u32,
    fruitless_since: Instant,
    stuck: bool,
    seen_progress: u64,
}

/// No block can make progress.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stuck {
    /// All running blocks wait for an event that cannot happen any more.
    NoProgress,
    /// More blocks wait than can be resident.
    TooMany,
}

impl Grid {
    pub(super) fn new(blocks: u64) -> Self {
        Self {
            blocks,
            state: Mutex::new(State {
                next: 0,
                running: BTreeSet::new(),
                parked: 0,
                last_place: blocks,
                progress: 0,
                stuck_at: None,
                waiting: 0,
                stopped: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Starts the next block; returns its position in the order and its place.
    pub(super) fn start(&self) -> Option<(u64, Place)> {
        let mut state = self.state.lock();
        if state.next == self.blocks || state.stopped {
            return None;
        }
        let position = state.next;
        state.next += 1;
        state.running.insert(position);
        let place = Place {
            key: position,
            fruitless: 0,
            fruitless_since: Instant::now(),
            stuck: false,
            seen_progress: state.progress,
        };
        self.tell(&state);
        Some((position, place))
    }

    /// Starts no more blocks.
    pub(super) fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_all();
    }

    /// The number of blocks that have ended.
    pub(super) fn done(&self) -> u64 {
        let state = self.state.lock();
        state.next - state.running.len() as u64
    }

    /// Ends a block.
    pub(super) fn finish(&self, place: &Place) {
        let mut state = self.state.lock();
        state.running.remove(&place.key);
        if place.key >= self.blocks {
            state.parked -= 1;
        }
        if !place.stuck {
            state.progress += 1;
        }
        self.tell(&state);
    }

    /// Waits until the block holds the token, which it keeps until it ends or gives way.
    pub(super) fn take_token(&self, place: &Place) {
        let mut state = self.state.lock();
        while !self.holds_token(&state, place) {
            self.wait(&mut state);
        }
    }

    /// Counts an event that another block may wait for.
    pub(super) fn note_progress(&self) {
        self.state.lock().progress += 1;
    }

    /// Lets all other blocks run first, and returns when it is this one's turn again. A block that `has_news` does
    /// not poll in vain. Calls `spawn` if another worker
    /// is needed for the blocks that this one would have started.
    pub(super) fn give_way(&self, place: &mut Place, has_news: bool, spawn: impl FnOnce()) -> Result<(), Stuck> {
        let mut state = self.state.lock();
        if state.progress == place.seen_progress && !has_news {
            place.fruitless += 1;
        } else {
            place.fruitless = 0;
            place.fruitless_since = Instant::now();
            place.seen_progress = state.progress;
        }
        // If one block is stuck, and nothing has happened since, the other polling blocks are, too.
        let hopeless = state.stuck_at == Some(state.progress) && place.fruitless > 1;
        if hopeless || place.fruitless > FRUITLESS_TURNS && place.fruitless_since.elapsed() > FRUITLESS_TIME {
            state.stuck_at = Some(state.progress);
            place.stuck = true;
            return Err(Stuck::NoProgress);
        }
        state.running.remove(&place.key);
        if place.key < self.blocks {
            state.parked += 1;
            if state.parked > PARKED_BLOCKS {
                state.running.insert(place.key);
                state.parked -= 1;
                return Err(Stuck::TooMany);
            }
            if state.next < self.blocks {
                spawn();
            }
        }
        state.last_place += 1;
        place.key = state.last_place;
        state.running.insert(place.key);
        self.tell(&state);
        while !self.holds_token(&state, place) {
            self.wait(&mut state);
        }
        Ok(())
    }

    fn holds_token(&self, state: &State, place: &Place) -> bool {
        // A block that has not started precedes those that gave way.
        let unstarted = if state.next < self.blocks && !state.stopped {
            state.next
        } else {
            u64::MAX
        };
        state
            .running
            .first()
            .is_some_and(|&first| first == place.key && first < unstarted)
    }

    fn wait(&self, state: &mut parking_lot::MutexGuard<'_, State>) {
        state.waiting += 1;
        self.changed.wait(state);
        state.waiting -= 1;
    }

    fn tell(&self, state: &State) {
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn the_token_goes_round_in_the_order_of_the_schedule() {
        let grid = Grid::new(100);
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while let Some((position, place)) = grid.start() {
                        grid.take_token(&place);
                        order.lock().push(position);
                        grid.finish(&place);
                    }
                });
            }
        });
        assert!(order.into_inner().into_iter().eq(0..100));
        assert_eq!(grid.done(), 100);
        assert!(grid.start().is_none());
    }

    #[test]
    fn a_block_that_waits_for_a_later_one_completes() {
        let grid = Grid::new(3);
        let flag = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let worker = || {
                while let Some((position, mut place)) = grid.start() {
                    grid.take_token(&place);
                    if position == 2 {
                        flag.store(1, Ordering::Relaxed);
                        grid.note_progress();
                    }
                    while position == 0 && flag.load(Ordering::Relaxed) == 0 {
                        let result = grid.give_way(&mut place, false, || {
                            scope.spawn(|| {
                                while let Some((position, place)) = grid.start() {
                                    grid.take_token(&place);
                                    if position == 2 {
                                        flag.store(1, Ordering::Relaxed);
                                    }
                                    grid.finish(&place);
                                }
                            });
                        });
                        assert_eq!(result, Ok(()));
                    }
                    grid.finish(&place);
                }
            };
            scope.spawn(worker);
        });
        assert_eq!(grid.done(), 3);
    }

    #[test]
    fn a_wait_without_progress_ends() {
        let grid = Grid::new(1);
        let (_, mut place) = grid.start().expect("one block");
        let mut turns = 0;
        while grid.give_way(&mut place, false, || ()).is_ok() {
            turns += 1;
        }
        assert!(turns >= FRUITLESS_TURNS);
    }
}
