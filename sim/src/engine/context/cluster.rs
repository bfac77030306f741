//! Clusters: the barrier of a cluster, arrivals at mbarriers of other blocks, multicast loads.
//!
//! The blocks of a cluster run in turns on one thread of the operating system. Each has its own shared memory, shadow
//! and clocks. Order between blocks is that of device-wide atomics:
//! [`GridClock`](crate::analysis::grid_clock::GridClock).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::Location;

use crate::access::Space;
use crate::analysis::Op;
use crate::analysis::sync_vars::Publication;
use crate::dim::Dim3;
use crate::fault::FaultKind;

use super::BlockContext;
use super::agent::Proxy;
use super::bulk_copy::Load;
use super::distributed_memory::Visitors;
use super::threads::Status;

/// The position of the rank in the address of a byte of a cluster's shared memory. Offsets within a block are below
/// 2^18.
pub(super) const RANK_SHIFT: u32 = 24;

/// A block's membership in its cluster.
pub(super) struct ClusterMember {
    rank: u32,
    /// The contexts of the cluster's blocks by rank, including this one.
    peers: RefCell<Vec<*const BlockContext>>,
    /// The extents of clusters that the kernel asks for, if the launch has others.
    mismatch: Cell<Option<[u32; 3]>>,
    /// By thread, the phase of the cluster's barrier that it has arrived at and not waited for.
    arrived: RefCell<HashMap<usize, u64>>,
    /// The barrier of the cluster: the one of its first block is used.
    barrier: RefCell<ClusterBarrier>,
    /// The threads of other blocks that have accessed this block's shared memory.
    pub(super) visitors: Visitors,
}

/// The barrier of a cluster's threads.
#[derive(Default)]
struct ClusterBarrier {
    /// The phase in progress.
    phase: u64,
    /// Released by the arrivals of the phase in progress.
    current: Publication,
    /// Released by the arrivals of the last complete phase.
    complete: Publication,
}

impl ClusterMember {
    pub(super) fn new(rank: u32) -> Self {
        Self {
            rank,
            peers: RefCell::default(),
            mismatch: Cell::new(None),
            arrived: RefCell::default(),
            barrier: RefCell::default(),
            visitors: Visitors::default(),
        }
    }

    pub(super) fn start_block(&self) {
        self.mismatch.set(None);
        self.arrived.borrow_mut().clear();
        self.barrier.take();
        self.visitors.start_block();
    }

    pub(super) fn rank(&self) -> u32 {
        self.rank
    }
}

impl BlockContext {
    /// Makes the contexts, in the order of their ranks, those of one cluster's blocks.
    pub(in crate::engine) fn connect(contexts: &[Self]) {
        for context in contexts {
            let peers = contexts.iter().map(std::ptr::from_ref).collect();
            context.cluster.peers.replace(peers);
        }
    }

    /// Notes the clusters that the kernel is compiled for.
    pub(super) fn note_cluster(&self, cluster: Option<[u32; 3]>) {
        let launched = self.launch.config.cluster.to_array();
        if let Some(other) = cluster.filter(|cluster| *cluster != launched) {
            self.cluster.mismatch.set(Some(other));
        }
    }

    pub(super) fn cluster_fault(&self, problem: String, location: &'static Location<'static>) -> ! {
        self.fatal(FaultKind::Cluster { problem }, Some(location), None)
    }

    /// Ends the block if the kernel is compiled for other clusters than the launch's.
    fn check_cluster(&self, location: &'static Location<'static>) {
        self.check_watchdog();
        if let Some(other) = self.cluster.mismatch.get().map(Dim3::from) {
            let launched = self.launch.config.cluster;
            let problem =
                format!("the kernel has clusters of {other} blocks, the launch of {launched} (Launch::cluster)");
            self.cluster_fault(problem, location);
        }
    }

    /// The number of blocks in the cluster.
    pub(crate) fn cluster_size(&self, location: &'static Location<'static>) -> u32 {
        self.check_cluster(location);
        self.cluster.peers.borrow().len() as u32
    }

    /// The block's rank in the cluster.
    pub(crate) fn cluster_rank(&self, location: &'static Location<'static>) -> u32 {
        self.check_cluster(location);
        self.cluster.rank
    }

    /// The block of this rank, if there is one.
    pub(super) fn peer_at(&self, rank: u32) -> Option<&BlockContext> {
        let peer = self.cluster.peers.borrow().get(rank as usize).copied()?;
        // SAFETY: the worker keeps the contexts of a cluster together, and alive while any of their threads runs. All
        // of them are used on this thread of the operating system.
        Some(unsafe { &*peer })
    }

    /// The block of this rank, which must be running.
    pub(super) fn peer(&self, rank: u32, location: &'static Location<'static>) -> &BlockContext {
        self.check_cluster(location);
        let Some(peer) = self.peer_at(rank) else {
            let blocks = self.cluster.peers.borrow().len();
            self.cluster_fault(format!("rank {rank} of a cluster of {blocks} blocks"), location)
        };
        if peer.threads.have_exited() {
            self.cluster_fault(format!("the block of rank {rank} has ended"), location);
        }
        peer
    }

    /// The first block of the cluster, whose barrier all use.
    fn first_peer(&self) -> &BlockContext {
        self.peer_at(0).expect("a cluster has a first block")
    }

    /// Publishes everything that the running thread knows to the cluster.
    pub(super) fn release_to_cluster(&self) -> Publication {
        self.analysis.borrow_mut().sync.release_to_cluster(self.thread())
    }

    /// `mapa`: the address in the block of rank `rank` of a byte of this block's shared memory.
    pub(crate) fn map_address(&self, address: usize, rank: u32, location: &'static Location<'static>) -> u32 {
        self.peer(rank, location);
        rank << RANK_SHIFT | self.shared_address(address, location)
    }

    /// `mbarrier.arrive` with an address in the cluster's shared memory.
    pub(crate) fn mbarrier_arrive_remote(&self, address: u32, location: &'static Location<'static>) {
        let peer = self.peer(address >> RANK_SHIFT, location);
        let offset = peer.shared.offset_of_shared_address(address & ((1 << RANK_SHIFT) - 1));
        self.visit(peer, location);
        let published = self.release_to_cluster();
        let thread = self.threads.running_number();
        let arrived = self.visiting(peer, thread, || {
            peer.mbarrier_arrive_for(offset, (self.cluster.rank, thread as u16), &published, location)
        });
        if let Err(problem) = arrived {
            self.mbarrier_fault(offset, problem, location);
        }
        self.note_change();
    }

    /// Starts the part of a multicast load that goes to the block of rank `rank`: `data` to `offset`, completing on the
    /// mbarrier at the offset `mbarrier`, both the same as in this block.
    pub(super) fn multicast_load(
        &self,
        rank: u32,
        offset: usize,
        data: Vec<u8>,
        mbarrier: usize,
        location: &'static Location<'static>,
    ) {
        let peer = self.peer(rank, location);
        if let Err(problem) = peer.check_mbarrier_of_copy(mbarrier) {
            self.mbarrier_fault(mbarrier, problem, location);
        }
        let published = self.release_to_cluster();
        let thread = self.threads.running_number();
        let operation = peer.start_remote_operation((self.cluster.rank, thread as u16), &published);
        self.visiting(peer, thread, || {
            peer.operation_on_shared(operation, (Op::Write, Proxy::Async), offset, data.len(), location);
            let written = offset..offset + data.len();
            peer.count_transfer(Space::Shared, Op::Write, std::iter::once(written), location);
        });
        peer.bulk_copies.borrow_mut().start_load(Load {
            operation,
            issuer: (self.cluster.rank, thread as u16),
            to: std::ptr::with_exposed_provenance_mut(peer.shared.host_address(offset)),
            data,
            adds: false,
            mbarrier,
            location,
        });
    }

    /// `barrier.cluster.arrive`.
    pub(crate) fn cluster_arrive(&self, location: &'static Location<'static>) {
        self.check_cluster(location);
        let published = self.release_to_cluster();
        let phase = {
            let barrier = &mut *self.first_peer().cluster.barrier.borrow_mut();
            barrier.current.merge(&published);
            barrier.phase
        };
        let thread = self.threads.running_number();
        let before = self.cluster.arrived.borrow_mut().insert(thread, phase);
        if before.is_some() {
            let problem = "a second arrival at the barrier of the cluster without a wait for the first".to_owned();
            self.cluster_fault(problem, location);
        }
        self.note_change();
    }

    /// `barrier.cluster.wait`.
    pub(crate) fn cluster_wait(&self, location: &'static Location<'static>) {
        self.check_watchdog();
        let thread = self.threads.running_number();
        let Some(phase) = self.cluster.arrived.borrow().get(&thread).copied() else {
            let problem = "a wait at the barrier of the cluster without an arrival".to_owned();
            self.cluster_fault(problem, location)
        };
        let barrier = &self.first_peer().cluster.barrier;
        while barrier.borrow().phase == phase {
            self.wait(Status::Cluster, location);
        }
        let barrier = barrier.borrow();
        self.analysis
            .borrow_mut()
            .sync
            .acquire(thread as u16, &barrier.complete);
        self.learn_of_visitors(thread as u16);
        self.cluster.arrived.borrow_mut().remove(&thread);
    }

    /// Completes the cluster's barrier if all threads that have not exited have arrived; returns whether it did.
    /// `contexts` are those of the cluster, this one the first.
    pub(super) fn open_cluster_barrier(&self, contexts: &[BlockContext]) -> bool {
        let arrived = |context: &BlockContext| !context.cluster.arrived.borrow().is_empty();
        if !contexts.iter().any(arrived) {
            return false;
        }
        let barrier = &mut *self.cluster.barrier.borrow_mut();
        let has_arrived = |context: &BlockContext| {
            let arrived = context.cluster.arrived.borrow();
            let mut threads = context.threads.iter().enumerate();
            threads.all(|(number, thread)| thread.is(Status::Exited) || arrived.get(&number) == Some(&barrier.phase))
        };
        if !contexts.iter().all(has_arrived) {
            return false;
        }
        barrier.phase += 1;
        barrier.complete = std::mem::take(&mut barrier.current);
        for thread in contexts.iter().flat_map(|context| context.threads.iter()) {
            if thread.is(Status::Cluster) {
                thread.status.set(Status::Ready);
            }
        }
        self.watchdog.reset();
        true
    }
}
