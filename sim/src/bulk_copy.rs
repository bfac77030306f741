//! Bulk copies between global and shared memory by the Tensor Memory Accelerator (TMA), of boxes or plain bytes, for
//! kernels on the host (PTX ISA, "Data Movement and Conversion Instructions: Bulk and Tensor copy"). Every function
//! panics outside a launch.

use std::ops::Range;
use std::panic::Location;

use crate::engine;
use crate::synchronization::SyncKind;
use crate::tensor_map::TensorMapWords;

pub use crate::engine::MbarrierAccess;

/// A box of a matrix, or of one matrix of a batch, and its address in shared memory.
#[derive(Clone, Debug)]
pub struct TensorBox {
    /// The tensor map: [`TensorMapParts::encode_simulated`](crate::tensor_map::TensorMapParts::encode_simulated).
    pub map: TensorMapWords,
    /// The address that it was read from. In a buffer of the simulator the map must not change until the copy is over.
    pub map_address: usize,
    /// The first element of the box in its row, and the first row. Elements outside the matrix are zeros when loaded,
    /// and not stored.
    pub coordinates: [i32; 2],
    /// The matrix, for an instruction of rank 3, whose map has this rank, too; `None` for rank 2. Outside the batch
    /// every element is outside.
    pub plane: Option<i32>,
    /// The first byte in shared memory.
    pub shared: *mut u8,
    /// The addresses that the view of shared memory covers.
    pub shared_part: Range<usize>,
}

/// TMA load: starts a copy into shared memory that completes the box's bytes on an mbarrier.
///
/// # Safety
/// Without the simulator's checks: the matrix may be read, and the box written, until the phase is complete.
#[track_caller]
pub unsafe fn load(tensor: &TensorBox, mbarrier: &MbarrierAccess) {
    // SAFETY: the caller's promise.
    unsafe { engine::current("a bulk copy").bulk_load(tensor, mbarrier, None, Location::caller()) };
}

/// TMA load with multicast: [`load`] to all blocks of the cluster whose ranks are bits of `ranks`, at the same offsets
/// of shared memory and mbarrier.
///
/// # Safety
/// As for [`load`], in each of them.
#[track_caller]
pub unsafe fn load_multicast(tensor: &TensorBox, mbarrier: &MbarrierAccess, ranks: u16) {
    // SAFETY: the caller's promise.
    unsafe { engine::current("a bulk copy").bulk_load(tensor, mbarrier, Some(ranks), Location::caller()) };
}

/// TMA store: starts a copy out of shared memory in the thread's open group.
///
/// # Safety
/// Without the simulator's checks: the matrix may be written, and the box read, until the thread has waited.
#[track_caller]
pub unsafe fn store(tensor: &TensorBox) {
    // SAFETY: the caller's promise.
    unsafe { engine::current("a bulk copy").bulk_store(tensor, Location::caller()) };
}

/// One end of a bulk copy of plain bytes: a multiple of 16 of them, at a multiple of 16.
#[derive(Clone, Debug)]
pub struct Bytes {
    /// The first byte.
    pub ptr: *mut u8,
    /// The addresses that the view covers.
    pub part: Range<usize>,
}

/// `cp.async.bulk.shared::cluster.global`: starts a copy of `bytes` bytes into the block's shared memory that completes
/// them on an mbarrier.
///
/// # Safety
/// Without the simulator's checks: both ends are valid for the copy until the phase is complete.
#[track_caller]
pub unsafe fn load_bytes(to: &Bytes, from: &Bytes, bytes: usize, mbarrier: &MbarrierAccess) {
    // SAFETY: the caller's promise.
    unsafe { engine::current("a bulk copy").bulk_load_bytes(to, from, bytes, mbarrier, Location::caller()) };
}

/// `cp.async.bulk.global.shared::cta`: starts a copy of `bytes` bytes out of shared memory in the thread's open group.
///
/// # Safety
/// Without the simulator's checks: both ends are valid for the copy until the thread has waited.
#[track_caller]
pub unsafe fn store_bytes(to: &Bytes, from: &Bytes, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { engine::current("a bulk copy").bulk_store_bytes(to, from, bytes, Location::caller()) };
}

/// `cp.async.bulk.shared::cluster.shared::cta`: starts a copy of `bytes` bytes to the address `to` in a block of the
/// cluster ([`map_address`](crate::cluster::map_address)) that completes them on the mbarrier at `mbarrier` there.
#[track_caller]
pub fn copy_to_cluster(to: u32, from: &Bytes, bytes: usize, mbarrier: u32) {
    engine::current("a bulk copy").bulk_copy_to_cluster(to, from, bytes, mbarrier, Location::caller());
}

/// `cp.async.bulk.commit_group`: commits the thread's open group of stores.
pub fn commit() {
    engine::current("a commit of bulk copies").bulk_commit();
}

/// `cp.async.bulk.wait_group`: waits for all of the thread's groups but the latest `pending`, until they have read
/// shared memory and, unless `only_reads`, written global memory.
#[track_caller]
pub fn wait(pending: u32, only_reads: bool) {
    if let Some(context) = engine::synchronizing("a wait for bulk copies", SyncKind::BulkWait, Location::caller()) {
        context.bulk_wait(pending, only_reads);
    }
}

/// `tensormap.replace.tile.global_address`: gives a tensor map in global memory another matrix of the same shape, at
/// the address `matrix`.
///
/// # Safety
/// Without the simulator's checks: `map` is valid for reads and writes.
#[track_caller]
pub unsafe fn tensormap_replace_address(map: *mut TensorMapWords, matrix: u64) {
    // SAFETY: the caller's promise.
    unsafe { engine::current("tensormap.replace").tensormap_replace_address(map, matrix, Location::caller()) };
}

/// `fence.proxy.tensormap::generic.release`: makes the thread's changes of tensor maps visible to bulk copies that
/// [acquire](tensormap_acquire) them.
#[track_caller]
pub fn tensormap_release() {
    let kind = SyncKind::TensorMapFence;
    if let Some(context) = engine::synchronizing("fence.proxy.tensormap", kind, Location::caller()) {
        context.tensormap_release();
    }
}

/// `fence.proxy.tensormap::generic.acquire`: the block's later bulk copies see the tensor map as threads have
/// [released](tensormap_release) it.
#[track_caller]
pub fn tensormap_acquire(map: *const TensorMapWords) {
    let kind = SyncKind::TensorMapFence;
    if let Some(context) = engine::synchronizing("fence.proxy.tensormap", kind, Location::caller()) {
        context.tensormap_acquire(map.addr());
    }
}

/// `fence.proxy.async`: makes the thread's writes to shared memory visible to the async proxy, that is, to bulk copies
/// and `wgmma`.
#[track_caller]
pub fn proxy_fence() {
    if let Some(context) = engine::synchronizing("a proxy fence", SyncKind::ProxyFence, Location::caller()) {
        context.proxy_fence();
    }
}
