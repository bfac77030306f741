//! What threads ask of the other blocks of their cluster: its barrier, arrivals at mbarriers of others, copies to
//! several blocks.
//!
//! The blocks of a cluster run on one thread of the operating system, in turns. Each has its own shared memory, shadow
//! and clocks; what one knows of another is what atomics of the device give:
//! [`GridClock`](crate::analysis::grid_clock::GridClock).

use std::panic::Location;

use crate::analysis::sync_vars::Publication;
use crate::dim::Dim3;
use crate::fault::{FaultKind, MbarrierProblem};

use super::operations::Arriving;
use super::slot::{Slot, Status};

/// Where the rank stands in the address of a byte of a cluster's shared memory. Offsets in a block's are below 2^18.
const RANK_SHIFT: u32 = 24;

impl Slot {
    /// The thread enters a kernel that is made for such clusters.
    pub(super) fn note_cluster(&self, cluster: Option<[u32; 3]>) {
        let other = cluster.filter(|cluster| *cluster != self.run.config.cluster.to_array());
        if other.is_some() {
            self.operations.borrow_mut().other_cluster = other;
        }
    }

    /// Ends the block if the kernel is made for other clusters than those of the launch.
    fn check_cluster(&self, site: &'static Location<'static>) {
        self.check_watch();
        let other = self.operations.borrow().other_cluster;
        if let Some(other) = other.map(Dim3::from) {
            let launched = self.run.config.cluster;
            let problem =
                format!("the kernel has clusters of {other} blocks, the launch of {launched} (Launch::cluster)");
            self.fatal(FaultKind::Cluster { problem }, Some(site), None);
        }
    }

    /// Blocks of the cluster.
    pub(crate) fn cluster_size(&self, site: &'static Location<'static>) -> u32 {
        self.check_cluster(site);
        self.peers.borrow().len() as u32
    }

    /// The block's rank among them.
    pub(crate) fn cluster_rank(&self, site: &'static Location<'static>) -> u32 {
        self.check_cluster(site);
        self.rank
    }

    /// The slot of the block of this rank, which has not ended.
    fn peer(&self, rank: u32, site: &'static Location<'static>) -> &Slot {
        self.check_cluster(site);
        let peers = self.peers.borrow();
        let Some(&peer) = peers.get(rank as usize) else {
            let problem = format!("rank {rank} of a cluster of {} blocks", peers.len());
            drop(peers);
            self.fatal(FaultKind::Cluster { problem }, Some(site), None)
        };
        drop(peers);
        // SAFETY: the worker keeps the slots of a cluster together, and alive while any of their threads runs. It is on
        // this thread of the operating system.
        let peer = unsafe { &*peer };
        if peer.threads.iter().all(|thread| thread.status.get() == Status::Exited) {
            let problem = format!("the block of rank {rank} has ended");
            self.fatal(FaultKind::Cluster { problem }, Some(site), None);
        }
        peer
    }

    /// What the running thread knows, for other blocks.
    fn release_to_cluster(&self) -> Publication {
        let thread = self.thread.get() as u16;
        self.analysis.borrow_mut().sync.release_to_cluster(thread)
    }

    /// `mapa`: the address of a byte of this block's shared memory, in that of the block of rank `rank`.
    pub(crate) fn map_address(&self, address: usize, rank: u32, site: &'static Location<'static>) -> u32 {
        self.peer(rank, site);
        rank << RANK_SHIFT | self.shared_address(address, site)
    }

    /// `mbarrier.arrive` at a barrier of the cluster.
    pub(crate) fn mbarrier_arrive_remote(&self, address: u32, site: &'static Location<'static>) {
        let peer = self.peer(address >> RANK_SHIFT, site);
        let offset = peer.offset_of_shared_address(address & ((1 << RANK_SHIFT) - 1));
        let published = self.release_to_cluster();
        let complete = match peer.analysis.borrow_mut().mbarriers.get_mut(&offset) {
            Some(mbarrier) => mbarrier.arrive(&published),
            None => Err(MbarrierProblem::NotInitialized),
        };
        match complete {
            Ok(complete) => peer.mbarrier_changed(offset, complete),
            Err(problem) => self.mbarrier_fault(offset, problem, site),
        }
        // Its initialisation has to be known here.
        let operation = {
            let analysis = &mut *peer.analysis.borrow_mut();
            let thread = self.thread.get() as u16;
            analysis.agents.start_remote(&mut analysis.sync, thread, &published)
        };
        peer.enter_mbarrier_by(operation, offset, site);
        self.note_change();
        peer.progress.set(peer.progress.get() + 1);
    }

    /// The copy `arriving`, which has started here, goes to the block of this rank, too: to the same places of its
    /// shared memory.
    pub(super) fn also_arrives(
        &self,
        rank: u32,
        offset: usize,
        data: Vec<u8>,
        mbarrier: usize,
        site: &'static Location<'static>,
    ) {
        let peer = self.peer(rank, site);
        let fenced = peer
            .analysis
            .borrow()
            .mbarriers
            .get(&mbarrier)
            .map(|mbarrier| mbarrier.is_fenced());
        match fenced {
            Some(true) => {}
            Some(false) => self.mbarrier_fault(mbarrier, MbarrierProblem::NotFenced, site),
            None => self.mbarrier_fault(mbarrier, MbarrierProblem::NotInitialized, site),
        }
        let published = self.release_to_cluster();
        let thread = self.thread.get();
        let operation = {
            let analysis = &mut *peer.analysis.borrow_mut();
            analysis
                .agents
                .start_remote(&mut analysis.sync, thread as u16, &published)
        };
        // Faults are those of the issuer, as far as its number goes.
        let running = peer.thread.replace(thread);
        peer.operation_on_shared(operation, true, offset, data.len(), site);
        peer.thread.set(running);
        peer.operations.borrow_mut().arriving.push(Arriving {
            operation,
            thread,
            to: std::ptr::with_exposed_provenance_mut(peer.host_address_of_offset(offset)),
            data,
            mbarrier,
            site,
        });
    }

    /// `barrier.cluster.arrive`.
    pub(crate) fn cluster_arrive(&self, site: &'static Location<'static>) {
        self.check_cluster(site);
        let published = self.release_to_cluster();
        let first = self.peer_unchecked(0);
        let phase = {
            let barrier = &mut first.operations.borrow_mut().cluster;
            barrier.current.merge(&published);
            barrier.phase
        };
        let before = self.operations.borrow_mut().arrived.insert(self.thread.get(), phase);
        if before.is_some() {
            let problem = "a second arrival at the barrier of the cluster without a wait for the first".to_owned();
            self.fatal(FaultKind::Cluster { problem }, Some(site), None);
        }
        self.note_change();
    }

    /// `barrier.cluster.wait`.
    pub(crate) fn cluster_wait(&self, site: &'static Location<'static>) {
        self.check_watch();
        let Some(phase) = self.operations.borrow_mut().arrived.get(&self.thread.get()).copied() else {
            let problem = "a wait at the barrier of the cluster without an arrival".to_owned();
            self.fatal(FaultKind::Cluster { problem }, Some(site), None)
        };
        let first = self.peer_unchecked(0);
        while first.operations.borrow().cluster.phase == phase {
            self.wait(Status::Cluster, site);
        }
        let thread = self.thread.get();
        let published = first.operations.borrow().cluster.complete.clone();
        self.analysis.borrow_mut().sync.acquire(thread as u16, &published);
        self.operations.borrow_mut().arrived.remove(&thread);
    }

    fn peer_unchecked(&self, rank: usize) -> &Slot {
        // SAFETY: as in `peer`; a cluster has a first block.
        unsafe { &*self.peers.borrow()[rank] }
    }

    /// Opens the barrier of the cluster if all threads that have not ended have arrived; tells if it did.
    pub(super) fn open_cluster_barrier(&self, slots: &[Slot]) -> bool {
        if slots.iter().all(|slot| slot.operations.borrow().arrived.is_empty()) {
            return false;
        }
        let phase = self.operations.borrow().cluster.phase;
        let is_here = |slot: &Slot, thread: usize| {
            slot.threads[thread].status.get() == Status::Exited
                || slot.operations.borrow().arrived.get(&thread) == Some(&phase)
        };
        if !slots
            .iter()
            .all(|slot| (0..slot.threads.len()).all(|thread| is_here(slot, thread)))
        {
            return false;
        }
        let barrier = &mut self.operations.borrow_mut().cluster;
        barrier.phase += 1;
        barrier.complete = std::mem::take(&mut barrier.current);
        for thread in slots.iter().flat_map(|slot| &slot.threads) {
            if thread.status.get() == Status::Cluster {
                thread.status.set(Status::Ready);
            }
        }
        self.run.watch.met(self.number);
        true
    }
}
