//! The analysis of a block's accesses: one instance of each data structure of [`crate::analysis`].

use std::panic::Location;

use crate::analysis::agents::Agents;
use crate::analysis::in_flight::InFlight;
use crate::analysis::shadow::{Conflict, SharedShadow};
use crate::analysis::source_locations::{AccessClass, SourceLocations};
use crate::analysis::sync_vars::Synchronization;
use crate::analysis::traffic::Traffic;
use crate::fault::OtherAccess;

use super::BlockContext;

/// The analysis of the blocks that a context runs.
pub(in crate::engine) struct Analysis {
    pub(in crate::engine) locations: SourceLocations,
    pub(super) sync: Synchronization,
    pub(super) shadow: SharedShadow,
    /// Pending `cp.async` copies, and the words of mbarriers.
    pub(super) in_flight: InFlight,
    pub(super) agents: Agents,
    pub(in crate::engine) traffic: Traffic,
}

impl Analysis {
    /// For blocks of `threads` threads.
    pub(super) fn new(threads: usize) -> Self {
        Self {
            locations: SourceLocations::new(),
            sync: Synchronization::new(),
            shadow: SharedShadow::new(),
            in_flight: InFlight::new(threads),
            agents: Agents::default(),
            traffic: Traffic::new(threads),
        }
    }

    /// Starts the block of this number: nothing is ordered with earlier blocks, and nothing is written.
    pub(super) fn start_block(&mut self, block: u64, threads: usize, dynamic_bytes: usize) {
        if self.sync.clocks.needs_reset() {
            self.sync = Synchronization::new();
            self.shadow = SharedShadow::new();
        }
        self.sync.start_block(block, threads);
        self.in_flight.start_block();
        self.agents.start_block(self.sync.clocks.first_agent());
        self.shadow.start_block(dynamic_bytes, self.sync.clocks.block_start());
    }
}

impl BlockContext {
    /// The other side of a race in shared memory.
    pub(super) fn other_access(&self, analysis: &Analysis, conflict: Conflict) -> OtherAccess {
        let issuer = analysis.agents.issuer(conflict.thread);
        let (location, _) = analysis.locations.get(conflict.location);
        let peer = analysis
            .agents
            .rank_of(conflict.thread)
            .and_then(|rank| self.peer_at(rank));
        OtherAccess {
            access: Some(conflict.op.into()),
            ..peer.unwrap_or(self).other_thread(issuer.into(), location)
        }
    }

    /// Counts an access of the running thread in the traffic. Where the thread has run far ahead of its warp, the other
    /// lanes run first.
    pub(super) fn count_access(&self, class: AccessClass, address: u64, location: &'static Location<'static>) {
        let id = self.analysis.borrow_mut().locations.id(location, class);
        self.count_number(id, class, address);
    }

    /// [`Self::count_access`] at the location of number `id`.
    #[inline(never)]
    pub(super) fn count_number(&self, id: u16, class: AccessClass, address: u64) {
        let thread = self.thread();
        let is_ahead = self.analysis.borrow_mut().traffic.record(thread, id, class, address);
        if is_ahead {
            self.suspend();
        }
    }
}
