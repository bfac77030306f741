//! Shuffles, votes and other functions of a warp.

use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::warp::{
    WarpReductionOp, activemask, lane_id, lanemask_lt, warp_match_any, warp_reduce, warp_shuffle_down,
    warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor, warp_vote_all, warp_vote_any, warp_vote_ballot,
};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};
use std::sync::atomic::Ordering::Relaxed;

use crate::pair::Suite::*;
use crate::pair::{Family, numbers, pair};

const ALL: u32 = u32::MAX;

/// A sum over the warp after some lanes have returned.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn sum_after_return(from: *const u32, to: *mut u32, len: usize, wrong: bool) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if wrong && i >= len {
            return;
        }
        let mut sum = if i < len { Global::new(from, len).get(i) } else { 0 };
        for distance in [16, 8, 4, 2, 1] {
            sum += warp_shuffle_down(ALL, sum, distance, 32).0; // expect: sum_after_return AbsentLane
        }
        if i == 0 {
            GlobalMut::new(to, 1).set(0, sum);
        }
    }
}

/// A block whose last warp is not whole.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn partial_warp(to: *mut u32) {
    let t = thread::thread_idx_x();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let (next, inside) = warp_shuffle_down(ALL, t, 1, 32); // expect: partial_warp AbsentLane
        GlobalMut::new(to, thread::block_dim_x() as usize).set(t as usize, if inside { next } else { t });
    }
}

/// A shuffle in a branch, with the mask of the whole warp.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn shuffle_in_branch(to: *mut u32, wrong: bool) {
    let lane = lane_id();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let mut value = lane;
        if lane < 16 {
            let mask = if wrong { ALL } else { 0xffff };
            value = warp_shuffle_xor(mask, value, 1, 32).0; // expect: shuffle_in_branch Deadlock
        }
        thread::sync_threads();
        GlobalMut::new(to, 32).set(lane as usize, value);
    }
}

/// A lane of the other half is read.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn lane_outside_mask(to: *mut u32, wrong: bool) {
    let lane = lane_id();
    let mask = if lane < 16 { 0xffff } else { 0xffff_0000 };
    let source = if wrong { 31 - lane } else { lane ^ 15 };
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let value = warp_shuffle_idx(mask, lane, source, 32).0; // expect: lane_outside_mask AbsentLane
        GlobalMut::new(to, 32).set(lane as usize, value);
    }
}

/// The mask lacks the calling lane.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn vote_without_lane(to: *mut u32, wrong: bool) {
    let lane = lane_id();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let mask = if wrong { 0x7fff_ffff } else { ALL };
        let all = warp_vote_all(mask, lane < 40); // expect: vote_without_lane WarpMask
        GlobalMut::new(to, 32).set(lane as usize, u32::from(all));
    }
}

/// Lanes of one mask call different functions.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn different_functions(to: *mut u32, wrong: bool) {
    let lane = lane_id();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let bit = if wrong && lane % 2 == 1 {
            u32::from(warp_vote_any(ALL, lane == 3)) // expect: different_functions WarpMismatch
        } else {
            warp_vote_ballot(ALL, lane == 3) >> 3 // against: different_functions
        };
        GlobalMut::new(to, 32).set(lane as usize, bit);
    }
}

/// The result of a vote is taken for a barrier of the warp.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn vote_is_no_barrier(to: *mut u32, wrong: bool) {
    let lane = lane_id() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let cells = Shared::new(shared_array![u32; 32], 32);
        cells.set(lane, 1); // against: vote_is_no_barrier
        if wrong {
            warp_vote_all(ALL, true);
        } else {
            cuda_std::warp::sync_warp(ALL);
        }
        GlobalMut::new(to, 32).set(lane, cells.get(31 - lane)); // expect: vote_is_no_barrier SharedRace
    }
}

/// One atomic a warp: the leader's result is read by lanes that the mask does not have.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn aggregated_atomic(from: *const u32, count: *mut u32, wrong: bool) {
    let lane = lane_id();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let takes_part = Global::new(from, 32).get(lane as usize).is_multiple_of(3);
        let mask = warp_vote_ballot(ALL, takes_part);
        if takes_part {
            let leader = if wrong { 1 } else { mask.trailing_zeros() };
            let mut first = 0;
            if lane == mask.trailing_zeros() {
                first = atomic_fetch_add_u32_device(count, Relaxed, mask.count_ones());
            }
            let base = warp_shuffle_idx(mask, first, leader, 32).0; // expect: aggregated_atomic AbsentLane
            assert!(wrong || base + (mask & lanemask_lt()).count_ones() < 11);
        }
    }
}

/// A running sum by shuffles, in segments of 16 lanes.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn scan_in_segments(to: *mut u32, wrong: bool) {
    let lane = lane_id();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let mut sum = 1;
        let mask = if lane < 16 { 0xffff } else { 0xffff_0000 };
        for distance in [1, 2, 4, 8] {
            let width = if wrong { 32 } else { 16 };
            // expect: scan_in_segments AbsentLane
            let (before, inside) = warp_shuffle_up(mask, sum, distance, width);
            if inside && lane % 16 >= distance {
                sum += before;
            }
        }
        GlobalMut::new(to, 32).set(lane as usize, sum);
    }
}

/// A reduction in a loop that lanes leave.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn reduction_in_loop(to: *mut u32, wrong: bool) {
    let lane = lane_id();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let mut most = 0;
        let rounds = if wrong { 1 + lane / 16 } else { 2 };
        for round in 0..rounds {
            most = warp_reduce(ALL, lane + round, WarpReductionOp::Max); // expect: reduction_in_loop Deadlock
        }
        thread::sync_threads();
        GlobalMut::new(to, 32).set(lane as usize, most);
    }
}

/// The active lanes are asked for, or the mask of a match is used by lanes that it does not contain.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn groups_by_value(from: *const u32, to: *mut u32, wrong: bool) {
    let lane = lane_id();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let key = Global::new(from, 32).get(lane as usize) / 8;
        let peers = if wrong {
            warp_match_any(ALL, key) & !1
        } else {
            warp_match_any(ALL, key)
        };
        let sum = warp_reduce(peers, 1_u32, WarpReductionOp::Add); // expect: groups_by_value WarpMask
        GlobalMut::new(to, 32).set(lane as usize, sum);
    }
}

/// The active lanes of a branch are a proper mask there, and none after it.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn active_lanes(to: *mut u32, wrong: bool) {
    let lane = lane_id();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let mut mask = ALL;
        if lane < 8 {
            mask = activemask();
        }
        let count = if wrong || lane < 8 {
            warp_reduce(mask, 1_u32, WarpReductionOp::Add) // expect: active_lanes Deadlock
        } else {
            8
        };
        thread::sync_threads();
        GlobalMut::new(to, 32).set(lane as usize, count);
    }
}

/// The broadcast of a warp's first lane, where the first lane is elsewhere.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn broadcast_of_absent(to: *mut u32, wrong: bool) {
    let lane = lane_id();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let mut value = 9;
        if lane >= 4 {
            let source = if wrong { 0 } else { 4 };
            value = warp_shuffle_idx(0xffff_fff0, 9, source, 32).0; // expect: broadcast_of_absent AbsentLane
        }
        GlobalMut::new(to, 32).set(lane as usize, value);
    }
}

pub const FAMILY: Family = Family {
    name: "warps",
    source: include_str!("warps.rs"),
    pairs: &[
        pair("sum_after_return", Synccheck, |t| {
            t.map(
                t.launch(1, 32),
                20,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { sum_after_return(from, to, 20, t.wrong) },
                [190],
            )
        }),
        pair("partial_warp", Synccheck, |t| {
            let threads = if t.wrong { 48 } else { 64 };
            let next = (0..threads).map(|i| if i % 32 == 31 { i } else { i + 1 });
            // SAFETY: as the crate says of launches.
            t.map(t.launch(1, threads), 0, |_, to| unsafe { partial_warp(to) }, next)
        }),
        pair("shuffle_in_branch", Synccheck, |t| {
            let exchanged = (0..32).map(|i| if i < 16 { i ^ 1 } else { i });
            t.map(
                t.launch(1, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { shuffle_in_branch(to, t.wrong) },
                exchanged,
            )
        }),
        pair("lane_outside_mask", Synccheck, |t| {
            t.map(
                t.launch(1, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { lane_outside_mask(to, t.wrong) },
                (0..32).map(|i| i ^ 15),
            )
        }),
        pair("vote_without_lane", Synccheck, |t| {
            t.map(
                t.launch(1, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { vote_without_lane(to, t.wrong) },
                [1; 32],
            )
        }),
        pair("different_functions", Synccheck, |t| {
            t.map(
                t.launch(1, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { different_functions(to, t.wrong) },
                [1; 32],
            )
        }),
        pair("vote_is_no_barrier", Racecheck, |t| {
            t.map(
                t.launch(1, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { vote_is_no_barrier(to, t.wrong) },
                [1; 32],
            )
        }),
        pair("aggregated_atomic", Synccheck, |t| {
            let from = numbers(32);
            t.update(
                t.launch(1, 32),
                [0],
                // SAFETY: as the crate says of launches.
                |count| unsafe { aggregated_atomic(from.as_ptr(), count, t.wrong) },
                [11],
            )
        }),
        pair("scan_in_segments", Synccheck, |t| {
            t.map(
                t.launch(1, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { scan_in_segments(to, t.wrong) },
                (0..32).map(|i| i % 16 + 1),
            )
        }),
        pair("reduction_in_loop", Synccheck, |t| {
            t.map(
                t.launch(1, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { reduction_in_loop(to, t.wrong) },
                [32; 32],
            )
        }),
        pair("groups_by_value", Synccheck, |t| {
            t.map(
                t.launch(1, 32),
                32,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { groups_by_value(from, to, t.wrong) },
                [8; 32],
            )
        }),
        pair("active_lanes", Synccheck, |t| {
            t.map(
                t.launch(1, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { active_lanes(to, t.wrong) },
                [8; 32],
            )
        }),
        pair("broadcast_of_absent", Synccheck, |t| {
            t.map(
                t.launch(1, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { broadcast_of_absent(to, t.wrong) },
                [9; 32],
            )
        }),
    ],
};
