//! TMA loads and stores in the simulator: the host side of `cp.async.bulk.tensor`.

use bytemuck::Pod;
use cuda_sim::bulk_copy::{self, TensorBox};
use cuda_sim::tensor_map::TensorMapWords;

use crate::{Shared, mbarrier};

pub use cuda_sim::bulk_copy::{commit, proxy_fence, wait};
pub use cuda_sim::tensor_map;

fn tensor_box<T: Pod>(shared: Shared<T>, index: u32, map: &TensorMapWords, coordinates: [i32; 2]) -> TensorBox {
    TensorBox {
        map: *map,
        map_address: core::ptr::from_ref(map).addr(),
        coordinates,
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
            &tensor_box(to, to_index, map, coordinates),
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
    let tensor = tensor_box(to, to_index, map, coordinates);
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
    unsafe { bulk_copy::store(&tensor_box(from, from_index, map, coordinates)) };
}
