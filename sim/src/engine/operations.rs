//! What is under way in a block besides its threads: bulk copies, matrix products, and instructions that wait for their
//! warpgroup.

use std::collections::{HashMap, HashSet};
use std::panic::Location;

use crate::analysis::agents::Operation;
use crate::analysis::sync_vars::Publication;

use super::warpgroup::Request;

/// See the module.
#[derive(Default)]
pub(super) struct Operations {
    /// Copies into shared memory whose bytes have not arrived, in the order of their starts.
    pub(super) arriving: Vec<Arriving>,
    /// By thread, its copies out of shared memory.
    pub(super) stores: HashMap<u16, Groups<Store>>,
    /// By thread, its matrix products.
    pub(super) products: HashMap<u16, Groups<Operation>>,
    /// By thread, what it waits for its warpgroup with.
    pub(super) requests: HashMap<usize, Request>,
    /// Threads that have executed a `wgmma.fence`.
    pub(super) fenced: HashSet<u16>,
    /// The clusters that the kernel is made for, if they are others than the launch's.
    pub(super) other_cluster: Option<[u32; 3]>,
    /// By thread, the phase of the cluster's barrier that it has arrived at and not waited for.
    pub(super) arrived: HashMap<usize, u64>,
    /// The barrier of the cluster: that of its first block is used.
    pub(super) cluster: ClusterBarrier,
}

/// A barrier of the threads of a cluster.
#[derive(Default)]
pub(super) struct ClusterBarrier {
    /// The phase that is not complete.
    pub(super) phase: u64,
    /// What its arrivals have released.
    pub(super) current: Publication,
    /// What those of the last complete one had.
    pub(super) complete: Publication,
}

/// A bulk copy into shared memory.
pub(super) struct Arriving {
    pub(super) operation: Operation,
    /// The thread that has started it.
    pub(super) thread: usize,
    /// The first byte that it writes.
    pub(super) to: *mut u8,
    /// What it writes.
    pub(super) data: Vec<u8>,
    /// The offset of the mbarrier that it completes on.
    pub(super) mbarrier: usize,
    /// Where it was started.
    pub(super) site: &'static Location<'static>,
}

/// A bulk copy out of shared memory.
#[derive(Clone, Copy)]
pub(super) struct Store {
    /// Its reads of shared memory.
    pub(super) reads: Operation,
    /// Its writes of global memory.
    pub(super) writes: Operation,
}

/// A thread's operations of one kind, in groups that it waits for in the order of their commits.
pub(super) struct Groups<T> {
    open: Vec<T>,
    committed: Vec<Vec<T>>,
}

impl<T> Default for Groups<T> {
    fn default() -> Self {
        Self {
            open: Vec::new(),
            committed: Vec::new(),
        }
    }
}

impl<T: Copy> Groups<T> {
    /// The thread has started an operation.
    pub(super) fn start(&mut self, operation: T) {
        self.open.push(operation);
    }

    /// Makes a group of the operations that are in none, be there any or not.
    pub(super) fn commit(&mut self) {
        self.committed.push(std::mem::take(&mut self.open));
    }

    /// The operations of all groups but the latest `pending`.
    pub(super) fn covered(&self, pending: u32) -> Vec<T> {
        let covered = self.committed.len().saturating_sub(pending as usize);
        self.committed[..covered].concat()
    }

    /// Forgets all groups but the latest `pending`.
    pub(super) fn forget(&mut self, pending: u32) {
        let covered = self.committed.len().saturating_sub(pending as usize);
        self.committed.drain(..covered);
    }
}

impl Operations {
    /// Starts a block: what the last one has left under way is forgotten.
    pub(super) fn start_block(&mut self) {
        self.arriving.clear();
        self.stores.clear();
        self.products.clear();
        self.requests.clear();
        self.fenced.clear();
        self.other_cluster = None;
        self.arrived.clear();
        self.cluster = ClusterBarrier::default();
    }
}
