//! TMA loads and stores in the simulator: the host side of `cp.async.bulk.tensor` and `cp.async.bulk`.

use bytemuck::Pod;
use cuda_sim::bulk_copy::{self, Bytes, TensorBox};
use cuda_sim::tensor_map::TensorMapWords;

use crate::{Global, GlobalMut, Shared, mbarrier};

pub use cuda_sim::bulk_copy::{
    commit, proxy_fence, tensormap_acquire, tensormap_release, tensormap_replace_address, wait,
};
pub use cuda_sim::tensor_map;

fn tensor_box<T: Pod>(
    shared: Shared<T>,
    index: u32,
    map: &TensorMapWords,
    coordinates: [i32; 2],
    plane: Option<i32>,
) -> TensorBox {
    TensorBox {
        map: *map,
        map_address: core::ptr::from_ref(map).addr(),
        coordinates,
        plane,
        shared: shared.as_mut_ptr().wrapping_add(index as usize).cast(),
        shared_part: shared.0.addresses(),
    }
}

/// TMA load of the box at `coordinates` (along a row, then the row) to element `to_index` of `to`. It completes the
/// box's bytes on mbarrier `barrier` of `barriers`.
///
/// # Safety
/// As for [every access](crate#safety-of-accesses): a read of the matrix and a write of the box until the phase is
/// complete.
#[track_caller]
pub unsafe fn load_2d<T: Pod>(
    to: Shared<T>,
    to_index: u32,
    map: &TensorMapWords,
    coordinates: [i32; 2],
    (barriers, barrier): (Shared<u64>, u32),
) {
    // SAFETY: the caller's promise.
    unsafe {
        bulk_copy::load(
            &tensor_box(to, to_index, map, coordinates, None),
            &mbarrier::at(barriers, barrier),
        )
    };
}

/// [`load_2d`] with multicast to all blocks of the cluster whose ranks are bits of `ranks`, on the mbarriers of each.
///
/// # Safety
/// As for [`load_2d`], in each of them.
#[track_caller]
pub unsafe fn load_2d_multicast<T: Pod>(
    to: Shared<T>,
    to_index: u32,
    map: &TensorMapWords,
    coordinates: [i32; 2],
    (barriers, barrier): (Shared<u64>, u32),
    ranks: u16,
) {
    let tensor = tensor_box(to, to_index, map, coordinates, None);
    // SAFETY: the caller's promise.
    unsafe { bulk_copy::load_multicast(&tensor, &mbarrier::at(barriers, barrier), ranks) };
}

/// [`load_2d`] of a box of one matrix of a batch, with a map of rank 3: coordinates along a row, the row, the matrix.
///
/// # Safety
/// As for [`load_2d`].
#[track_caller]
pub unsafe fn load_3d<T: Pod>(
    to: Shared<T>,
    to_index: u32,
    map: &TensorMapWords,
    [x, y, plane]: [i32; 3],
    (barriers, barrier): (Shared<u64>, u32),
) {
    let tensor = tensor_box(to, to_index, map, [x, y], Some(plane));
    // SAFETY: the caller's promise.
    unsafe { bulk_copy::load(&tensor, &mbarrier::at(barriers, barrier)) };
}

/// [`load_3d`] with multicast, as [`load_2d_multicast`].
///
/// # Safety
/// As for [`load_2d_multicast`].
#[track_caller]
pub unsafe fn load_3d_multicast<T: Pod>(
    to: Shared<T>,
    to_index: u32,
    map: &TensorMapWords,
    [x, y, plane]: [i32; 3],
    (barriers, barrier): (Shared<u64>, u32),
    ranks: u16,
) {
    let tensor = tensor_box(to, to_index, map, [x, y], Some(plane));
    // SAFETY: the caller's promise.
    unsafe { bulk_copy::load_multicast(&tensor, &mbarrier::at(barriers, barrier), ranks) };
}

/// TMA store of the box that starts at element `from_index` of `from` to `coordinates`.
///
/// # Safety
/// As for [every access](crate#safety-of-accesses): a read of the box and a write of the matrix until the thread has
/// waited.
#[track_caller]
pub unsafe fn store_2d<T: Pod>(map: &TensorMapWords, coordinates: [i32; 2], from: Shared<T>, from_index: u32) {
    // SAFETY: the caller's promise.
    unsafe { bulk_copy::store(&tensor_box(from, from_index, map, coordinates, None)) };
}

/// [`store_2d`] to one matrix of a batch, with a map of rank 3: coordinates along a row, the row, the matrix.
///
/// # Safety
/// As for [`store_2d`].
#[track_caller]
pub unsafe fn store_3d<T: Pod>(map: &TensorMapWords, [x, y, plane]: [i32; 3], from: Shared<T>, from_index: u32) {
    // SAFETY: the caller's promise.
    unsafe { bulk_copy::store(&tensor_box(from, from_index, map, [x, y], Some(plane))) };
}

/// Element `index` of a view as an end of a copy.
fn bytes_at<T: Pod>(ptr: *mut T, index: u32, part: core::ops::Range<usize>) -> Bytes {
    let ptr = ptr.wrapping_add(index as usize).cast();
    Bytes { ptr, part }
}

/// Bulk copy of `len` elements from element `from_index` of `from` to element `to_index` of `to`. It completes their
/// bytes on mbarrier `barrier` of `barriers`.
///
/// # Safety
/// As for [every access](crate#safety-of-accesses), until the phase is complete; the size and both addresses are
/// multiples of 16 bytes.
#[track_caller]
pub unsafe fn load<T: Pod>(
    (to, to_index): (Shared<T>, u32),
    (from, from_index): (Global<T>, u32),
    len: usize,
    (barriers, barrier): (Shared<u64>, u32),
) {
    let to = bytes_at(to.as_mut_ptr(), to_index, to.0.addresses());
    let from = bytes_at(from.as_ptr().cast_mut(), from_index, from.0.addresses());
    // SAFETY: the caller's promise.
    unsafe { bulk_copy::load_bytes(&to, &from, len * size_of::<T>(), &mbarrier::at(barriers, barrier)) };
}

/// Bulk copy of `len` elements from element `from_index` of `from` to element `to_index` of `to`, in the thread's open
/// group.
///
/// # Safety
/// As for [every access](crate#safety-of-accesses), until the thread has waited; the size and both addresses are
/// multiples of 16 bytes.
#[track_caller]
pub unsafe fn store<T: Pod>((to, to_index): (GlobalMut<T>, u32), (from, from_index): (Shared<T>, u32), len: usize) {
    let to = bytes_at(to.as_mut_ptr(), to_index, to.0.addresses());
    let from = bytes_at(from.as_mut_ptr(), from_index, from.0.addresses());
    // SAFETY: the caller's promise.
    unsafe { bulk_copy::store_bytes(&to, &from, len * size_of::<T>()) };
}

/// Bulk copy of `len` elements from element `from_index` of `from` to the address `to` in a block of the cluster
/// ([`map`](crate::cluster::map)). It completes their bytes on the mbarrier at the address `barrier` there.
#[track_caller]
pub fn copy_to_cluster<T: Pod>(to: u32, (from, from_index): (Shared<T>, u32), len: usize, barrier: u32) {
    let from = bytes_at(from.as_mut_ptr(), from_index, from.0.addresses());
    bulk_copy::copy_to_cluster(to, &from, len * size_of::<T>(), barrier);
}
