//! Clusters of blocks, for kernels on the host (PTX ISA, "Parallel Synchronization and Communication Instructions:
//! barrier.cluster", "Data Movement and Conversion Instructions: mapa"). [`Launch::cluster`](crate::Launch::cluster)
//! sets their extents; a single block is a cluster, too. Every function panics outside a launch.

use std::panic::Location;

use crate::analysis::Op;
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

/// `ld.shared::cluster`: loads `to.len()` bytes, 1 to 16 and a power of two, at an address from [`map_address`].
#[track_caller]
pub fn load(address: u32, to: &mut [u8]) {
    let context = engine::current("ld.shared::cluster");
    let from = context.remote_access(address, to.len(), Op::Read, Location::caller());
    // SAFETY: so many bytes of a running block's shared memory.
    unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len()) };
}

/// `st.shared::cluster`: stores bytes, 1 to 16 and a power of two, at an address from [`map_address`].
#[track_caller]
pub fn store(address: u32, from: &[u8]) {
    let context = engine::current("st.shared::cluster");
    let to = context.remote_access(address, from.len(), Op::Write, Location::caller());
    // SAFETY: so many bytes of a running block's shared memory.
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
}

/// `st.async`: starts a store of 4, 8 or 16 bytes that completes them on the mbarrier at `mbarrier`, in the same block.
/// Both addresses are from [`map_address`].
#[track_caller]
pub fn store_async(address: u32, from: &[u8], mbarrier: u32) {
    let context = engine::current("st.async");
    context.store_async(address, from.to_vec(), false, mbarrier, Location::caller());
}

/// `red.async.add.u32`: [`store_async`] that adds.
#[track_caller]
pub fn add_async(address: u32, value: u32, mbarrier: u32) {
    let context = engine::current("red.async");
    context.store_async(
        address,
        value.to_ne_bytes().to_vec(),
        true,
        mbarrier,
        Location::caller(),
    );
}
