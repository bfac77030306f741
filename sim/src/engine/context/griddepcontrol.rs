//! Programmatic dependent launch: when the next launch may start, and the wait for the one before.

use std::cell::Cell;
use std::panic::Location;

use crate::launch::Checks;

use super::BlockContext;
use super::threads::Status;

/// A block's part in the start of the launch after its own.
#[derive(Default)]
pub(super) struct Dependents {
    /// A thread has executed `launch_dependents`.
    has_triggered: Cell<bool>,
}

impl Dependents {
    pub(super) fn start_block(&self) {
        self.has_triggered.set(false);
    }
}

impl BlockContext {
    /// `griddepcontrol.launch_dependents`. It orders nothing.
    pub(crate) fn launch_dependents(&self) {
        self.check_watchdog();
        let is_last = self.launch.number as usize + 1 == self.run.launches.len();
        if is_last || self.dependents.has_triggered.replace(true) {
            return;
        }
        // Blocks start by clusters.
        let has_triggered = |peer: &BlockContext| peer.dependents.has_triggered.get() || peer.threads.have_exited();
        if (0..).map_while(|rank| self.peer_at(rank)).all(has_triggered) {
            self.trigger_next_launch();
            self.preempt_for_next_launch();
        }
    }

    /// `griddepcontrol.wait`: waits for the end of the launch before, if this one may overlap it.
    pub(crate) fn wait_for_launches(&self, location: &'static Location<'static>) {
        self.check_watchdog();
        let Some(before) = self.launch.number.checked_sub(1) else {
            return;
        };
        let before = before as usize;
        while !self.run.grid.has_ended(before) {
            self.wait(Status::Grid, location);
        }
        if self.checks != Checks::Off {
            let known = self.run.launches[before].knowledge();
            self.analysis.borrow_mut().sync.acquire_launches(self.thread(), &known);
        }
    }
}
