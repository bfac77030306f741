//! Distributed shared memory: accesses of a thread to the shared memory of other blocks of its cluster, at once
//! (`ld.shared::cluster`, `st.shared::cluster`) or asynchronously (`st.async`, `red.async`).
//!
//! For the other block the thread is a visitor ([`Agents`](crate::analysis::agents::Agents)): its accesses are in that
//! block's shadow, and are ordered for the block's threads once they know of them by the barrier of the cluster, an
//! mbarrier or atomics. A block must not end before those of its visitors.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::Location;

use crate::access::{Instruction, Space};
use crate::analysis::Op;
use crate::analysis::agents::Operation;
use crate::fault::{FaultKind, MbarrierProblem};
use crate::launch::Checks;

use super::BlockContext;
use super::agent::Proxy;
use super::analysis::Analysis;
use super::bulk_copy::Load;
use super::cluster::RANK_SHIFT;

/// The threads of other blocks that have accessed a block's shared memory.
#[derive(Default)]
pub(super) struct Visitors {
    /// By rank and thread.
    visits: RefCell<BTreeMap<(u32, u16), Visit>>,
    /// Counts what the block's own threads have acquired: an access after that is another operation of a visitor.
    acquisitions: Cell<u64>,
}

/// The accesses of a visitor.
struct Visit {
    /// The visitor's epoch at the last one.
    epoch: u32,
    /// The source location of the last one.
    location: &'static Location<'static>,
    /// Its loads and stores, each with the epoch of the visitor.
    operations: Vec<(u32, Operation)>,
    /// The visitor's epoch and acquisitions since the last of these: while they stay, there is nothing to publish.
    stamp: (u32, u64),
}

impl Visitors {
    pub(super) fn start_block(&self) {
        self.visits.take();
    }
}

/// A place in the shared memory of a block of the cluster.
pub(super) struct RemotePlace<'a> {
    pub(super) peer: &'a BlockContext,
    pub(super) rank: u32,
    pub(super) offset: usize,
    pub(super) host: *mut u8,
}

impl BlockContext {
    /// The `bytes` bytes at an address of the cluster's shared memory. Any other address ends the block.
    pub(super) fn remote_place(
        &self,
        address: u32,
        bytes: usize,
        op: Op,
        location: &'static Location<'static>,
    ) -> RemotePlace<'_> {
        self.watch(location);
        let rank = address >> RANK_SHIFT;
        let peer = self.peer(rank, location);
        let offset = peer.shared.offset_of_shared_address(address & ((1 << RANK_SHIFT) - 1));
        let host = peer.shared.host_address(offset);
        if peer.shared.offset_of(host, bytes) != Some(offset) {
            let bound = format!("at byte {offset} of the shared memory of the block of rank {rank}");
            self.out_of_bounds(Space::Shared, op, bytes, bound, location);
        }
        RemotePlace {
            peer,
            rank,
            offset,
            host: std::ptr::with_exposed_provenance_mut(host),
        }
    }

    /// Notes an access of the running thread to the shared memory of another block of the cluster.
    pub(super) fn visit(&self, peer: &Self, location: &'static Location<'static>) {
        if std::ptr::eq(self, peer) || self.checks == Checks::Off {
            return;
        }
        let thread = self.thread();
        let epoch = self.analysis.borrow().sync.clocks.epoch(thread);
        let mut visits = peer.cluster.visitors.visits.borrow_mut();
        let visit = visits.entry((self.cluster.rank(), thread)).or_insert_with(|| Visit {
            epoch,
            location,
            operations: Vec::new(),
            stamp: (0, 0),
        });
        (visit.epoch, visit.location) = (epoch, location);
    }

    /// The operation of the running thread's access to the shared memory of `peer`.
    fn visiting_operation(&self, peer: &Self, location: &'static Location<'static>) -> Operation {
        self.visit(peer, location);
        let (thread, rank) = (self.thread(), self.cluster.rank());
        let stamp = |context: &Self| {
            let epoch = context.analysis.borrow().sync.clocks.epoch(thread);
            (epoch, context.cluster.visitors.acquisitions.get())
        };
        let (now, own) = (stamp(self), (rank, thread));
        let known = peer.cluster.visitors.visits.borrow().get(&own).and_then(|visit| {
            let (_, last) = visit.operations.last()?;
            (visit.stamp == now).then_some(*last)
        });
        known.unwrap_or_else(|| {
            let published = self.release_to_cluster();
            let operation = {
                let Analysis { agents, sync, .. } = &mut *peer.analysis.borrow_mut();
                agents.visit(sync, own, &published)
            };
            if let Some(visit) = peer.cluster.visitors.visits.borrow_mut().get_mut(&own) {
                visit.operations.push((now.0, operation));
                visit.stamp = stamp(self);
            }
            operation
        })
    }

    /// Orders the accesses of visitors that `thread` knows of before its later ones.
    pub(super) fn learn_of_visitors(&self, thread: u16) {
        let visitors = &self.cluster.visitors;
        visitors.acquisitions.set(visitors.acquisitions.get() + 1);
        for (&(rank, visitor), visit) in &*visitors.visits.borrow() {
            let Some(peer) = self.peer_at(rank) else { continue };
            let block = peer.id.get().number;
            let Analysis { agents, sync, .. } = &mut *self.analysis.borrow_mut();
            let known = visit
                .operations
                .partition_point(|&(epoch, _)| sync.ordered_in_grid(thread, block, visitor, epoch));
            if let Some(&(_, last)) = known.checked_sub(1).and_then(|last| visit.operations.get(last)) {
                agents.acquire(&mut sync.clocks, thread, last);
            }
        }
    }

    /// Records the accesses of other blocks to this block's shared memory that nothing orders before its end.
    pub(super) fn check_visits(&self) {
        let (own, sync) = (self.cluster.rank(), &self.analysis.borrow().sync);
        for (&(rank, visitor), visit) in &*self.cluster.visitors.visits.borrow() {
            let Some(peer) = self.peer_at(rank) else { continue };
            let block = peer.id.get().number;
            let knows = |thread: usize| sync.ordered_in_grid(thread as u16, block, visitor, visit.epoch);
            if !(0..self.threads.len()).any(knows) {
                let problem = format!("an access to the block of rank {own}, which may have ended");
                let location = Some(visit.location.into());
                peer.record(visitor.into(), FaultKind::Cluster { problem }, location, None);
            }
        }
    }

    /// Checks a load or store of the running thread at an address of the cluster's shared memory; returns the host's
    /// address, which is valid for `bytes` bytes.
    pub(crate) fn remote_access(
        &self,
        address: u32,
        bytes: usize,
        op: Op,
        location: &'static Location<'static>,
    ) -> *mut u8 {
        let RemotePlace { peer, offset, host, .. } = self.remote_place(address, bytes, op, location);
        if !host.addr().is_multiple_of(bytes) {
            self.misaligned(Space::Shared, host.addr(), bytes, location);
        }
        if std::ptr::eq(self, peer) {
            self.shared_access(op, host.addr(), bytes, location, None, Some(Instruction::Lanes));
        } else if self.checks != Checks::Off {
            let operation = self.visiting_operation(peer, location);
            self.visiting(peer, self.threads.running_number(), || {
                peer.operation_on_shared(operation, (op, Proxy::Generic), offset, bytes, location);
            });
        }
        host
    }

    /// `st.async` of `data`, or `red.async` that adds it as a `u32`: completes its bytes on an mbarrier of the same
    /// block.
    pub(crate) fn store_async(
        &self,
        address: u32,
        data: Vec<u8>,
        adds: bool,
        mbarrier: u32,
        location: &'static Location<'static>,
    ) {
        let op = if adds { Op::AtomicUpdate } else { Op::Write };
        let place = self.remote_place(address, data.len(), op, location);
        if !place.host.addr().is_multiple_of(data.len()) {
            self.misaligned(Space::Shared, place.host.addr(), data.len(), location);
        }
        self.start_remote_load(place, data, adds, mbarrier, Proxy::Generic, location);
    }

    /// Starts an operation that writes `data` to a block of the cluster and completes on an mbarrier there.
    pub(super) fn start_remote_load(
        &self,
        place: RemotePlace<'_>,
        data: Vec<u8>,
        adds: bool,
        mbarrier: u32,
        proxy: Proxy,
        location: &'static Location<'static>,
    ) {
        let RemotePlace {
            peer,
            rank,
            offset,
            host,
        } = place;
        if mbarrier >> RANK_SHIFT != rank {
            let other = mbarrier >> RANK_SHIFT;
            let problem = format!("bytes for the block of rank {rank} on an mbarrier of the one of rank {other}");
            self.cluster_fault(problem, location);
        }
        let mbarrier = peer.shared.offset_of_shared_address(mbarrier & ((1 << RANK_SHIFT) - 1));
        match peer.check_mbarrier_of_copy(mbarrier) {
            // Only the async proxy needs the fence.
            Err(MbarrierProblem::NotFenced) if proxy == Proxy::Generic => {}
            Err(problem) => self.mbarrier_fault(mbarrier, problem, location),
            Ok(()) => {}
        }
        let op = if adds { Op::AtomicUpdate } else { Op::Write };
        let thread = self.thread();
        let issuer = (self.cluster.rank(), thread);
        let operation = if std::ptr::eq(self, peer) {
            self.start_operation(std::iter::once(thread))
        } else {
            let published = self.release_to_cluster();
            peer.start_remote_operation(issuer, &published)
        };
        self.visiting(peer, thread.into(), || {
            peer.operation_on_shared(operation, (op, proxy), offset, data.len(), location);
        });
        peer.bulk_copies.borrow_mut().start_load(Load {
            operation,
            issuer,
            to: host,
            data,
            adds,
            mbarrier,
            location,
        });
        self.note_change();
    }
}
