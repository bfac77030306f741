//! One block of a cluster copies rows to both.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{GlobalMut, Shared};

use crate::ptx::tensor_map::TensorMap;
use crate::ptx::{bulk_copy, cluster, mbarrier};

/// A row of 64 numbers, aligned as a bulk copy wants it.
#[repr(C, align(128))]
#[derive(Clone, Copy)]
struct Row(#[allow(dead_code)] [f32; 64]);

/// Each of two blocks of 64 threads writes all rows of a matrix to its half of `to`.
///
/// # Safety
/// Two blocks of 64 threads; the map has boxes of 64 x 1 numbers, `to` twice as many rows as the matrix.
#[kernel(cluster = 2)]
pub unsafe fn broadcast(#[grid_constant] map: &TensorMap, to: *mut f32, rows: u32) {
    // SAFETY: see each step.
    unsafe {
        let row = Shared::new(shared_array![Row; 1].cast::<f32>(), 64);
        let full = Shared::new(shared_array![u64; 1], 1);
        let empty = Shared::new(shared_array![u64; 1], 1);
        let (t, rank) = (thread::thread_idx_x(), cluster::rank());
        if t == 0 {
            mbarrier::init(full, 0, 1);
            mbarrier::init(empty, 0, 64 * cluster::size());
            mbarrier::fence_init();
        }
        // RAW: the barriers of both blocks are there.
        cluster::arrive();
        cluster::wait();
        let to = GlobalMut::new(to, (128 * rows) as usize);
        for y in 0..rows {
            if t == 0 {
                mbarrier::arrive_expect_tx(full, 0, 256);
                if rank == 0 {
                    // WAR: the row is drained, in both blocks.
                    cluster::wait_for(empty, 0, (y & 1) ^ 1);
                    bulk_copy::load_2d_multicast(row, 0, map, [0, y as i32], (full, 0), 0b11);
                }
            }
            // RAW: the row is filled.
            mbarrier::wait(full, 0, y & 1);
            to.set((64 * (rank * rows + y) + t) as usize, row.get(t as usize));
            cluster::arrive_at(cluster::map(empty, 0, 0));
        }
        // Nobody ends while the other one still arrives at its barrier.
        cluster::arrive();
        cluster::wait();
    }
}

/// Each of two blocks of 64 threads writes the first row of matrix `plane` of a batch to its row of `to`.
///
/// # Safety
/// Two blocks of 64 threads; the map is of rank 3 and has boxes of 64 x 1 numbers, `to` two rows of 64.
#[kernel(cluster = 2)]
pub unsafe fn broadcast_plane(#[grid_constant] map: &TensorMap, to: *mut f32, plane: u32) {
    // SAFETY: see each step.
    unsafe {
        let row = Shared::new(shared_array![Row; 1].cast::<f32>(), 64);
        let full = Shared::new(shared_array![u64; 1], 1);
        let (t, rank) = (thread::thread_idx_x(), cluster::rank());
        if t == 0 {
            mbarrier::init(full, 0, 1);
            mbarrier::fence_init();
            mbarrier::arrive_expect_tx(full, 0, 256);
        }
        // RAW: the barriers of both blocks are there.
        cluster::arrive();
        cluster::wait();
        if t == 0 && rank == 0 {
            bulk_copy::load_3d_multicast(row, 0, map, [0, 0, plane as i32], (full, 0), 0b11);
        }
        // RAW: the row is filled.
        mbarrier::wait(full, 0, 0);
        GlobalMut::new(to, 128).set((64 * rank + t) as usize, row.get(t as usize));
    }
}
