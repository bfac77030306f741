//! Clusters of blocks, for kernels on the host (PTX ISA, "Parallel Synchronization and Communication Instructions:
//! barrier.cluster", "Data Movement and Conversion Instructions: mapa"). [`Launch::cluster`](crate::Launch::cluster)
//! sets their extents; a single block is a cluster, too. Every function panics outside a launch.

use std::panic::Location;

use crate::engine;

/// `%cluster_nctarank`: the number of blocks in the cluster.
#[track_caller]
pub fn size() -> u32 {
    engine::current("the size of a cluster").cluster_size(Location::caller())
}

/// `%cluster_ctarank`: the block's rank in the cluster, from 0.
#[track_caller]
pub fn rank() -> u32 {
    engine::current("a rank in a cluster").cluster_rank(Location::caller())
}

/// `barrier.cluster.arrive` with release semantics.
#[track_caller]
pub fn arrive() {
    engine::current("barrier.cluster.arrive").cluster_arrive(Location::caller());
}

/// `barrier.cluster.wait` with acquire semantics.
#[track_caller]
pub fn wait() {
    engine::current("barrier.cluster.wait").cluster_wait(Location::caller());
}

/// `mapa`: the address in the block of rank `rank` that corresponds to `address` in this block's shared memory.
#[track_caller]
pub fn map_address(address: usize, rank: u32) -> u32 {
    engine::current("mapa").map_address(address, rank, Location::caller())
}

/// `mbarrier.arrive` at an mbarrier of another block, at an address from [`map_address`].
#[track_caller]
pub fn arrive_remote(address: u32) {
    engine::current("mbarrier.arrive").mbarrier_arrive_remote(address, Location::caller());
}
