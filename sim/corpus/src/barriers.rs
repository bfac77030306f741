//! Barriers of the block that not all threads reach, or not the same one.

use cuda_std::{kernel, shared_array, thread, warp};
use cuda_views::{GlobalMut, Shared};

use crate::pair::Suite::*;
use crate::pair::{Family, pair};

/// A barrier in a branch.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn barrier_in_branch(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    if !wrong || t < 32 {
        thread::sync_threads(); // expect: barrier_in_branch BarrierDivergence
    }
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 64).set(t, 1) };
}

/// Threads beyond the end return before the barrier.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn early_return(to: *mut u32, len: usize, wrong: bool) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if wrong && i >= len {
            return;
        }
        let tile = Shared::new(shared_array![u32; 32], 32);
        tile.set(t, i as u32);
        thread::sync_threads(); // expect: early_return BarrierDivergence
        if i < len {
            GlobalMut::new(to, len).set(i, tile.get(t));
        }
    }
}

/// Both branches have a barrier, each its own.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn barrier_in_both_branches(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    if wrong {
        if t.is_multiple_of(2) {
            thread::sync_threads(); // expect: barrier_in_both_branches BarrierMismatch
        } else {
            thread::sync_threads(); // against: barrier_in_both_branches
        }
    } else {
        thread::sync_threads();
    }
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 64).set(t, 1) };
}

/// A loop whose number of iterations is the thread's.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn barrier_in_loop(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x();
    for _ in 0..if wrong { t / 32 + 1 } else { 2 } {
        thread::sync_threads(); // expect: barrier_in_loop BarrierDivergence
    }
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 64).set(t as usize, t) };
}

/// A loop that some threads leave.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn break_before_barrier(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x();
    for step in 0..4 {
        if wrong && step == 2 && t == 5 {
            break;
        }
        thread::sync_threads(); // expect: break_before_barrier BarrierMismatch
    }
    thread::sync_threads(); // against: break_before_barrier
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 64).set(t as usize, t) };
}

/// A barrier that counts, in a branch.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn counting_barrier(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x();
    let mut count = 0;
    if !wrong || t != 63 {
        count = thread::sync_threads_count(t % 2); // expect: counting_barrier BarrierDivergence
    }
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 64).set(t as usize, count) };
}

/// A condition that is the same in all threads, or not.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn condition_of_block(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x();
    let odd = if wrong { t % 2 } else { thread::block_idx_x() % 2 };
    if odd == 1 {
        thread::sync_threads(); // expect: condition_of_block BarrierDivergence
    }
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 128).set(thread::index_1d() as usize, 1) };
}

/// A tree whose barrier is inside of the guard.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn barrier_inside_guard(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 64], 64);
        tile.set(t, 1);
        thread::sync_threads();
        let mut half = 32;
        while half > 0 {
            if t < half {
                tile.set(t, tile.get(t) + tile.get(t + half));
                if wrong {
                    thread::sync_threads(); // expect: barrier_inside_guard BarrierDivergence
                }
            }
            if !wrong {
                thread::sync_threads();
            }
            half /= 2;
        }
        if t == 0 {
            GlobalMut::new(to, 1).set(0, tile.get(0));
        }
    }
}

/// A barrier of the warp for lanes of which some are elsewhere.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn warp_barrier_in_branch(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if t < 16 {
            warp::sync_warp(if wrong { u32::MAX } else { 0xffff }); // expect: warp_barrier_in_branch Deadlock
        }
        thread::sync_threads();
        GlobalMut::new(to, 32).set(t, 1);
    }
}

/// A mask that does not contain its own lane.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn mask_without_lane(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        warp::sync_warp(if wrong { 0xffff } else { u32::MAX }); // expect: mask_without_lane WarpMask
        GlobalMut::new(to, 32).set(t, 1);
    }
}

/// The barrier is in a function that only one warp calls, while the other waits at another.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn barrier_in_function(to: *mut u32, wrong: bool) {
    /// The block's barrier, with a name of its own.
    fn barrier_in_helper() {
        thread::sync_threads(); // expect: barrier_in_function BarrierMismatch
    }
    let t = thread::thread_idx_x() as usize;
    if wrong && t >= 32 {
        thread::sync_threads(); // against: barrier_in_function
    } else {
        barrier_in_helper();
    }
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 64).set(t, 1) };
}

/// One warp executes a barrier of the block while the other executes its own warp's.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn warp_barrier_for_block(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 64], 64);
        tile.set(t, 1); // against: warp_barrier_for_block
        if wrong {
            warp::sync_warp(u32::MAX);
        } else {
            thread::sync_threads();
        }
        GlobalMut::new(to, 64).set(t, tile.get((t + 32) % 64)); // expect: warp_barrier_for_block SharedRace
    }
}

pub const FAMILY: Family = Family {
    name: "barriers",
    source: include_str!("barriers.rs"),
    pairs: &[
        pair("barrier_in_branch", Synccheck, |t| {
            t.map(
                t.launch(1, 64),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { barrier_in_branch(to, t.wrong) },
                [1; 64],
            )
        }),
        pair("early_return", Synccheck, |t| {
            t.map(
                t.launch(2, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { early_return(to, 50, t.wrong) },
                0..50,
            )
        }),
        pair("barrier_in_both_branches", GpuVerify, |t| {
            t.map(
                t.launch(1, 64),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { barrier_in_both_branches(to, t.wrong) },
                [1; 64],
            )
        }),
        pair("barrier_in_loop", GpuVerify, |t| {
            t.map(
                t.launch(1, 64),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { barrier_in_loop(to, t.wrong) },
                0..64,
            )
        }),
        pair("break_before_barrier", GpuVerify, |t| {
            t.map(
                t.launch(1, 64),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { break_before_barrier(to, t.wrong) },
                0..64,
            )
        }),
        pair("counting_barrier", Synccheck, |t| {
            t.map(
                t.launch(1, 64),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { counting_barrier(to, t.wrong) },
                [32; 64],
            )
        }),
        pair("condition_of_block", GpuVerify, |t| {
            t.map(
                t.launch(2, 64),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { condition_of_block(to, t.wrong) },
                [1; 128],
            )
        }),
        pair("barrier_inside_guard", Synccheck, |t| {
            t.map(
                t.launch(1, 64),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { barrier_inside_guard(to, t.wrong) },
                [64],
            )
        }),
        pair("warp_barrier_in_branch", Synccheck, |t| {
            t.map(
                t.launch(1, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { warp_barrier_in_branch(to, t.wrong) },
                [1; 32],
            )
        }),
        pair("mask_without_lane", Synccheck, |t| {
            t.map(
                t.launch(1, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { mask_without_lane(to, t.wrong) },
                [1; 32],
            )
        }),
        pair("barrier_in_function", GpuVerify, |t| {
            t.map(
                t.launch(1, 64),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { barrier_in_function(to, t.wrong) },
                [1; 64],
            )
        }),
        pair("warp_barrier_for_block", Racecheck, |t| {
            t.map(
                t.launch(1, 64),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { warp_barrier_for_block(to, t.wrong) },
                [1; 64],
            )
        }),
    ],
};
