//! The place of a block, or of the blocks of a cluster, in the order of the grid, and the token for atomics on global
//! memory ([`grid`](crate::engine::grid)).

use std::cell::{Cell, RefCell};

use crate::engine::grid::{Next, Place, Stuck};

use super::BlockContext;

/// The place in the grid's order of the blocks that a worker runs.
#[derive(Default)]
pub(in crate::engine) struct GridTurn {
    place: RefCell<Option<Place>>,
    holds_token: Cell<bool>,
}

impl GridTurn {
    /// Starts blocks at `place`, without the token.
    pub(in crate::engine) fn start(&self, place: Place) {
        self.place.replace(Some(place));
        self.holds_token.set(false);
    }

    /// Ends the blocks; returns their place.
    pub(in crate::engine) fn finish(&self) -> Place {
        self.place.take().expect("a running block has a place")
    }
}

impl BlockContext {
    /// Waits until this block may execute atomics on global memory.
    pub(super) fn take_token(&self) {
        if !self.turn.holds_token.get() {
            self.watchdog.pause(true);
            let place = self.turn.place.borrow();
            self.run
                .grid
                .take_token(place.as_ref().expect("a running block has a place"));
            self.turn.holds_token.set(true);
            self.watchdog.pause(false);
        }
    }

    /// Lets the next launch start, as far as the blocks at this one's place are concerned.
    pub(super) fn trigger_next_launch(&self) {
        let mut place = self.turn.place.borrow_mut();
        let place = place.as_mut().expect("a running block has a place");
        self.run.grid.trigger(place);
    }

    /// Lets other blocks run first, although this one can run.
    pub(super) fn yield_turn(&self) -> Next {
        let mut place = self.turn.place.borrow_mut();
        let place = place.as_mut().expect("a running block has a place");
        self.watchdog.reset();
        let next = self.run.grid.yield_turn(place);
        if next != Next::Stay {
            self.turn.holds_token.set(false);
        }
        next
    }

    /// Lets other blocks run first. `has_news`: a thread of this one read something new since the last time.
    ///
    /// # Errors
    /// No block can make progress, or the run is over.
    pub(super) fn give_way(&self, has_news: bool) -> Result<Next, Stuck> {
        let mut place = self.turn.place.borrow_mut();
        let place = place.as_mut().expect("a running block has a place");
        self.watchdog.reset();
        let result = self.run.grid.give_way(place, has_news);
        if result != Ok(Next::Stay) {
            self.turn.holds_token.set(false);
        }
        result
    }
}
