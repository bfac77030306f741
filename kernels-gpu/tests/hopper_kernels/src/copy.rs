//! A matrix, or one of a batch, box by box through shared memory.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::Shared;

use crate::ptx::tensor_map::{self, TensorMap};
use crate::ptx::{bulk_copy, mbarrier};

/// Boxes of 64 x 8 elements of 2 bytes.
#[repr(C, align(1024))]
#[derive(Clone, Copy)]
struct Box(#[allow(dead_code)] [u16; 512]);

/// Copies the box of each block.
///
/// # Safety
/// Blocks of 32 threads; both maps have boxes of 64 x 8 elements of 2 bytes.
#[kernel]
pub unsafe fn copy(#[grid_constant] from: &TensorMap, #[grid_constant] to: &TensorMap) {
    // SAFETY: see each step.
    unsafe {
        let tile = Shared::new(shared_array![Box; 1].cast::<u16>(), 512);
        let full = Shared::new(shared_array![u64; 1], 1);
        let at = [64 * thread::block_idx_x() as i32, 8 * thread::block_idx_y() as i32];
        if thread::thread_idx_x() == 0 {
            bulk_copy::prefetch(from);
            mbarrier::init(full, 0, 1);
            mbarrier::fence_init();
            mbarrier::expect_tx(full, 0, 512);
            mbarrier::arrive_expect_tx(full, 0, 512);
            bulk_copy::load_2d_hinted(tile, 0, from, at, (full, 0), bulk_copy::CacheHint::EvictFirst);
            // RAW: the tile is filled.
            mbarrier::wait(full, 0, 0);
            // What the copy has written the other one sees without it.
            bulk_copy::proxy_fence();
            bulk_copy::store_2d(to, at, tile, 0);
            bulk_copy::commit();
            bulk_copy::wait_read::<0>();
            bulk_copy::wait::<0>();
            mbarrier::invalidate(full, 0);
        }
    }
}

/// Gives `from` the matrix at `matrix`, and copies its first box.
///
/// # Safety
/// One block of 32 threads; `from` is in global memory, of a matrix of the same shape as the one at `matrix`; both maps
/// have boxes of 64 x 8 elements of 2 bytes.
#[kernel]
pub unsafe fn copy_replaced(from: *mut TensorMap, matrix: u64, #[grid_constant] to: &TensorMap) {
    // SAFETY: see each step.
    unsafe {
        let tile = Shared::new(shared_array![Box; 1].cast::<u16>(), 512);
        let full = Shared::new(shared_array![u64; 1], 1);
        let lane = thread::thread_idx_x();
        if lane == 0 {
            mbarrier::init(full, 0, 1);
            mbarrier::fence_init();
            // No copy uses the map yet.
            tensor_map::replace_address(from, matrix);
            tensor_map::fence_release();
        }
        // RAW: the map and the barrier.
        thread::sync_threads();
        if lane == 1 {
            tensor_map::fence_acquire(from);
            mbarrier::arrive_expect_tx(full, 0, 1024);
            bulk_copy::load_2d(tile, 0, &*from, [0, 0], (full, 0));
            // RAW: the tile is filled.
            mbarrier::wait(full, 0, 0);
            bulk_copy::store_2d(to, [0, 0], tile, 0);
            bulk_copy::commit();
            bulk_copy::wait::<0>();
        }
    }
}

/// Copies the box of each block, of matrix `plane` of a batch to the same one of another.
///
/// # Safety
/// Blocks of 32 threads; both maps are of rank 3 and have boxes of 64 x 8 elements of 2 bytes.
#[kernel]
pub unsafe fn copy_plane(#[grid_constant] from: &TensorMap, #[grid_constant] to: &TensorMap, plane: u32) {
    // SAFETY: see each step.
    unsafe {
        let tile = Shared::new(shared_array![Box; 1].cast::<u16>(), 512);
        let full = Shared::new(shared_array![u64; 1], 1);
        let (x, y) = (thread::block_idx_x(), thread::block_idx_y());
        let at = [64 * x as i32, 8 * y as i32, plane as i32];
        if thread::thread_idx_x() == 0 {
            mbarrier::init(full, 0, 1);
            mbarrier::fence_init();
            // All of the box arrives, also where it is outside the matrix.
            mbarrier::arrive_expect_tx(full, 0, 1024);
            bulk_copy::load_3d(tile, 0, from, at, (full, 0));
            // RAW: the tile is filled.
            mbarrier::wait(full, 0, 0);
            bulk_copy::store_3d(to, at, tile, 0);
            bulk_copy::commit();
            bulk_copy::wait::<0>();
        }
    }
}
