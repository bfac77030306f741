//! `cp.async`: copies from global to shared memory that proceed while their thread continues.

use cuda_sim::GlobalBuffer;
use cuda_std::async_copy::{cp_async_ca, cp_async_commit_group, cp_async_wait_all, cp_async_wait_group};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

use crate::pair::Suite::*;
use crate::pair::{Family, numbers, pair};

/// What a copy lacks.
#[derive(Clone, Copy, PartialEq)]
enum Lacks {
    Nothing,
    Commit,
    Wait,
    Barrier,
    OrderOfBoth,
}

/// One copy a thread, read by another thread.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn one_copy(from: *const u32, to: *mut u32, lacks: Lacks) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 64], 64);
        // against: copy_not_committed; copy_not_awaited; copy_without_barrier; barrier_before_wait
        cp_async_ca(tile.as_mut_ptr().add(t), from.add(t));
        if lacks != Lacks::Commit {
            cp_async_commit_group();
        }
        if lacks == Lacks::OrderOfBoth {
            thread::sync_threads();
        }
        match lacks {
            Lacks::Wait => {}
            _ => cp_async_wait_group::<0>(),
        }
        if !matches!(lacks, Lacks::Barrier | Lacks::OrderOfBoth) {
            thread::sync_threads();
        }
        // expect: copy_not_committed AsyncPending; copy_not_awaited AsyncPending; copy_without_barrier SharedRace
        // expect: barrier_before_wait SharedRace
        let value = tile.get(63 - t);
        GlobalMut::new(to, 64).set(t, value);
    }
}

/// A pipeline of two stages.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn two_stages(from: *const u32, to: *mut u32, pending: u32, drains: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let (to, stages) = (GlobalMut::new(to, 128), Shared::new(shared_array![u32; 64], 64));
        let start = |tile: usize| {
            if tile < 4 {
                // expect: stage_refilled_early SharedRace
                // against: one_group_too_few
                cp_async_ca(stages.as_mut_ptr().add(32 * (tile % 2) + t), from.add(32 * tile + t));
            }
            cp_async_commit_group();
        };
        start(0);
        start(1);
        for tile in 0..4 {
            match pending {
                1 => cp_async_wait_group::<1>(),
                _ => cp_async_wait_group::<2>(),
            }
            thread::sync_threads();
            // expect: one_group_too_few AsyncPending
            // against: stage_refilled_early
            let value = stages.get(32 * (tile % 2) + 31 - t);
            to.set(32 * tile + t, value);
            if drains {
                thread::sync_threads();
            }
            start(tile + 2);
        }
    }
}

/// Four rows of 32 numbers, each in reverse.
fn reversed_rows() -> impl Iterator<Item = u32> {
    (0..128).map(|i| i / 32 * 32 + 31 - i % 32)
}

/// The source changes while it is copied.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn source_changes(from: *mut u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 32], 32);
        cp_async_ca(tile.as_mut_ptr().add(t), from.add(t)); // against: source_changes
        if wrong {
            GlobalMut::new(from, 32).set(t, 0); // expect: source_changes GlobalRace
        }
        cp_async_wait_all();
        GlobalMut::new(to, 32).set(t, tile.get(t));
    }
}

/// A plain store to the destination of a pending copy.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn store_to_destination(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 32], 32);
        if !wrong {
            tile.set(t, 0);
        }
        cp_async_ca(tile.as_mut_ptr().add(t), from.add(t)); // against: store_to_destination
        if wrong {
            tile.set(t, 0); // expect: store_to_destination AsyncPending
        }
        cp_async_wait_all();
        GlobalMut::new(to, 32).set(t, tile.get(t));
    }
}

/// Sixteen bytes, aligned.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Vector(#[allow(dead_code)] [u32; 4]);

/// Copies of 16 bytes from a row that begins elsewhere.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn misaligned_copy(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = shared_array![Vector; 8];
        let source = from.add(if wrong { 1 } else { 4 } + 4 * t).cast::<Vector>();
        cp_async_ca(tile.add(t), source); // expect: misaligned_copy Misaligned
        cp_async_wait_all();
        GlobalMut::new(to, 8).set(t, Shared::new(tile.cast::<u32>(), 32).get(4 * t));
    }
}

/// The last copies read past the end.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn copy_past_end(from: *const u32, to: *mut u32, len: usize, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 32], 32);
        if wrong || t < len {
            cp_async_ca(tile.as_mut_ptr().add(t), from.add(t)); // expect: copy_past_end OutOfBounds
        } else {
            tile.set(t, 0);
        }
        cp_async_wait_all();
        GlobalMut::new(to, 32).set(t, tile.get(t));
    }
}

/// A copy of memory that nobody wrote.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn copy_of_nothing(from: *mut u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 32], 32);
        if !wrong {
            GlobalMut::new(from, 32).set(t, 3);
        }
        cp_async_ca(tile.as_mut_ptr().add(t), from.add(t)); // expect: copy_of_nothing UninitializedRead
        cp_async_wait_all();
        GlobalMut::new(to, 32).set(t, tile.get(t));
    }
}

/// Two threads copy to one place.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn same_destination(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = Shared::new(shared_array![u32; 32], 32);
        let place = if wrong { t / 2 } else { t };
        cp_async_ca(tile.as_mut_ptr().add(place), from.add(t)); // expect: same_destination SharedRace
        cp_async_wait_all();
        thread::sync_threads();
        GlobalMut::new(to, 32).set(t, if wrong { 0 } else { tile.get(t) });
    }
}

/// A copy of four words of which the guard knows only the first.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn guard_of_first_word(from: *const u32, to: *mut u32, len: usize, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let tile = shared_array![Vector; 8];
        let words = Shared::new(tile.cast::<u32>(), 32);
        if 4 * t + if wrong { 0 } else { 3 } < len {
            // expect: guard_of_first_word OutOfBounds
            cp_async_ca(tile.add(t), from.add(4 * t).cast::<Vector>());
        } else {
            let from = Global::new(from, len);
            (4 * t..4 * t + 4).for_each(|i| words.set(i, from.get_if(i < len, || i, 0)));
        }
        cp_async_wait_all();
        thread::sync_threads();
        (0..4).for_each(|k| GlobalMut::new(to, 32).set(4 * t + k, words.get(4 * t + k)));
    }
}

pub const FAMILY: Family = Family {
    name: "async_copies",
    source: include_str!("async_copies.rs"),
    pairs: &[
        pair("copy_not_committed", Racecheck, |t| {
            let lacks = if t.wrong { Lacks::Commit } else { Lacks::Nothing };
            t.map(
                t.launch(1, 64),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { one_copy(from, to, lacks) },
                (0..64).rev(),
            )
        }),
        pair("copy_not_awaited", Racecheck, |t| {
            let lacks = if t.wrong { Lacks::Wait } else { Lacks::Nothing };
            t.map(
                t.launch(1, 64),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { one_copy(from, to, lacks) },
                (0..64).rev(),
            )
        }),
        pair("copy_without_barrier", Racecheck, |t| {
            let lacks = if t.wrong { Lacks::Barrier } else { Lacks::Nothing };
            t.map(
                t.launch(1, 64),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { one_copy(from, to, lacks) },
                (0..64).rev(),
            )
        }),
        pair("barrier_before_wait", GpuVerify, |t| {
            let lacks = if t.wrong { Lacks::OrderOfBoth } else { Lacks::Nothing };
            t.map(
                t.launch(1, 64),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { one_copy(from, to, lacks) },
                (0..64).rev(),
            )
        }),
        pair("one_group_too_few", Cutlass, |t| {
            let pending = if t.wrong { 2 } else { 1 };
            t.map(
                t.launch(1, 32),
                128,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { two_stages(from, to, pending, true) },
                reversed_rows(),
            )
        }),
        pair("stage_refilled_early", Cutlass, |t| {
            // SAFETY: as the crate says of launches.
            let kernel = |from, to| unsafe { two_stages(from, to, 1, !t.wrong) };
            t.map(t.launch(1, 32), 128, kernel, reversed_rows())
        }),
        pair("source_changes", GpuVerify, |t| {
            let from = numbers(32);
            t.map(
                t.launch(1, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { source_changes(from.as_mut_ptr(), to, t.wrong) },
                0..32,
            )
        }),
        pair("store_to_destination", GpuVerify, |t| {
            t.map(
                t.launch(1, 32),
                32,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { store_to_destination(from, to, t.wrong) },
                0..32,
            )
        }),
        pair("misaligned_copy", Memcheck, |t| {
            let firsts = (1..9).map(|i| 4 * i);
            t.map(
                t.launch(1, 8),
                40,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { misaligned_copy(from, to, t.wrong) },
                firsts,
            )
        }),
        pair("copy_past_end", Memcheck, |t| {
            let copied = (0..32).map(|i| if i < 20 { i } else { 0 });
            t.map(
                t.launch(1, 32),
                20,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { copy_past_end(from, to, 20, t.wrong) },
                copied,
            )
        }),
        pair("copy_of_nothing", Initcheck, |t| {
            let from = GlobalBuffer::uninit(32);
            t.map(
                t.launch(1, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { copy_of_nothing(from.as_mut_ptr(), to, t.wrong) },
                [3; 32],
            )
        }),
        pair("same_destination", Racecheck, |t| {
            t.map(
                t.launch(1, 32),
                32,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { same_destination(from, to, t.wrong) },
                0..32,
            )
        }),
        pair("guard_of_first_word", Memcheck, |t| {
            let copied = (0..32).map(|i| if i < 30 { i } else { 0 });
            t.map(
                t.launch(1, 8),
                30,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { guard_of_first_word(from, to, 30, t.wrong) },
                copied,
            )
        }),
    ],
};
