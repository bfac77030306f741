//! Races in the shared memory of a block.

use cuda_std::atomic::mid::{atomic_fetch_exch_u32_block, atomic_fetch_or_u32_block};
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, shared_array, thread, warp};
use cuda_views::{Global, GlobalMut, Shared};
use std::sync::atomic::Ordering::Relaxed;

use crate::pair::Suite::*;
use crate::pair::{Family, pair};

/// A tile is read before all of it is filled.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn reverse(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 64], 64);
        tile.set(t, Global::new(from, 64).get(t)); // expect: reverse_unfilled SharedRace
        if !wrong {
            thread::sync_threads();
        }
        GlobalMut::new(to, 64).set(t, tile.get(63 - t)); // against: reverse_unfilled
    }
}

/// A tile is filled again before all of it is read.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn refill(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let (from, to) = (Global::new(from, 128), GlobalMut::new(to, 128));
        let tile = Shared::new(shared_array![u32; 64], 64);
        for first in [0, 64] {
            tile.set(t, from.get(first + t)); // expect: refill_undrained SharedRace
            thread::sync_threads();
            to.set(first + t, tile.get(63 - t)); // against: refill_undrained
            if !wrong {
                thread::sync_threads();
            }
        }
    }
}

/// All threads write one word.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn one_winner(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let winner = Shared::new(shared_array![u32; 1], 1);
        if wrong || t == 31 {
            winner.set(0, t); // expect: all_write_one_word SharedRace
        }
        thread::sync_threads();
        GlobalMut::new(to, 32).set(t as usize, winner.get(0));
    }
}

/// All threads that find something write the same value, which no memory model calls harmless.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn found_flag(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let found = Shared::new(shared_array![u32; 1], 1);
        if t == 0 {
            found.set(0, 0);
        }
        thread::sync_threads();
        if Global::new(from, 64).get(t).is_multiple_of(3) {
            if wrong {
                found.set(0, 1); // expect: same_value SharedRace
            } else {
                atomic_fetch_exch_u32_block(found.as_mut_ptr(), Relaxed, 1);
            }
        }
        thread::sync_threads();
        if t == 0 {
            GlobalMut::new(to, 1).set(0, found.get(0));
        }
    }
}

/// A butterfly through shared memory where a shuffle is taken for a barrier of the warp.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn butterfly(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 32], 32);
        tile.set(t as usize, t); // against: shuffle_is_no_barrier
        if wrong {
            warp::warp_shuffle_xor(u32::MAX, t, 1, 32);
        } else {
            warp::sync_warp(u32::MAX);
        }
        let other = tile.get(t as usize ^ 1); // expect: shuffle_is_no_barrier SharedRace
        GlobalMut::new(to, 32).set(t as usize, other);
    }
}

/// A barrier of half a warp, and a reader in the other half.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn half_warp(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 32], 32);
        tile.set(t, 1);
        let mask = match (wrong, t < 16) {
            (false, _) => u32::MAX,
            (true, true) => 0xffff,
            (true, false) => 0xffff_0000,
        };
        warp::sync_warp(mask);
        GlobalMut::new(to, 32).set(t, tile.get(31 - t)); // expect: barrier_of_half_a_warp SharedRace
    }
}

/// A shift by one within the same array.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn shift_in_place(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 64], 64);
        tile.set(t, Global::new(from, 64).get(t));
        thread::sync_threads();
        let next = tile.get((t + 1) % 64); // expect: shift_in_place SharedRace
        if !wrong {
            thread::sync_threads();
        }
        tile.set(t, next); // against: shift_in_place
        GlobalMut::new(to, 64).set(t, tile.get(t));
    }
}

/// A word of flags, one bit a thread.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn bits_of_a_word(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let word = Shared::new(shared_array![u32; 1], 1);
        if t == 0 {
            word.set(0, 0);
        }
        thread::sync_threads();
        if wrong {
            let old = word.get(0); // expect: bits_of_a_word SharedRace
            word.set(0, old | 1 << t); // against: bits_of_a_word
        } else {
            atomic_fetch_or_u32_block(word.as_mut_ptr(), Relaxed, 1 << t);
        }
        thread::sync_threads();
        if t == 0 {
            GlobalMut::new(to, 1).set(0, word.get(0));
        }
    }
}

/// Bytes of one word, each of another thread: neighbours do not race, unless the whole word is written back.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn bytes_of_a_word(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let words = Shared::new(dynamic_shared_mem::<u32>(), 8);
        let bytes = Shared::new(dynamic_shared_mem::<u8>(), 32);
        if t < 8 {
            words.set(t, 0);
        }
        thread::sync_threads();
        if wrong {
            let old = words.get(t / 4); // expect: bytes_of_a_word SharedRace
            words.set(t / 4, old | 1 << (8 * (t % 4))); // against: bytes_of_a_word
        } else {
            bytes.set(t, 1);
        }
        thread::sync_threads();
        if t < 8 {
            GlobalMut::new(to, 8).set(t, words.get(t));
        }
    }
}

/// Two arrays in dynamic shared memory that overlap by one element.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn overlapping_arrays(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let start = dynamic_shared_mem::<u32>();
        let first = Shared::new(start, 32);
        let second = Shared::new(start.add(if wrong { 31 } else { 32 }), 32);
        first.set(t, 1); // expect: overlapping_arrays SharedRace
        second.set(t, 2); // against: overlapping_arrays
        thread::sync_threads();
        GlobalMut::new(to, 32).set(t, first.get(t) + second.get(t));
    }
}

/// A result of one thread that all read without a barrier.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn broadcast(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let cell = Shared::new(shared_array![u32; 1], 1);
        if t == 0 {
            cell.set(0, Global::new(from, 8).get(7)); // against: broadcast
        }
        if !wrong {
            thread::sync_threads();
        }
        GlobalMut::new(to, 64).set(t, cell.get(0)); // expect: broadcast SharedRace
    }
}

/// A flag that one thread sets anew in each iteration while the others may still look at it.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn flag_in_a_loop(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let goes_on = Shared::new(shared_array![u32; 1], 1);
        let mut rounds = 0;
        loop {
            if t == 0 {
                goes_on.set(0, u32::from(rounds < 3)); // expect: flag_in_a_loop SharedRace
            }
            thread::sync_threads();
            if goes_on.get(0) == 0 {
                break;
            }
            rounds += 1;
            if !wrong {
                thread::sync_threads();
            }
        }
        GlobalMut::new(to, 64).set(t, rounds);
    }
}

pub const FAMILY: Family = Family {
    name: "shared_races",
    source: include_str!("shared_races.rs"),
    pairs: &[
        pair("reverse_unfilled", Racecheck, |t| {
            t.map(
                t.launch(1, 64),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { reverse(from, to, t.wrong) },
                (0..64).rev(),
            )
        }),
        pair("refill_undrained", Racecheck, |t| {
            let reversed = (0..64).rev().chain((64..128).rev());
            t.map(
                t.launch(1, 64),
                128,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { refill(from, to, t.wrong) },
                reversed,
            )
        }),
        pair("all_write_one_word", GpuVerify, |t| {
            // SAFETY: as the crate says of launches.
            t.map(t.launch(1, 32), 0, |_, to| unsafe { one_winner(to, t.wrong) }, [31; 32])
        }),
        pair("same_value", GpuVerify, |t| {
            t.map(
                t.launch(1, 64),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { found_flag(from, to, t.wrong) },
                [1],
            )
        }),
        pair("shuffle_is_no_barrier", Racecheck, |t| {
            t.map(
                t.launch(1, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { butterfly(to, t.wrong) },
                (0..32).map(|i| i ^ 1),
            )
        }),
        pair("barrier_of_half_a_warp", Racecheck, |t| {
            // SAFETY: as the crate says of launches.
            t.map(t.launch(1, 32), 0, |_, to| unsafe { half_warp(to, t.wrong) }, [1; 32])
        }),
        pair("shift_in_place", DataRaceBench, |t| {
            let shifted = (0..64).map(|i| (i + 1) % 64);
            t.map(
                t.launch(1, 64),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { shift_in_place(from, to, t.wrong) },
                shifted,
            )
        }),
        pair("bits_of_a_word", GpuVerify, |t| {
            t.map(
                t.launch(1, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { bits_of_a_word(to, t.wrong) },
                [u32::MAX],
            )
        }),
        pair("bytes_of_a_word", GpuVerify, |t| {
            let launch = t.launch(1, 32).dynamic_shared_bytes(32);
            t.map(
                launch,
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { bytes_of_a_word(to, t.wrong) },
                [0x0101_0101; 8],
            )
        }),
        pair("overlapping_arrays", GpuVerify, |t| {
            let launch = t.launch(1, 32).dynamic_shared_bytes(256);
            // SAFETY: as the crate says of launches.
            t.map(launch, 0, |_, to| unsafe { overlapping_arrays(to, t.wrong) }, [3; 32])
        }),
        pair("broadcast", Racecheck, |t| {
            t.map(
                t.launch(1, 64),
                8,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { broadcast(from, to, t.wrong) },
                [7; 64],
            )
        }),
        pair("flag_in_a_loop", Racecheck, |t| {
            t.map(
                t.launch(1, 64),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { flag_in_a_loop(to, t.wrong) },
                [3; 64],
            )
        }),
    ],
};
