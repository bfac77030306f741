//! Algorithms of a block in shared memory: sums, scans, histograms, sorting, compaction.

use cuda_std::atomic::mid::atomic_fetch_add_u32_block;
use cuda_std::{kernel, shared_array, thread, warp};
use cuda_views::{Global, GlobalMut, Shared};
use std::sync::atomic::Ordering::Relaxed;

use crate::pair::Suite::*;
use crate::pair::{Family, pair};

/// A tree whose levels have no barrier between.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn tree_sum(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 128], 128);
        tile.set(t, Global::new(from, 128).get(t));
        thread::sync_threads();
        let mut half = 64;
        while half > 0 {
            if t < half {
                let other = tile.get(t + half); // against: tree_without_barriers
                tile.set(t, tile.get(t) + other); // expect: tree_without_barriers SharedRace
            }
            half /= 2;
            if !wrong {
                thread::sync_threads();
            }
        }
        if t == 0 {
            GlobalMut::new(to, 1).set(0, tile.get(0));
        }
    }
}

/// The last levels of a tree within one warp, whose lanes are not in lockstep.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn warp_sum(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 32], 32);
        tile.set(t, Global::new(from, 32).get(t));
        warp::sync_warp(u32::MAX);
        let mut half = 16;
        while half > 0 {
            if t < half {
                let other = tile.get(t + half);
                tile.set(t, tile.get(t) + other); // expect: lockstep_assumed SharedRace
            }
            half /= 2;
            if !wrong {
                warp::sync_warp(u32::MAX);
            }
        }
        if t == 0 {
            GlobalMut::new(to, 1).set(0, tile.get(0));
        }
    }
}

/// A running sum in one buffer.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn scan_in_place(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 64], 64);
        tile.set(t, Global::new(from, 64).get(t));
        thread::sync_threads();
        let mut distance = 1;
        while distance < 64 {
            let before = if t >= distance { tile.get(t - distance) } else { 0 };
            if !wrong {
                thread::sync_threads();
            }
            tile.set(t, tile.get(t) + before); // expect: scan_in_place SharedRace
            thread::sync_threads();
            distance *= 2;
        }
        GlobalMut::new(to, 64).set(t, tile.get(t));
    }
}

/// A running sum in two buffers, with one barrier in place of one a step.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn scan_in_two_buffers(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 128], 128);
        tile.set(t, Global::new(from, 64).get(t));
        let (mut distance, mut source) = (1, 0);
        while distance < 64 {
            if !wrong || distance == 1 {
                thread::sync_threads();
            }
            let mut sum = tile.get(64 * source + t);
            if t >= distance {
                sum += tile.get(64 * source + t - distance); // against: scan_with_one_barrier
            }
            source ^= 1;
            tile.set(64 * source + t, sum); // expect: scan_with_one_barrier SharedRace
            distance *= 2;
        }
        GlobalMut::new(to, 64).set(t, tile.get(64 * source + t));
    }
}

/// Counting without atomics.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn histogram(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let bins = Shared::new(shared_array![u32; 8], 8);
        if t < 8 {
            bins.set(t, 0);
        }
        thread::sync_threads();
        let bin = Global::new(from, 64).get(t) as usize % 8;
        if wrong {
            let count = bins.get(bin); // expect: histogram_without_atomics SharedRace
            bins.set(bin, count + 1); // against: histogram_without_atomics
        } else {
            atomic_fetch_add_u32_block(bins.as_mut_ptr().add(bin), Relaxed, 1);
        }
        thread::sync_threads();
        if t < 8 {
            GlobalMut::new(to, 8).set(t, bins.get(t));
        }
    }
}

/// Bins are cleared by some threads while others count.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn cleared_while_counting(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let bins = Shared::new(shared_array![u32; 64], 64);
        bins.set(t, 0); // expect: cleared_while_counting SharedRace
        if !wrong {
            thread::sync_threads();
        }
        // against: cleared_while_counting
        atomic_fetch_add_u32_block(bins.as_mut_ptr().add((t + 1) % 64), Relaxed, 1);
        thread::sync_threads();
        GlobalMut::new(to, 64).set(t, bins.get(t));
    }
}

/// The bins are read while others still count.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn read_while_counting(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let count = Shared::new(shared_array![u32; 1], 1);
        if t == 0 {
            count.set(0, 0);
        }
        thread::sync_threads();
        atomic_fetch_add_u32_block(count.as_mut_ptr(), Relaxed, 1); // expect: read_while_counting SharedRace
        if !wrong {
            thread::sync_threads();
        }
        GlobalMut::new(to, 64).set(t, count.get(0)); // against: read_while_counting
    }
}

/// Odd-even transposition sort.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn odd_even_sort(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 64], 64);
        tile.set(2 * t, 63 - Global::new(from, 64).get(2 * t));
        tile.set(2 * t + 1, 63 - Global::new(from, 64).get(2 * t + 1));
        for step in 0..64 {
            if !wrong || step == 0 {
                thread::sync_threads();
            }
            let (low, high) = (2 * t + step % 2, 2 * t + step % 2 + 1);
            if high < 64 {
                let (a, b) = (tile.get(low), tile.get(high)); // expect: odd_even_sort SharedRace
                tile.set(low, a.min(b));
                tile.set(high, a.max(b)); // against: odd_even_sort
            }
        }
        thread::sync_threads();
        GlobalMut::new(to, 64).set(2 * t, tile.get(2 * t));
        GlobalMut::new(to, 64).set(2 * t + 1, tile.get(2 * t + 1));
    }
}

/// Bitonic sort, with the barrier outside of the inner loop.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn bitonic_sort(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 64], 64);
        tile.set(t, 63 - Global::new(from, 64).get(t));
        thread::sync_threads();
        let mut size = 2;
        while size <= 64 {
            let mut distance = size / 2;
            while distance > 0 {
                let other = t ^ distance;
                if other > t {
                    let (a, b) = (tile.get(t), tile.get(other)); // expect: bitonic_sort SharedRace
                    if (a > b) == (t & size == 0) {
                        tile.set(t, b); // against: bitonic_sort
                        tile.set(other, a);
                    }
                }
                distance /= 2;
                if !wrong {
                    thread::sync_threads();
                }
            }
            thread::sync_threads();
            size *= 2;
        }
        GlobalMut::new(to, 64).set(t, tile.get(t));
    }
}

/// Compaction: places in the output from a counter that is not atomic.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn compaction(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let count = Shared::new(shared_array![u32; 1], 1);
        if t == 0 {
            count.set(0, 0);
        }
        thread::sync_threads();
        if Global::new(from, 64).get(t).is_multiple_of(4) {
            if wrong {
                let place = count.get(0); // expect: compaction SharedRace
                count.set(0, place + 1); // against: compaction
            } else {
                atomic_fetch_add_u32_block(count.as_mut_ptr(), Relaxed, 1);
            }
        }
        thread::sync_threads();
        if t == 0 {
            GlobalMut::new(to, 1).set(0, count.get(0));
        }
    }
}

pub const FAMILY: Family = Family {
    name: "algorithms",
    source: include_str!("algorithms.rs"),
    pairs: &[
        pair("tree_without_barriers", Racecheck, |t| {
            t.map(
                t.launch(1, 128),
                128,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { tree_sum(from, to, t.wrong) },
                [8128],
            )
        }),
        pair("lockstep_assumed", Racecheck, |t| {
            t.map(
                t.launch(1, 32),
                32,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { warp_sum(from, to, t.wrong) },
                [496],
            )
        }),
        pair("scan_in_place", DataRaceBench, |t| {
            let sums = (0..64).map(|i| i * (i + 1) / 2);
            t.map(
                t.launch(1, 64),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { scan_in_place(from, to, t.wrong) },
                sums,
            )
        }),
        pair("scan_with_one_barrier", DataRaceBench, |t| {
            let sums = (0..64).map(|i| i * (i + 1) / 2);
            t.map(
                t.launch(1, 64),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { scan_in_two_buffers(from, to, t.wrong) },
                sums,
            )
        }),
        pair("histogram_without_atomics", DataRaceBench, |t| {
            t.map(
                t.launch(1, 64),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { histogram(from, to, t.wrong) },
                [8; 8],
            )
        }),
        pair("cleared_while_counting", Racecheck, |t| {
            t.map(
                t.launch(1, 64),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { cleared_while_counting(to, t.wrong) },
                [1; 64],
            )
        }),
        pair("read_while_counting", Racecheck, |t| {
            t.map(
                t.launch(1, 64),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { read_while_counting(to, t.wrong) },
                [64; 64],
            )
        }),
        pair("odd_even_sort", Racecheck, |t| {
            t.map(
                t.launch(1, 32),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { odd_even_sort(from, to, t.wrong) },
                0..64,
            )
        }),
        pair("bitonic_sort", Racecheck, |t| {
            t.map(
                t.launch(1, 64),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { bitonic_sort(from, to, t.wrong) },
                0..64,
            )
        }),
        pair("compaction", Indigo, |t| {
            t.map(
                t.launch(1, 64),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { compaction(from, to, t.wrong) },
                [16],
            )
        }),
    ],
};
