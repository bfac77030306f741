//! TMA loads and stores of boxes of a matrix (PTX ISA, "Data Movement and Conversion
//! Instructions: Bulk and Tensor copy"), for `sm_90` and later.
//!
//! One thread starts the load or store of a whole box. Coordinates are in elements, the column first, and may be
//! outside the matrix, also below 0: elements outside are loaded as 0, and not stored. The functions with `3d` in their
//! names copy boxes of one matrix of a batch, whose map has rank 3; the others take maps of rank 2.
//!
//! - [`load_2d`] completes on an mbarrier, with all the bytes of the box, those outside the matrix included: threads
//!   that wait for the phase see them.
//! - [`store_2d`] is waited for by its thread: [`commit`], then [`wait`] or [`wait_read`].
//!
//! TMA accesses shared memory through the async proxy. A thread that has written elements of a store executes
//! [`proxy_fence`] before the barrier after which another thread starts it. After reads a barrier is enough.

use bytemuck::Pod;
use cuda_views::Shared;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_views::bulk_copy;

#[cfg(target_arch = "nvptx64")]
use super::shared_address::shared_address;
use super::tensor_map::TensorMap;

/// Eviction priority of the L2 lines of a load: operands of `.L2::cache_hint`, as `createpolicy.fractional` makes them
/// for all of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum CacheHint {
    /// No preference.
    Normal = 0x1000_0000_0000_0000,
    /// Evicted first.
    EvictFirst = 0x12f0_0000_0000_0000,
    /// Evicted last.
    EvictLast = 0x14f0_0000_0000_0000,
}

/// The state space of a load into the own CTA. Of `shared::cluster`, which all PTX with TMA takes, ptxas makes for 12.x
/// a branch and a call, for the shared memory of other CTAs.
#[cfg(all(target_arch = "nvptx64", not(feature = "block_scaled")))]
macro_rules! destination {
    () => {
        "shared::cluster"
    };
}

/// The same of 12.x, for PTX 8.6 and later.
#[cfg(all(target_arch = "nvptx64", feature = "block_scaled"))]
macro_rules! destination {
    () => {
        "shared::cta"
    };
}

/// Starts a TMA load of the box at `coordinates` to element `to_index` of `to`:
/// `cp.async.bulk.tensor.2d.shared::cluster.global`. Barrier `barrier` of `barriers` counts its bytes as they arrive.
///
/// # Safety
/// - `map` is a reference to a kernel's parameter, or into constant or global memory, and the map is one of a matrix
///   that nobody writes until the phase is complete.
/// - The box is in `to`, at a multiple of 128 bytes; swizzled, its pattern is that of the addresses, which repeats
///   every 1,024 bytes. From here until the phase is complete no thread accesses it; earlier accesses by
///   other threads are ordered before this.
/// - The barrier is one, and the thread that has initialised it has executed `fence_init` since. Its phase waits for,
///   or will be told to expect, all bytes of the box.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_2d<T: Pod>(
    to: Shared<T>,
    to_index: u32,
    map: &TensorMap,
    coordinates: [i32; 2],
    (barriers, barrier): (Shared<u64>, u32),
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            concat!("cp.async.bulk.tensor.2d.", destination!(), ".global.tile.mbarrier::complete_tx::bytes"),
            "[{to}], [{map}, {{{x}, {y}}}], [{barrier}];",
            to = in(reg32) shared_address(to, to_index),
            map = in(reg64) core::ptr::from_ref(map),
            x = in(reg32) coordinates[0],
            y = in(reg32) coordinates[1],
            barrier = in(reg32) shared_address(barriers, barrier),
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's promise.
    unsafe {
        bulk_copy::load_2d(to, to_index, map.words(), coordinates, (barriers, barrier));
    }
}

/// [`load_2d`] with a hint for L2.
///
/// # Safety
/// As for [`load_2d`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_2d_hinted<T: Pod>(
    to: Shared<T>,
    to_index: u32,
    map: &TensorMap,
    coordinates: [i32; 2],
    (barriers, barrier): (Shared<u64>, u32),
    hint: CacheHint,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint",
            "[{to}], [{map}, {{{x}, {y}}}], [{barrier}], {hint};",
            to = in(reg32) shared_address(to, to_index),
            map = in(reg64) core::ptr::from_ref(map),
            x = in(reg32) coordinates[0],
            y = in(reg32) coordinates[1],
            barrier = in(reg32) shared_address(barriers, barrier),
            hint = in(reg64) hint as u64,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's promise.
    unsafe {
        // L2 does not change the result of a load.
        let _ = hint;
        bulk_copy::load_2d(to, to_index, map.words(), coordinates, (barriers, barrier));
    }
}

/// [`load_2d`] to all CTAs of the cluster whose ranks are bits of `ranks`: to the same offset in the shared memory of
/// each, whose own barrier counts its bytes: `.multicast::cluster`.
///
/// # Safety
/// As for [`load_2d`], in each of these CTAs, none of which has exited.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_2d_multicast<T: Pod>(
    to: Shared<T>,
    to_index: u32,
    map: &TensorMap,
    coordinates: [i32; 2],
    (barriers, barrier): (Shared<u64>, u32),
    ranks: u16,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster",
            "[{to}], [{map}, {{{x}, {y}}}], [{barrier}], {ranks};",
            to = in(reg32) shared_address(to, to_index),
            map = in(reg64) core::ptr::from_ref(map),
            x = in(reg32) coordinates[0],
            y = in(reg32) coordinates[1],
            barrier = in(reg32) shared_address(barriers, barrier),
            ranks = in(reg16) ranks,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's promise.
    unsafe {
        bulk_copy::load_2d_multicast(to, to_index, map.words(), coordinates, (barriers, barrier), ranks);
    }
}

/// [`load_2d`] of a box of one matrix of a batch, with a map of rank 3: `cp.async.bulk.tensor.3d`. The coordinates are
/// the column, the row and the matrix. Outside this matrix the box has zeros; if the batch has no such matrix, it has
/// nothing else.
///
/// # Safety
/// As for [`load_2d`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_3d<T: Pod>(
    to: Shared<T>,
    to_index: u32,
    map: &TensorMap,
    coordinates: [i32; 3],
    (barriers, barrier): (Shared<u64>, u32),
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
            "[{to}], [{map}, {{{x}, {y}, {z}}}], [{barrier}];",
            to = in(reg32) shared_address(to, to_index),
            map = in(reg64) core::ptr::from_ref(map),
            x = in(reg32) coordinates[0],
            y = in(reg32) coordinates[1],
            z = in(reg32) coordinates[2],
            barrier = in(reg32) shared_address(barriers, barrier),
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's promise.
    unsafe {
        bulk_copy::load_3d(to, to_index, map.words(), coordinates, (barriers, barrier));
    }
}

/// [`load_3d`] to all CTAs of the cluster whose ranks are bits of `ranks`, as [`load_2d_multicast`].
///
/// # Safety
/// As for [`load_2d_multicast`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_3d_multicast<T: Pod>(
    to: Shared<T>,
    to_index: u32,
    map: &TensorMap,
    coordinates: [i32; 3],
    (barriers, barrier): (Shared<u64>, u32),
    ranks: u16,
) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster",
            "[{to}], [{map}, {{{x}, {y}, {z}}}], [{barrier}], {ranks};",
            to = in(reg32) shared_address(to, to_index),
            map = in(reg64) core::ptr::from_ref(map),
            x = in(reg32) coordinates[0],
            y = in(reg32) coordinates[1],
            z = in(reg32) coordinates[2],
            barrier = in(reg32) shared_address(barriers, barrier),
            ranks = in(reg16) ranks,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's promise.
    unsafe {
        bulk_copy::load_3d_multicast(to, to_index, map.words(), coordinates, (barriers, barrier), ranks);
    }
}

/// Starts a TMA store of the box that starts at element `from_index` of `from` to `coordinates`:
/// `cp.async.bulk.tensor.2d.global.shared::cta`.
///
/// # Safety
/// - `map` is a reference to a kernel's parameter, or into constant or global memory, and the map is one of a matrix
///   that nobody accesses until the thread has waited. Its rows are multiples of 16 bytes: otherwise memory past the
///   end of a row, in its last 16 bytes, may be written, too.
/// - The box is in `from`, at a multiple of 128 bytes, swizzled as the addresses are, and nobody writes it until the
///   thread has waited. The threads that wrote it have executed [`proxy_fence`] since, and a barrier separates the two.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn store_2d<T: Pod>(map: &TensorMap, coordinates: [i32; 2], from: Shared<T>, from_index: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [{map}, {{{x}, {y}}}], [{from}];",
            map = in(reg64) core::ptr::from_ref(map),
            x = in(reg32) coordinates[0],
            y = in(reg32) coordinates[1],
            from = in(reg32) shared_address(from, from_index),
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's promise.
    unsafe {
        bulk_copy::store_2d(map.words(), coordinates, from, from_index);
    }
}

/// [`store_2d`] to one matrix of a batch, with a map of rank 3: `cp.async.bulk.tensor.3d`. The coordinates are the
/// column, the row and the matrix. Nothing is stored outside this matrix, nor if the batch has none such.
///
/// # Safety
/// As for [`store_2d`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn store_3d<T: Pod>(map: &TensorMap, coordinates: [i32; 3], from: Shared<T>, from_index: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [{map}, {{{x}, {y}, {z}}}], [{from}];",
            map = in(reg64) core::ptr::from_ref(map),
            x = in(reg32) coordinates[0],
            y = in(reg32) coordinates[1],
            z = in(reg32) coordinates[2],
            from = in(reg32) shared_address(from, from_index),
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's promise.
    unsafe {
        bulk_copy::store_3d(map.words(), coordinates, from, from_index);
    }
}

/// Makes one group of all stores that this thread has started since the last commit, or an empty one:
/// `cp.async.bulk.commit_group`.
#[inline(always)]
pub fn commit() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: stores that this thread has started keep what their starts promised.
    unsafe {
        core::arch::asm!("cp.async.bulk.commit_group;", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    bulk_copy::commit();
}

/// Waits until at most `PENDING` of the latest groups of this thread are pending: `cp.async.bulk.wait_group`. This
/// thread then sees what the others have written to global memory.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn wait<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: memory changes only where the starts of copies promised that nobody looks.
    unsafe {
        core::arch::asm!("cp.async.bulk.wait_group {};", const PENDING, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    bulk_copy::wait(PENDING, false);
}

/// Waits until all but at most `PENDING` of the latest groups of this thread have read shared memory, which may then be
/// written again: `cp.async.bulk.wait_group.read`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn wait_read<const PENDING: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: as in `wait`.
    unsafe {
        core::arch::asm!("cp.async.bulk.wait_group.read {};", const PENDING, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    bulk_copy::wait(PENDING, true);
}

/// Makes what this thread has written to shared memory visible to the async proxy, once a barrier has ordered the two:
/// `fence.proxy.async`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn proxy_fence() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a fence accesses nothing.
    unsafe {
        core::arch::asm!("fence.proxy.async.shared::cta;", options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    bulk_copy::proxy_fence();
}

/// Prefetches a tensor map into the descriptor cache: `prefetch.tensormap`.
#[inline(always)]
pub fn prefetch(map: &TensorMap) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: a prefetch of what the reference is valid for.
    unsafe {
        core::arch::asm!(
            "prefetch.tensormap [{}];",
            in(reg64) core::ptr::from_ref(map),
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    let _ = map;
}
