//! The order of a grid's blocks, and the token for atomics on global memory.
//!
//! Blocks run in parallel, started in the order of the schedule. Atomics on global memory would make the outcome depend
//! on which core was faster; therefore only the block that holds the *token* may execute one: the first, in the order
//! of the schedule, that has not ended. A block that waits for another (it polls, and nothing changes) goes to the back
//! of the order, so that the others run first. One schedule thus gives one run, whatever the number of cores.
//!
//! A run has several grids if launches may overlap (programmatic dependent launch). Their blocks have one order, grid
//! after grid. A block of a later grid starts when every block of the grid before has allowed it or ended; as long as
//! that grid has not ended, only [`EARLY_BLOCKS`] of them may be running, since each may have to wait for its end.
//!
//! A worker runs one block at a time. A block that goes to the back is parked by its worker, which runs the blocks that
//! have not started, and then those that it has parked, in their order. The place of the block that a worker runs is
//! thus always the first of its blocks, so that the holder of the token runs.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Turns and time that a block may poll while no other block makes progress. Both must pass, since a kernel may poll a
/// number of times and then give up.
const FRUITLESS_TURNS: u32 = 10_000;
const FRUITLESS_TIME: Duration = Duration::from_secs(1);
/// Turns after which the time is enough: [`PATIENT_TIME`], or that another block was found to be stuck.
const FEWER_TURNS: u32 = 1000;
const PATIENT_TIME: Duration = Duration::from_secs(10);
/// Turns in a row of a block when all blocks poll in vain: parking it takes longer than a turn.
const TURNS_IN_PLACE: u32 = 500;
/// Running blocks of a grid before the end of the grid before it.
const EARLY_BLOCKS: u64 = 8;

/// The blocks of one run.
pub(super) struct Grid {
    blocks: u64,
    /// The most blocks that may have started and not ended.
    resident: u64,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The place of the next block to start.
    next: u64,
    /// The grids, in the order of their launches.
    grids: Vec<Blocks>,
    /// Running blocks, by their place in the order.
    running: BTreeSet<u64>,
    /// The most there were at one time.
    most: u64,
    /// The last place given to a block that gave way.
    last_place: u64,
    /// Counts the events that blocks may wait for.
    progress: u64,
    /// How often in a row blocks gave way without progress.
    quiet: u64,
    /// The value of `progress` when a block was found to be stuck.
    stuck_at: Option<u64>,
    /// Workers that wait for a change.
    waiting: usize,
    stopped: bool,
    /// A block was stuck: no more start.
    is_closed: bool,
}

/// How far the blocks of one grid are.
#[derive(Clone, Copy)]
struct Blocks {
    count: u64,
    started: u64,
    ended: u64,
    /// Those that let the next grid start, or have ended.
    triggered: u64,
}

/// A block's place in the order.
pub(super) struct Place {
    key: u64,
    grid: usize,
    triggered: bool,
    fruitless: u32,
    fruitless_since: Instant,
    /// Turns until it goes to the back of the order.
    turns_left: u32,
    stuck: bool,
    seen_progress: u64,
}

/// What a block that polls does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It polls again: all others poll in vain, too.
    Stay,
    /// It was sent to the back of the order: others run first.
    Park,
}

/// No block can make progress, or the run is over.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stuck {
    /// All running blocks wait for an event that cannot happen any more.
    NoProgress,
    /// No more block starts or continues.
    Stopped,
}

impl Place {
    /// The number of the block's grid.
    pub(super) fn grid(&self) -> usize {
        self.grid
    }
}

impl Grid {
    /// Of grids with so many blocks each, `resident` at one time.
    pub(super) fn new(blocks: impl IntoIterator<Item = u64>, resident: u64) -> Self {
        let grid = |count| Blocks {
            count,
            started: 0,
            ended: 0,
            triggered: 0,
        };
        let grids: Vec<Blocks> = blocks.into_iter().map(grid).collect();
        let blocks = grids.iter().map(|grid| grid.count).sum();
        Self {
            blocks,
            resident: resident.max(1),
            state: Mutex::new(State {
                next: 0,
                grids,
                running: BTreeSet::new(),
                most: 0,
                last_place: blocks,
                progress: 0,
                quiet: 0,
                stuck_at: None,
                waiting: 0,
                stopped: false,
                is_closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Starts the next block, if one may start now; returns its position in the order of its grid and its place.
    pub(super) fn start(&self) -> Option<(u64, Place)> {
        let mut state = self.state.lock();
        if !self.can_start(&state) {
            return None;
        }
        let grid = state.next_grid()?;
        let position = state.grids[grid].started;
        state.grids[grid].started += 1;
        let key = state.next;
        state.next += 1;
        state.running.insert(key);
        state.most = state.most.max(state.running.len() as u64);
        let place = Place {
            key,
            grid,
            triggered: false,
            fruitless: 0,
            fruitless_since: Instant::now(),
            turns_left: 0,
            stuck: false,
            seen_progress: state.progress,
        };
        self.tell(&state);
        Some((position, place))
    }

    fn can_start(&self, state: &State) -> bool {
        state.next < self.blocks
            && !state.stopped
            && !state.is_closed
            && (state.running.len() as u64) < self.resident
            && state.next_grid().is_some_and(|grid| state.may_run(grid))
    }

    /// The block lets the next grid start.
    pub(super) fn trigger(&self, place: &mut Place) {
        let mut state = self.state.lock();
        place.triggered = true;
        state.grids[place.grid].triggered += 1;
        state.progress += 1;
        self.tell(&state);
    }

    /// Whether all blocks of a grid have ended.
    pub(super) fn has_ended(&self, grid: usize) -> bool {
        self.state.lock().grids[grid].has_ended()
    }

    /// Whether a block was stuck, so that no more start.
    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().is_closed
    }

    /// Starts no more blocks, and lets none continue that gives way.
    pub(super) fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_all();
    }

    /// The number of blocks that have ended.
    pub(super) fn done(&self) -> u64 {
        let state = self.state.lock();
        state.next - state.running.len() as u64
    }

    /// The most blocks that may be resident.
    pub(super) fn limit(&self) -> u64 {
        self.resident
    }

    /// The blocks that run or wait, and those that have not started.
    pub(super) fn resident(&self) -> (u64, u64) {
        let state = self.state.lock();
        (state.running.len() as u64, self.blocks - state.next)
    }

    /// The most blocks that had started and not ended at one time.
    pub(super) fn most_resident(&self) -> u64 {
        self.state.lock().most
    }

    /// Ends a block.
    pub(super) fn finish(&self, place: &Place) {
        let mut state = self.state.lock();
        state.running.remove(&place.key);
        let grid = &mut state.grids[place.grid];
        grid.ended += 1;
        grid.triggered += u64::from(!place.triggered);
        if place.stuck {
            // Blocks that this one makes room for would say nothing more.
            state.is_closed = true;
        } else {
            state.progress += 1;
        }
        self.tell(&state);
    }

    /// Waits until the block holds the token, which it keeps until it ends or gives way.
    pub(super) fn take_token(&self, place: &Place) {
        let mut state = self.state.lock();
        while !self.holds_token(&state, place) {
            state.waiting += 1;
            self.changed.wait(&mut state);
            state.waiting -= 1;
        }
    }

    /// Counts an event that another block may wait for.
    pub(super) fn note_progress(&self) {
        self.state.lock().progress += 1;
    }

    /// Lets other blocks run first. A block that `has_news` does not poll in vain.
    pub(super) fn give_way(&self, place: &mut Place, has_news: bool) -> Result<Next, Stuck> {
        let mut state = self.state.lock();
        if state.stopped {
            place.stuck = true;
            return Err(Stuck::Stopped);
        }
        if state.progress == place.seen_progress && !has_news {
            place.fruitless += 1;
            state.quiet += 1;
        } else {
            place.fruitless = 0;
            place.fruitless_since = Instant::now();
            place.seen_progress = state.progress;
            place.turns_left = 0;
            state.quiet = 0;
        }
        let time = place.fruitless_since.elapsed();
        // If one block is stuck, and nothing has happened since, the other polling blocks are, too.
        let hopeless = state.stuck_at == Some(state.progress) || time > PATIENT_TIME;
        let turns = if hopeless { FEWER_TURNS } else { FRUITLESS_TURNS };
        if place.fruitless > turns && (hopeless || time > FRUITLESS_TIME) {
            state.stuck_at = Some(state.progress);
            place.stuck = true;
            return Err(Stuck::NoProgress);
        }
        if place.turns_left > 0 || state.running.len() == 1 && !self.can_start(&state) {
            place.turns_left = place.turns_left.saturating_sub(1);
            return Ok(Next::Stay);
        }
        if state.quiet > 4 * state.running.len() as u64 {
            // For the next time.
            place.turns_left = TURNS_IN_PLACE;
        }
        self.send_to_back(&mut state, place);
        Ok(Next::Park)
    }

    /// Lets other blocks run first, although the block can run. If there are none, it stays.
    pub(super) fn yield_turn(&self, place: &mut Place) -> Next {
        let mut state = self.state.lock();
        if state.stopped || state.running.len() == 1 && !self.can_start(&state) {
            return Next::Stay;
        }
        // Those that wait for this one do not poll in vain.
        state.progress += 1;
        state.quiet = 0;
        self.send_to_back(&mut state, place);
        Next::Park
    }

    fn send_to_back(&self, state: &mut State, place: &mut Place) {
        state.running.remove(&place.key);
        state.last_place += 1;
        place.key = state.last_place;
        state.running.insert(place.key);
        self.tell(state);
    }

    fn holds_token(&self, state: &State, place: &Place) -> bool {
        // A block that has not started precedes those that gave way.
        let unstarted = if self.can_start(state) { state.next } else { u64::MAX };
        state
            .running
            .first()
            .is_some_and(|&first| first == place.key && first < unstarted)
    }

    fn tell(&self, state: &State) {
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }
}

impl State {
    /// The grid of the next block to start.
    fn next_grid(&self) -> Option<usize> {
        self.grids.iter().position(|grid| grid.started < grid.count)
    }

    /// Whether another block of a grid may start now, as far as the grid before it allows.
    fn may_run(&self, number: usize) -> bool {
        let Some(before) = number.checked_sub(1).map(|before| self.grids[before]) else {
            return true;
        };
        let own = self.grids[number];
        before.has_ended() || before.triggered == before.count && own.started - own.ended < EARLY_BLOCKS
    }
}

impl Blocks {
    fn has_ended(&self) -> bool {
        self.ended == self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_goes_round_in_the_order_of_the_schedule() {
        let grid = Grid::new([100], u64::MAX);
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
    fn a_block_that_gives_way_comes_after_all_others() {
        let grid = Grid::new([3], u64::MAX);
        let (_, mut first) = grid.start().expect("three blocks");
        grid.take_token(&first);
        assert_eq!(grid.give_way(&mut first, false), Ok(Next::Park));
        for position in [1, 2] {
            let (started, place) = grid.start().expect("three blocks");
            assert_eq!(started, position);
            grid.take_token(&place);
            grid.finish(&place);
        }
        grid.take_token(&first);
        assert_eq!((grid.resident(), grid.most_resident()), ((1, 0), 2));
        assert_eq!(grid.give_way(&mut first, false), Ok(Next::Stay));
    }

    #[test]
    fn no_more_blocks_start_than_may_be_resident() {
        let grid = Grid::new([3], 2);
        let (_, mut first) = grid.start().expect("three blocks");
        let (_, second) = grid.start().expect("three blocks");
        assert!(grid.start().is_none());
        assert_eq!(grid.give_way(&mut first, false), Ok(Next::Park));
        grid.take_token(&second);
        grid.finish(&second);
        assert!(grid.start().is_some_and(|(position, _)| position == 2));
    }

    #[test]
    fn a_later_grid_starts_when_all_blocks_of_the_one_before_have_triggered() {
        let grid = Grid::new([2, 2 * EARLY_BLOCKS], u64::MAX);
        let (_, mut first) = grid.start().expect("two blocks");
        grid.trigger(&mut first);
        let (position, second) = grid.start().expect("two blocks");
        assert_eq!((position, second.grid()), (1, 0));
        assert!(grid.start().is_none(), "the second block has not triggered");
        grid.finish(&second);
        let early: Vec<Place> = std::iter::from_fn(|| grid.start()).map(|(_, place)| place).collect();
        assert_eq!(early.len() as u64, EARLY_BLOCKS);
        assert!(early.iter().all(|place| place.grid() == 1));
        assert!(!grid.has_ended(0));
        grid.finish(&first);
        assert!(grid.has_ended(0));
        let (position, _) = grid.start().expect("the first grid has ended");
        assert_eq!(position, EARLY_BLOCKS);
    }

    #[test]
    fn a_wait_without_progress_ends() {
        let grid = Grid::new([1], u64::MAX);
        let (_, mut place) = grid.start().expect("one block");
        let mut turns = 0;
        while grid.give_way(&mut place, false).is_ok() {
            turns += 1;
        }
        assert!(turns >= FRUITLESS_TURNS);
    }
}
