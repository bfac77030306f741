//! Reads of memory that nobody has written.

use cuda_sim::GlobalBuffer;
use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};
use std::sync::atomic::Ordering::Relaxed;

use crate::pair::Suite::*;
use crate::pair::{Family, numbers, pair};

/// The guard of a tile's fill leaves out the zeros beyond the end.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn tail_without_zeros(from: *const u32, to: *mut u32, len: usize, wrong: bool) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 32], 32);
        if i < len {
            tile.set(t, Global::new(from, len).get(i));
        } else if !wrong {
            tile.set(t, 0);
        }
        thread::sync_threads();
        if t == 0 {
            let sum = (0..32).map(|k| tile.get(k)).sum(); // expect: tail_without_zeros UninitializedRead
            GlobalMut::new(to, 2).set(thread::block_idx_x() as usize, sum);
        }
    }
}

/// The first and the last element of a stencil's tile are nobody's.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn halo_without_zeros(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 34], 34);
        tile.set(t + 1, Global::new(from, 32).get(t));
        if !wrong && t == 0 {
            tile.set(0, 0);
            tile.set(33, 0);
        }
        thread::sync_threads();
        let left = tile.get(t); // expect: halo_without_zeros UninitializedRead
        GlobalMut::new(to, 32).set(t, left + tile.get(t + 1) + tile.get(t + 2));
    }
}

/// Bins that no thread has cleared.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn bins_without_zeros(values: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let bins = Shared::new(shared_array![u32; 4], 4);
        if !wrong && t < 4 {
            bins.set(t, 0);
        }
        thread::sync_threads();
        let bin = bins.as_mut_ptr().add(Global::new(values, 32).get(t) as usize % 4);
        atomic_fetch_add_u32_device(bin, Relaxed, 1); // expect: bins_without_zeros UninitializedRead
        thread::sync_threads();
        if t < 4 {
            GlobalMut::new(to, 4).set(t, bins.get(t));
        }
    }
}

/// Fewer threads clear the bins than there are bins.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn some_bins_cleared(to: *mut u32, wrong: bool) {
    let (t, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let bins = Shared::new(shared_array![u32; 64], 64);
        if wrong {
            bins.set(t, 0);
        } else {
            (t..64).step_by(threads).for_each(|bin| bins.set(bin, 0));
        }
        thread::sync_threads();
        let to = GlobalMut::new(to, 64);
        for bin in (t..64).step_by(threads) {
            to.set(bin, bins.get(bin)); // expect: some_bins_cleared UninitializedRead
        }
    }
}

/// A sum in global memory that starts from whatever is there.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn accumulated_output(from: *const u32, to: *mut u32, len: usize) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let to = GlobalMut::new(to, len);
        let before = to.get(i); // expect: accumulated_output UninitializedRead
        to.set(i, before + Global::new(from, len).get(i));
    }
}

/// An atomic sum in global memory that starts from whatever is there.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn accumulated_total(total: *mut u32) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { atomic_fetch_add_u32_device(total, Relaxed, 1) }; // expect: accumulated_total UninitializedRead
}

/// The first step reads the buffer that the second one writes.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn wrong_buffer_first(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let buffers = Shared::new(shared_array![u32; 64], 64);
        let mut current = usize::from(wrong);
        buffers.set(t, 1);
        for _ in 0..3 {
            thread::sync_threads();
            // expect: wrong_buffer_first UninitializedRead
            let value = buffers.get(32 * current + (t + 1) % 32);
            current ^= 1;
            buffers.set(32 * current + t, 2 * value);
        }
        GlobalMut::new(to, 32).set(t, buffers.get(32 * current + t));
    }
}

/// The column of padding that avoids bank conflicts.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn column_of_padding(to: *mut u32, wrong: bool) {
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 8 * 9], 8 * 9);
        tile.set(9 * y + x, x as u32);
        thread::sync_threads();
        let column = if wrong { 8 - x } else { 7 - x };
        let value = tile.get(9 * y + column); // expect: column_of_padding UninitializedRead
        GlobalMut::new(to, 64).set(8 * y + x, value);
    }
}

/// The second of two arrays in dynamic shared memory is read where it does not begin.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn wrong_offset(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let all = Shared::new(dynamic_shared_mem::<u32>(), 96);
        let (keys, values) = (all.part(0, 32), all.part(32, 32));
        keys.set(t, 31 - t as u32);
        values.set(t, t as u32);
        thread::sync_threads();
        let found = if wrong { all.part(64, 32) } else { values };
        let value = found.get(keys.get(t) as usize); // expect: wrong_offset UninitializedRead
        GlobalMut::new(to, 32).set(t, value);
    }
}

/// One partial sum a block is written, one a warp is read.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn partial_sums_of_others(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let sums = Shared::new(shared_array![u32; 32], 32);
        let warps = thread::block_dim_x() as usize / 32;
        if t.is_multiple_of(32) {
            sums.set(t / 32, 1);
        }
        thread::sync_threads();
        if t == 0 {
            let count = if wrong { 32 } else { warps };
            // expect: partial_sums_of_others UninitializedRead
            let sum = (0..count).map(|warp| sums.get(warp)).sum();
            GlobalMut::new(to, 1).set(0, sum);
        }
    }
}

/// Scratch memory that one branch does not fill.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn scratch_of_one_branch(from: *const u32, scratch: *mut u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let (value, scratch) = (Global::new(from, 32).get(t), GlobalMut::new(scratch, 32));
        if value % 2 == 0 {
            scratch.set(t, value / 2);
        } else if !wrong {
            scratch.set(t, 3 * value + 1);
        }
        let next = scratch.get(t); // expect: scratch_of_one_branch UninitializedRead
        GlobalMut::new(to, 32).set(t, next);
    }
}

/// A vector whose last element was never written.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn vector_of_three(to: *mut f32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let points = Shared::new(dynamic_shared_mem::<f32>(), 4 * 8);
        for axis in 0..if wrong { 3 } else { 4 } {
            points.set(4 * t + axis, axis as f32);
        }
        let [x, y, z, _] = points.get_vec::<4>(4 * t); // expect: vector_of_three UninitializedRead
        GlobalMut::new(to, 8).set(t, x + y + z);
    }
}

/// A block that finds no work writes no partial sum, and another one reads it in the next launch.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn blocks_without_work(from: *const u32, partial: *mut u32, len: usize, wrong: bool) {
    let first = 32 * thread::block_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let partial = GlobalMut::new(partial, thread::grid_dim_x() as usize);
        if wrong && first >= len {
            return;
        }
        let from = Global::new(from, len);
        let sum = (first..len.min(first + 32)).map(|i| from.get(i)).sum();
        partial.set(thread::block_idx_x() as usize, sum);
    }
}

/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn sum_of_partials(partial: *const u32, blocks: usize, to: *mut u32) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let partial = Global::new(partial, blocks);
        // expect: blocks_without_work UninitializedRead
        let sum = (0..blocks).map(|block| partial.get(block)).sum();
        GlobalMut::new(to, 1).set(0, sum);
    }
}

pub const FAMILY: Family = Family {
    name: "initialization",
    source: include_str!("initialization.rs"),
    pairs: &[
        pair("tail_without_zeros", Initcheck, |t| {
            let (from, to) = (numbers(40), GlobalBuffer::uninit(2));
            let report = t
                .launch(2, 32)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { tail_without_zeros(from.as_ptr(), to.as_mut_ptr(), 40, t.wrong) });
            t.checked(report, &to, [496, 284])
        }),
        pair("halo_without_zeros", Initcheck, |t| {
            let (from, to) = (GlobalBuffer::from_slice(&[1; 32]), GlobalBuffer::uninit(32));
            t.launch(1, 32)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { halo_without_zeros(from.as_ptr(), to.as_mut_ptr(), t.wrong) })
        }),
        pair("bins_without_zeros", Initcheck, |t| {
            let (values, to) = (numbers(32), GlobalBuffer::uninit(4));
            let report = t
                .launch(1, 32)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { bins_without_zeros(values.as_ptr(), to.as_mut_ptr(), t.wrong) });
            t.checked(report, &to, [8; 4])
        }),
        pair("some_bins_cleared", Indigo, |t| {
            let to = GlobalBuffer::uninit(64);
            let report = t
                .launch(1, 32)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { some_bins_cleared(to.as_mut_ptr(), t.wrong) });
            t.checked(report, &to, [0; 64])
        }),
        pair("accumulated_output", Initcheck, |t| {
            let from = numbers(64);
            let to = if t.wrong {
                GlobalBuffer::uninit(64)
            } else {
                GlobalBuffer::zeroed(64)
            };
            let report = t
                .launch(2, 32)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { accumulated_output(from.as_ptr(), to.as_mut_ptr(), 64) });
            t.checked(report, &to, 0..64)
        }),
        pair("accumulated_total", Initcheck, |t| {
            let total = if t.wrong {
                GlobalBuffer::uninit(1)
            } else {
                GlobalBuffer::zeroed(1)
            };
            // SAFETY: as the crate says of launches.
            let report = t.launch(2, 32).run(|| unsafe { accumulated_total(total.as_mut_ptr()) });
            t.checked(report, &total, [64])
        }),
        pair("wrong_buffer_first", Initcheck, |t| {
            let to = GlobalBuffer::uninit(32);
            let report = t
                .launch(1, 32)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { wrong_buffer_first(to.as_mut_ptr(), t.wrong) });
            t.checked(report, &to, [8; 32])
        }),
        pair("column_of_padding", Initcheck, |t| {
            let to = GlobalBuffer::uninit(64);
            let report = t
                .launch(1, (8, 8))
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { column_of_padding(to.as_mut_ptr(), t.wrong) });
            t.checked(report, &to, (0..64).map(|i| 7 - i % 8))
        }),
        pair("wrong_offset", Initcheck, |t| {
            let to = GlobalBuffer::uninit(32);
            let launch = t.launch(1, 32).dynamic_shared_bytes(4 * 96);
            // SAFETY: as the crate says of launches.
            let report = launch.run(|| unsafe { wrong_offset(to.as_mut_ptr(), t.wrong) });
            t.checked(report, &to, (0..32).rev())
        }),
        pair("partial_sums_of_others", Initcheck, |t| {
            let to = GlobalBuffer::uninit(1);
            let report = t
                .launch(1, 128)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { partial_sums_of_others(to.as_mut_ptr(), t.wrong) });
            t.checked(report, &to, [4])
        }),
        pair("scratch_of_one_branch", Indigo, |t| {
            let (from, scratch, to) = (numbers(32), GlobalBuffer::uninit(32), GlobalBuffer::uninit(32));
            // SAFETY: as the crate says of launches.
            let report = t.launch(1, 32).run(|| unsafe {
                scratch_of_one_branch(from.as_ptr(), scratch.as_mut_ptr(), to.as_mut_ptr(), t.wrong)
            });
            t.checked(report, &to, (0..32).map(|i| if i % 2 == 0 { i / 2 } else { 3 * i + 1 }))
        }),
        pair("vector_of_three", Initcheck, |t| {
            let to = GlobalBuffer::<f32>::uninit(8);
            let launch = t.launch(1, 8).dynamic_shared_bytes(4 * 32);
            // SAFETY: as the crate says of launches.
            launch.run(|| unsafe { vector_of_three(to.as_mut_ptr(), t.wrong) })
        }),
        pair("blocks_without_work", Initcheck, |t| {
            let (from, partial, to) = (numbers(40), GlobalBuffer::uninit(3), GlobalBuffer::uninit(1));
            t.launch(3, 1)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { blocks_without_work(from.as_ptr(), partial.as_mut_ptr(), 40, t.wrong) })
                .assert_clean();
            let report = t
                .launch(1, 1)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { sum_of_partials(partial.as_ptr(), 3, to.as_mut_ptr()) });
            t.checked(report, &to, [780])
        }),
    ],
};
