//! Clusters of blocks, for kernels on the host (PTX ISA, "Parallel Synchronization and Communication Instructions:
//! barrier.cluster", "Data Movement and Conversion Instructions: mapa"). [`Launch::cluster`](crate::Launch::cluster)
//! says how many blocks have one; a block alone is a cluster, too. Every function panics outside a launch.

use std::panic::Location;

use crate::engine;

/// Blocks of the cluster.
#[track_caller]
pub fn size() -> u32 {
    engine::current("the size of a cluster").cluster_size(Location::caller())
}

/// The block's rank among them, from 0.
#[track_caller]
pub fn rank() -> u32 {
    engine::current("a rank in a cluster").cluster_rank(Location::caller())
}

/// Arrives at the barrier of the cluster, and releases what the thread has done.
#[track_caller]
pub fn arrive() {
    engine::current("barrier.cluster.arrive").cluster_arrive(Location::caller());
}

/// Waits until all threads of the cluster have arrived, and acquires what they have released.
#[track_caller]
pub fn wait() {
    engine::current("barrier.cluster.wait").cluster_wait(Location::caller());
}

/// The address of what lies at `address` in this block's shared memory, in that of the block of rank `rank`.
#[track_caller]
pub fn map_address(address: usize, rank: u32) -> u32 {
    engine::current("mapa").map_address(address, rank, Location::caller())
}

/// Arrives at an mbarrier of another block, whose address [`map_address`] has given.
#[track_caller]
pub fn arrive_remote(address: u32) {
    engine::current("mbarrier.arrive").mbarrier_arrive_remote(address, Location::caller());
}
