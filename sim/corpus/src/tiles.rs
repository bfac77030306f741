//! Kernels with tiles in shared memory: products, stencils, transposes, reductions, double buffers.

use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, shared_array, thread, warp};
use cuda_views::{Global, GlobalMut, Shared};

use crate::pair::Suite::*;
use crate::pair::{Family, pair};

/// Extent of a square tile.
const SIDE: usize = 8;

/// A matrix product by tiles: `missing` is the barrier that is left out, 1 after the fill, 2 before the next fill.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn product(a: *const u32, to: *mut u32, missing: u32) {
    const N: usize = 2 * SIDE;
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (column, row) = (thread::index_2d().x as usize, thread::index_2d().y as usize);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let a = Global::new(a, N * N);
        let left = Shared::new(shared_array![u32; SIDE * SIDE], SIDE * SIDE);
        let right = Shared::new(shared_array![u32; SIDE * SIDE], SIDE * SIDE);
        let mut sum = 0;
        for first in (0..N).step_by(SIDE) {
            // expect: product_undrained SharedRace; product_unfilled SharedRace
            left.set(SIDE * y + x, a.get(N * row + first + x));
            right.set(SIDE * y + x, a.get(N * (first + y) + column));
            if missing != 1 {
                thread::sync_threads();
            }
            for k in 0..SIDE {
                let factor = left.get(SIDE * y + k); // against: product_undrained; product_unfilled
                sum += factor * right.get(SIDE * k + x);
            }
            if missing != 2 {
                thread::sync_threads();
            }
        }
        GlobalMut::new(to, N * N).set(N * row + column, sum);
    }
}

/// The matrix 0, 1, .. of 16 x 16 squared.
fn squared() -> Vec<u32> {
    let entry = |row, column| (0..16).map(|k: u32| (16 * row + k) * (16 * k + column)).sum();
    (0..256).map(|i| entry(i / 16, i % 16)).collect()
}

/// A transpose through a tile.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn transpose(from: *const u32, to: *mut u32, wrong: bool) {
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; SIDE * (SIDE + 1)], SIDE * (SIDE + 1));
        tile.set((SIDE + 1) * y + x, Global::new(from, SIDE * SIDE).get(SIDE * y + x)); // against: transpose
        if wrong {
            warp::sync_warp(u32::MAX);
        } else {
            thread::sync_threads();
        }
        let value = tile.get((SIDE + 1) * x + y); // expect: transpose SharedRace
        GlobalMut::new(to, SIDE * SIDE).set(SIDE * y + x, value);
    }
}

/// A transpose within the tile: each thread exchanges two elements, and both threads of a pair do.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn transpose_in_place(from: *const u32, to: *mut u32, wrong: bool) {
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (here, there) = (SIDE * y + x, SIDE * x + y);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; SIDE * SIDE], SIDE * SIDE);
        tile.set(here, Global::new(from, SIDE * SIDE).get(here));
        thread::sync_threads();
        if wrong || x < y {
            let (a, b) = (tile.get(here), tile.get(there)); // expect: exchange_by_both SharedRace
            tile.set(here, b);
            tile.set(there, a); // against: exchange_by_both
        }
        thread::sync_threads();
        GlobalMut::new(to, SIDE * SIDE).set(here, tile.get(here));
    }
}

/// A stencil of several steps in one buffer.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn stencil_steps(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 64], 64);
        tile.set(t, Global::new(from, 64).get(t));
        for _ in 0..2 {
            thread::sync_threads();
            let sum = tile.get((t + 63) % 64) + tile.get((t + 1) % 64); // expect: stencil_steps SharedRace
            if !wrong {
                thread::sync_threads();
            }
            tile.set(t, sum); // against: stencil_steps
        }
        GlobalMut::new(to, 64).set(t, tile.get(t));
    }
}

/// A halo that other threads load than those who read it, after the barrier.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn halo_after_barrier(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let from = Global::new(from, 66);
        let tile = Shared::new(shared_array![u32; 66], 66);
        tile.set(t + 1, from.get(t + 1));
        if wrong {
            thread::sync_threads();
        }
        if t < 2 {
            tile.set(65 * t, from.get(65 * t)); // against: halo_after_barrier
        }
        if !wrong {
            thread::sync_threads();
        }
        let left = if t > 0 { tile.get(t) } else { 0 };
        GlobalMut::new(to, 64).set(t, left + tile.get(t + 2)); // expect: halo_after_barrier SharedRace
    }
}

/// Two buffers with one barrier a step, and with one of three steps without it.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn double_buffer(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let (from, tile) = (Global::new(from, 256), Shared::new(shared_array![u32; 128], 128));
        let mut sum = 0;
        tile.set(t, from.get(t));
        for step in 0..4 {
            thread::sync_threads();
            let (now, next) = (step % 2, if wrong { step % 2 } else { (step + 1) % 2 });
            if step < 3 {
                tile.set(64 * next + t, from.get(64 * (step + 1) + t)); // against: double_buffer
            }
            sum += tile.get(64 * now + 63 - t); // expect: double_buffer SharedRace
        }
        GlobalMut::new(to, 64).set(t, sum);
    }
}

/// The warps' sums are added by a warp that does not wait for the others.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn two_level_sum(from: *const u32, to: *mut u32, wrong: bool) {
    let (t, lane) = (thread::thread_idx_x() as usize, warp::lane_id());
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let sums = Shared::new(shared_array![u32; 4], 4);
        let mut sum = Global::new(from, 128).get(t);
        for distance in [16, 8, 4, 2, 1] {
            sum += warp::warp_shuffle_xor(u32::MAX, sum, distance, 32).0;
        }
        if lane == 0 {
            sums.set(t / 32, sum); // against: two_level_sum
        }
        if !wrong {
            thread::sync_threads();
        }
        if t == 96 {
            let total = (0..4).map(|warp| sums.get(warp)).sum(); // expect: two_level_sum SharedRace
            GlobalMut::new(to, 1).set(0, total);
        }
    }
}

/// A block of three warps whose scratch memory is used twice.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn scratch_used_twice(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let scratch = Shared::new(dynamic_shared_mem::<u32>(), 96);
        scratch.set(t, 1);
        thread::sync_threads();
        let sum: u32 = (0..96).map(|i| scratch.get(i)).sum(); // against: scratch_used_twice
        if !wrong {
            thread::sync_threads();
        }
        scratch.set(95 - t, sum); // expect: scratch_used_twice SharedRace
        thread::sync_threads();
        GlobalMut::new(to, 96).set(t, scratch.get(t));
    }
}

/// Rows of a tile that are one thread's each, and a column that is not.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn rows_and_columns(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 16 * 16], 256);
        (0..16).for_each(|k| tile.set(16 * t + k, 1)); // against: rows_and_columns
        let at = |k| if wrong { 16 * k + t } else { 16 * t + k };
        let sum = (0..16).map(|k| tile.get(at(k))).sum(); // expect: rows_and_columns SharedRace
        GlobalMut::new(to, 16).set(t, sum);
    }
}

/// Maximum pooling with windows that overlap by a column, in place.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn pooling_in_place(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 97], 97);
        (0..3).for_each(|k| tile.set(3 * t + k, Global::new(from, 96).get(3 * t + k)));
        if t == 0 {
            tile.set(96, 0);
        }
        thread::sync_threads();
        let window = if wrong { 4 } else { 3 };
        let most = (0..window).map(|k| tile.get(3 * t + k)).max(); // expect: pooling_in_place SharedRace
        tile.set(3 * t, most.unwrap_or(0)); // against: pooling_in_place
        GlobalMut::new(to, 32).set(t, tile.get(3 * t));
    }
}

/// A recurrence whose distance is the number of threads, or one less.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn recurrence(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    let distance = if wrong { 31 } else { 32 };
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 96], 96);
        tile.set(t, 1); // against: recurrence
        for first in [32, 64] {
            let before = tile.get(first + t - distance); // expect: recurrence SharedRace
            tile.set(first + t, before + 1);
        }
        GlobalMut::new(to, 32).set(t, tile.get(64 + t));
    }
}

pub const FAMILY: Family = Family {
    name: "tiles",
    source: include_str!("tiles.rs"),
    pairs: &[
        pair("product_unfilled", Racecheck, |t| {
            let missing = u32::from(t.wrong);
            let launch = t.launch((2, 2), (SIDE as u32, SIDE as u32));
            // SAFETY: as the crate says of launches.
            t.map(launch, 256, |from, to| unsafe { product(from, to, missing) }, squared())
        }),
        pair("product_undrained", Scor, |t| {
            let missing = 2 * u32::from(t.wrong);
            let launch = t.launch((2, 2), (SIDE as u32, SIDE as u32));
            // SAFETY: as the crate says of launches.
            t.map(launch, 256, |from, to| unsafe { product(from, to, missing) }, squared())
        }),
        pair("transpose", Racecheck, |t| {
            let transposed = (0..64).map(|i| 8 * (i % 8) + i / 8);
            t.map(
                t.launch(1, (8, 8)),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { transpose(from, to, t.wrong) },
                transposed,
            )
        }),
        pair("exchange_by_both", GpuVerify, |t| {
            let transposed = (0..64).map(|i| 8 * (i % 8) + i / 8);
            t.map(
                t.launch(1, (8, 8)),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { transpose_in_place(from, to, t.wrong) },
                transposed,
            )
        }),
        pair("stencil_steps", DataRaceBench, |t| {
            let twice = |i: u32| (i + 62) % 64 + 2 * i + (i + 2) % 64;
            t.map(
                t.launch(1, 64),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { stencil_steps(from, to, t.wrong) },
                (0..64).map(twice),
            )
        }),
        pair("halo_after_barrier", Racecheck, |t| {
            let sums = (0..64).map(|i| if i > 0 { 2 * i + 2 } else { 2 });
            t.map(
                t.launch(1, 64),
                66,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { halo_after_barrier(from, to, t.wrong) },
                sums,
            )
        }),
        pair("double_buffer", Racecheck, |t| {
            let sums = (0..64).map(|i| 4 * (63 - i) + 64 * 6);
            t.map(
                t.launch(1, 64),
                256,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { double_buffer(from, to, t.wrong) },
                sums,
            )
        }),
        pair("two_level_sum", Racecheck, |t| {
            t.map(
                t.launch(1, 128),
                128,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { two_level_sum(from, to, t.wrong) },
                [8128],
            )
        }),
        pair("scratch_used_twice", Racecheck, |t| {
            let launch = t.launch(1, 96).dynamic_shared_bytes(4 * 96);
            // SAFETY: as the crate says of launches.
            t.map(launch, 0, |_, to| unsafe { scratch_used_twice(to, t.wrong) }, [96; 96])
        }),
        pair("rows_and_columns", GpuVerify, |t| {
            t.map(
                t.launch(1, 16),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { rows_and_columns(to, t.wrong) },
                [16; 16],
            )
        }),
        pair("pooling_in_place", DataRaceBench, |t| {
            let most = (0..32).map(|i| 3 * i + 2);
            t.map(
                t.launch(1, 32),
                96,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { pooling_in_place(from, to, t.wrong) },
                most,
            )
        }),
        pair("recurrence", DataRaceBench, |t| {
            // SAFETY: as the crate says of launches.
            t.map(t.launch(1, 32), 0, |_, to| unsafe { recurrence(to, t.wrong) }, [3; 32])
        }),
    ],
};
