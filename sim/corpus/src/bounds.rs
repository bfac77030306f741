//! Accesses outside of memory, misaligned accesses, and launches with too little of it.

use cuda_sim::GlobalBuffer;
use cuda_std::atomic::mid::atomic_fetch_add_u32_block;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};
use std::sync::atomic::Ordering::Relaxed;

use crate::pair::Suite::*;
use crate::pair::{Family, numbers, pair};

/// The grid has more threads than there are elements.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn missing_guard(data: *mut u32, len: usize, wrong: bool) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let data = GlobalMut::new(data, len);
        if wrong || i < len {
            data.set(i, i as u32); // expect: missing_guard OutOfBounds
        }
    }
}

/// The guard admits one element too many.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn guard_off_by_one(from: *const u32, to: *mut u32, len: usize, wrong: bool) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let (from, to) = (Global::new(from, len), GlobalMut::new(to, len));
        if i < len + usize::from(wrong) {
            let value = from.get(i); // expect: guard_off_by_one OutOfBounds
            to.set(i, value);
        }
    }
}

/// The left neighbour of the first element.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn index_below_zero(from: *const u32, to: *mut u32, len: usize, wrong: bool) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let (from, to) = (Global::new(from, len), GlobalMut::new(to, len));
        let mut sum = from.get(i);
        if wrong || i > 0 {
            sum += from.get(i.wrapping_sub(1)); // expect: index_below_zero OutOfBounds
        }
        to.set(i, sum);
    }
}

/// The last vector of four reaches over the end.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn vector_tail(from: *const u32, to: *mut u32, len: usize, wrong: bool) {
    let first = 4 * thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let (from, to) = (Global::new(from, len), GlobalMut::new(to, len));
        if first + 4 <= len || wrong && first < len {
            let four = from.get_vec::<4>(first); // expect: vector_tail OutOfBounds
            to.set_vec(first, four);
        } else {
            for i in first..len {
                to.set(i, from.get(i));
            }
        }
    }
}

/// A length in bytes where elements are counted.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn bytes_for_elements(data: *mut u32, bytes: usize, wrong: bool) {
    let stride = (thread::block_dim_x() * thread::grid_dim_x()) as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let data = GlobalMut::new(data, bytes / 4);
        let end = if wrong { bytes } else { bytes / 4 };
        for i in (thread::index_1d() as usize..end).step_by(stride) {
            data.set(i, 1); // expect: bytes_for_elements OutOfBounds
        }
    }
}

/// Rows and columns of a matrix that is not square are exchanged.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn exchanged_extents(data: *mut u32, rows: usize, columns: usize, wrong: bool) {
    let (row, column) = (thread::index_2d().y as usize, thread::index_2d().x as usize);
    let (rows_seen, columns_seen) = if wrong { (columns, rows) } else { (rows, columns) };
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let data = GlobalMut::new(data, rows * columns);
        if row < rows_seen && column < columns_seen {
            data.set(row * columns + column, 1); // expect: exchanged_extents OutOfBounds
        }
    }
}

/// The padding between the rows of a matrix.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn padding_of_rows(data: *mut f32, rows: usize, columns: usize, ld: usize, wrong: bool) {
    let row = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let data = GlobalMut::new(data, (rows - 1) * ld + columns);
        for column in 0..if wrong { ld } else { columns } {
            data.set(row * ld + column, 0.0); // expect: padding_of_rows OutOfBounds
        }
    }
}

/// An index that comes from data.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn gather(indices: *const u32, from: *const u32, to: *mut u32, len: usize, wrong: bool) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let (indices, from) = (Global::new(indices, len), Global::new(from, len));
        let index = indices.get(i) as usize;
        let value = if wrong || index < len {
            from.get(index) // expect: gather OutOfBounds
        } else {
            0
        };
        GlobalMut::new(to, len).set(i, value);
    }
}

/// The row offsets of a sparse matrix have one element more than it has rows.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn row_offsets(offsets: *const u32, rows: usize, lengths: *mut u32, wrong: bool) {
    let row = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let offsets = Global::new(offsets, if wrong { rows } else { rows + 1 });
        let length = offsets.get(row + 1) - offsets.get(row); // expect: row_offsets OutOfBounds
        GlobalMut::new(lengths, rows).set(row, length);
    }
}

/// A tile without room for its halo.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn halo_outside_tile(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 66], if wrong { 64 } else { 66 });
        tile.set(t + 1, 1);
        if t == 0 {
            tile.set(0, 0);
            tile.set(65, 0); // expect: halo_outside_tile OutOfBounds
        }
        thread::sync_threads();
        GlobalMut::new(to, 64).set(t, tile.get(t) + tile.get(t + 2));
    }
}

/// A value of the data that no bin of a histogram is for.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn bin_outside(values: *const u32, len: usize, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let bins = Shared::new(shared_array![u32; 8], 8);
        if t < 8 {
            bins.set(t, 0);
        }
        thread::sync_threads();
        let value = Global::new(values, len).get(t) as usize;
        let bin = if wrong { value } else { value.min(7) };
        atomic_fetch_add_u32_block(bins.as_mut_ptr().add(bin), Relaxed, 1); // expect: bin_outside OutOfBounds
        thread::sync_threads();
        if t < 8 {
            GlobalMut::new(to, 8).set(t, bins.get(t));
        }
    }
}

/// An atomic beside a buffer.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn counter_outside(counters: *mut u32, len: usize, wrong: bool) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if wrong || i < len {
            // expect without line: counter_outside RedZone
            atomic_fetch_add_u32_block(counters.add(i), Relaxed, 1);
        }
    }
}

/// A kernel whose second array begins where the launch's memory ends.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn two_dynamic_arrays(to: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let first = Shared::new(dynamic_shared_mem::<u32>(), 32);
        let second = Shared::new(dynamic_shared_mem::<u32>().add(32), 32);
        first.set(t, 1);
        second.set(t, 2); // expect: dynamic_memory_too_small DynamicSharedTooSmall
        GlobalMut::new(to, 32).set(t, first.get(t) + second.get(t));
    }
}

/// Two static arrays that together pass 48 KiB.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn static_limit(to: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 8192], 8192);
        tile.set(0, 1);
        if wrong {
            Shared::new(shared_array![u32; 8192], 8192).set(0, 1); // expect: static_limit SharedLimit
        }
        GlobalMut::new(to, 1).set(0, tile.get(0));
    }
}

/// A bare pointer past the end of its buffer.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn bare_pointer(data: *mut u32, len: usize, wrong: bool) {
    let i = thread::index_1d() as usize;
    if wrong || i < len {
        // SAFETY: with the mistake 28 elements past the end, which the buffer's red zone holds.
        unsafe { data.add(i).write(1) }; // expect without line: bare_pointer RedZone
    }
}

/// A bare pointer past the end of its static array.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn bare_shared_pointer(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = shared_array![u32; 30]; // expect: bare_shared_pointer Overrun
        if wrong || t < 30 {
            tile.add(t).write(1);
        }
        thread::sync_threads();
        GlobalMut::new(to, 32).set(t, 1);
    }
}

/// A slice's own check.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn index_of_slice(weights: &[u32], to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    let weight = weights[if wrong { t } else { t % weights.len() }]; // expect: index_of_slice Panic
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 8).set(t, weight) };
}

/// A part of a view ends where the view does.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn part_of_view(from: *const u32, to: *mut u32, len: usize, wrong: bool) {
    let (t, block) = (thread::thread_idx_x() as usize, thread::block_idx_x() as usize);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let part = Global::new(from, len).part(32 * block, 32);
        if wrong || 32 * block + t < len {
            GlobalMut::new(to, len).set(32 * block + t, part.get(t)); // expect: part_of_view OutOfBounds
        }
    }
}

/// A stride too far: each thread's own range begins one element late.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn chunk_too_far(data: *mut u32, len: usize, wrong: bool) {
    let (i, threads) = (thread::index_1d() as usize, thread::block_dim_x() as usize);
    let chunk = len / threads;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let data = GlobalMut::new(data, len);
        let start = i * chunk + usize::from(wrong);
        for at in start..start + chunk {
            data.set(at, 3); // expect: chunk_too_far OutOfBounds
        }
    }
}

pub const FAMILY: Family = Family {
    name: "bounds",
    source: include_str!("bounds.rs"),
    pairs: &[
        pair("missing_guard", Memcheck, |t| {
            let data = GlobalBuffer::uninit(100);
            let report = t
                .launch(2, 64)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { missing_guard(data.as_mut_ptr(), 100, t.wrong) });
            t.checked(report, &data, 0..100)
        }),
        pair("guard_off_by_one", Indigo, |t| {
            let (from, to) = (numbers(100), GlobalBuffer::uninit(100));
            let report = t
                .launch(2, 64)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { guard_off_by_one(from.as_ptr(), to.as_mut_ptr(), 100, t.wrong) });
            t.checked(report, &to, 0..100)
        }),
        pair("index_below_zero", DataRaceBench, |t| {
            let (from, to) = (numbers(64), GlobalBuffer::uninit(64));
            let report = t
                .launch(2, 32)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { index_below_zero(from.as_ptr(), to.as_mut_ptr(), 64, t.wrong) });
            t.checked(report, &to, (0..64).map(|i| (2 * i as u32).saturating_sub(1)))
        }),
        pair("vector_tail", Memcheck, |t| {
            let (from, to) = (numbers(30), GlobalBuffer::uninit(30));
            let report = t
                .launch(1, 32)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { vector_tail(from.as_ptr(), to.as_mut_ptr(), 30, t.wrong) });
            t.checked(report, &to, 0..30)
        }),
        pair("bytes_for_elements", Memcheck, |t| {
            let data = GlobalBuffer::uninit(96);
            let report = t
                .launch(2, 32)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { bytes_for_elements(data.as_mut_ptr(), 4 * 96, t.wrong) });
            t.checked(report, &data, [1; 96])
        }),
        pair("exchanged_extents", Indigo, |t| {
            let data = GlobalBuffer::uninit(8 * 20);
            let report = t
                .launch((3, 3), (8, 8))
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { exchanged_extents(data.as_mut_ptr(), 8, 20, t.wrong) });
            t.checked(report, &data, [1; 160])
        }),
        pair("padding_of_rows", Memcheck, |t| {
            let data = GlobalBuffer::matrix_uninit(4, 6, 8);
            t.launch(1, 4)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { padding_of_rows(data.as_mut_ptr(), 4, 6, 8, t.wrong) })
        }),
        pair("gather", Indigo, |t| {
            let (indices, from) = (GlobalBuffer::from_slice(&[3, 0, 9, 1]), numbers(4));
            let to = GlobalBuffer::uninit(4);
            let report = t
                .launch(1, 4)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { gather(indices.as_ptr(), from.as_ptr(), to.as_mut_ptr(), 4, t.wrong) });
            t.checked(report, &to, [3, 0, 0, 1])
        }),
        pair("row_offsets", Indigo, |t| {
            let (offsets, lengths) = (GlobalBuffer::from_slice(&[0, 2, 2, 5, 9]), GlobalBuffer::uninit(4));
            let report = t
                .launch(1, 4)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { row_offsets(offsets.as_ptr(), 4, lengths.as_mut_ptr(), t.wrong) });
            t.checked(report, &lengths, [2, 0, 3, 4])
        }),
        pair("halo_outside_tile", Memcheck, |t| {
            let to = GlobalBuffer::uninit(64);
            t.launch(1, 64)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { halo_outside_tile(to.as_mut_ptr(), t.wrong) })
        }),
        pair("bin_outside", Memcheck, |t| {
            let (values, bins) = (numbers(16), GlobalBuffer::uninit(8));
            let report = t
                .launch(1, 16)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { bin_outside(values.as_ptr(), 16, bins.as_mut_ptr(), t.wrong) });
            t.checked(report, &bins, [1, 1, 1, 1, 1, 1, 1, 9])
        }),
        pair("counter_outside", Indigo, |t| {
            let counters = GlobalBuffer::zeroed(24);
            let report = t
                .launch(1, 32)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { counter_outside(counters.as_mut_ptr(), 24, t.wrong) });
            t.checked(report, &counters, [1; 24])
        }),
        pair("dynamic_memory_too_small", Memcheck, |t| {
            let to = GlobalBuffer::uninit(32);
            let launch = t.launch(1, 32).dynamic_shared_bytes(if t.wrong { 128 } else { 256 });
            // SAFETY: as the crate says of launches.
            let report = launch.run(|| unsafe { two_dynamic_arrays(to.as_mut_ptr()) });
            t.checked(report, &to, [3; 32])
        }),
        pair("static_limit", Memcheck, |t| {
            let to = GlobalBuffer::uninit(1);
            // SAFETY: as the crate says of launches.
            t.launch(1, 1).run(|| unsafe { static_limit(to.as_mut_ptr(), t.wrong) })
        }),
        pair("bare_pointer", Memcheck, |t| {
            let data = GlobalBuffer::uninit(100);
            t.launch(2, 64)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { bare_pointer(data.as_mut_ptr(), 100, t.wrong) })
        }),
        pair("bare_shared_pointer", Memcheck, |t| {
            let to = GlobalBuffer::uninit(32);
            t.launch(1, 32)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { bare_shared_pointer(to.as_mut_ptr(), t.wrong) })
        }),
        pair("index_of_slice", DataRaceBench, |t| {
            let to = GlobalBuffer::uninit(8);
            let report = t
                .launch(1, 8)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { index_of_slice(&[7; 5], to.as_mut_ptr(), t.wrong) });
            t.checked(report, &to, [7; 8])
        }),
        pair("part_of_view", Memcheck, |t| {
            let (from, to) = (numbers(50), GlobalBuffer::uninit(50));
            let report = t
                .launch(2, 32)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { part_of_view(from.as_ptr(), to.as_mut_ptr(), 50, t.wrong) });
            t.checked(report, &to, 0..50)
        }),
        pair("chunk_too_far", DataRaceBench, |t| {
            let data = GlobalBuffer::uninit(64);
            let report = t
                .launch(1, 8)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { chunk_too_far(data.as_mut_ptr(), 64, t.wrong) });
            t.checked(report, &data, [3; 64])
        }),
    ],
};
