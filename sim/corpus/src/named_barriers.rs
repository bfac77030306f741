//! Named barriers: warps of a block as producers and consumers.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::named_barrier::{arrive, sync};
use cuda_views::{Global, GlobalMut, Shared};

use crate::pair::Suite::*;
use crate::pair::{Family, pair};

/// The stage is filled.
const FULL: u32 = 1;
/// The stage is drained.
const EMPTY: u32 = 2;

/// What a pipeline of one stage lacks.
#[derive(Clone, Copy, PartialEq)]
enum Lacks {
    Nothing,
    Full,
    Empty,
    Order,
}

/// A producer warp and a consumer warp, four rounds through one stage.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn one_stage(from: *const u32, to: *mut u32, lacks: Lacks) {
    let (lane, warp) = (thread::thread_idx_x() as usize % 32, thread::thread_idx_x() / 32);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let (from, to) = (Global::new(from, 128), GlobalMut::new(to, 128));
        let stage = Shared::new(shared_array![u32; 32], 32);
        for round in 0..4 {
            if warp == 0 {
                if round > 0 && lacks != Lacks::Empty {
                    sync(EMPTY, 64);
                }
                if lacks == Lacks::Order {
                    arrive(FULL, 64);
                }
                // expect: stage_not_awaited SharedRace; arrival_before_write SharedRace
                stage.set(lane, from.get(32 * round + lane));
                if !matches!(lacks, Lacks::Full | Lacks::Order) {
                    arrive(FULL, 64); // expect: stage_not_released NamedBarrier
                }
            } else {
                if lacks != Lacks::Full {
                    sync(FULL, 64);
                }
                // against: stage_not_awaited; arrival_before_write
                to.set(32 * round + lane, stage.get(31 - lane));
                if round < 3 && lacks != Lacks::Empty {
                    arrive(EMPTY, 64);
                }
            }
        }
    }
}

/// Four rows of 32 numbers, each in reverse.
fn reversed_rows() -> impl Iterator<Item = u32> {
    (0..128).map(|i| i / 32 * 32 + 31 - i % 32)
}

/// A number of barrier and a number of threads.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn sync_named(to: *mut u32, id: u32, threads: u32) {
    sync(id, threads); // expect: invalid_number NamedBarrier; invalid_count NamedBarrier
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 64).set(thread::thread_idx_x() as usize, 1) };
}

/// A warp that never comes.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn missing_warp(to: *mut u32, wrong: bool) {
    let warp = thread::thread_idx_x() / 32;
    if !wrong || warp < 2 {
        sync(FULL, 96); // expect: missing_warp Deadlock
    }
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 96).set(thread::thread_idx_x() as usize, 1) };
}

/// The warps do not agree on the count.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn counts_differ(to: *mut u32, wrong: bool) {
    let warp = thread::thread_idx_x() / 32;
    sync(3, if wrong && warp == 1 { 64 } else { 96 }); // expect: counts_differ NamedBarrier
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 96).set(thread::thread_idx_x() as usize, 1) };
}

/// Each warp waits at a barrier of its own for both.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn numbers_differ(to: *mut u32, wrong: bool) {
    let warp = thread::thread_idx_x() / 32;
    sync(if wrong { 1 + warp } else { 1 }, 64); // expect: numbers_differ Deadlock
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 64).set(thread::thread_idx_x() as usize, 1) };
}

/// A warp that arrives twice where another should have.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn arrival_twice(to: *mut u32, wrong: bool) {
    let warp = thread::thread_idx_x() / 32;
    if warp == 0 {
        arrive(FULL, 64);
        if wrong {
            arrive(FULL, 64); // expect: arrival_twice NamedBarrier
        }
    } else {
        sync(FULL, 64);
    }
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 64).set(thread::thread_idx_x() as usize, 1) };
}

/// A warp that only arrives knows nothing of those that wait.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn arrival_is_no_wait(to: *mut u32, wrong: bool) {
    let (t, warp) = (thread::thread_idx_x() as usize, thread::thread_idx_x() / 32);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let cells = Shared::new(shared_array![u32; 64], 64);
        cells.set(t, 1); // against: arrival_is_no_wait
        if wrong && warp == 0 {
            arrive(FULL, 64);
        } else {
            sync(FULL, 64);
        }
        GlobalMut::new(to, 64).set(t, cells.get(63 - t)); // expect: arrival_is_no_wait SharedRace
    }
}

/// A third warp reads what a barrier of the two others orders.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn bystander(to: *mut u32, wrong: bool) {
    let (t, warp) = (thread::thread_idx_x() as usize, thread::thread_idx_x() / 32);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let cells = Shared::new(shared_array![u32; 32], 32);
        if warp == 0 {
            cells.set(t, 1); // against: bystander
        }
        if warp < 2 || !wrong {
            sync(FULL, if wrong { 64 } else { 96 });
        }
        GlobalMut::new(to, 96).set(t, cells.get(t % 32)); // expect: bystander SharedRace
    }
}

pub const FAMILY: Family = Family {
    name: "named_barriers",
    source: include_str!("named_barriers.rs"),
    pairs: &[
        pair("stage_not_awaited", Cutlass, |t| {
            let lacks = if t.wrong { Lacks::Full } else { Lacks::Nothing };
            t.map(
                t.launch(1, 64),
                128,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { one_stage(from, to, lacks) },
                reversed_rows(),
            )
        }),
        pair("stage_not_released", Cutlass, |t| {
            let lacks = if t.wrong { Lacks::Empty } else { Lacks::Nothing };
            t.map(
                t.launch(1, 64),
                128,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { one_stage(from, to, lacks) },
                reversed_rows(),
            )
        }),
        pair("arrival_before_write", Cutlass, |t| {
            let lacks = if t.wrong { Lacks::Order } else { Lacks::Nothing };
            t.map(
                t.launch(1, 64),
                128,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { one_stage(from, to, lacks) },
                reversed_rows(),
            )
        }),
        pair("invalid_number", Synccheck, |t| {
            let id = if t.wrong { 16 } else { 15 };
            // SAFETY: as the crate says of launches.
            t.map(t.launch(1, 64), 0, |_, to| unsafe { sync_named(to, id, 64) }, [1; 64])
        }),
        pair("invalid_count", Synccheck, |t| {
            let threads = if t.wrong { 48 } else { 64 };
            // SAFETY: as the crate says of launches.
            t.map(
                t.launch(1, 64),
                0,
                |_, to| unsafe { sync_named(to, 1, threads) },
                [1; 64],
            )
        }),
        pair("missing_warp", Synccheck, |t| {
            t.map(
                t.launch(1, 96),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { missing_warp(to, t.wrong) },
                [1; 96],
            )
        }),
        pair("counts_differ", Synccheck, |t| {
            t.map(
                t.launch(1, 96),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { counts_differ(to, t.wrong) },
                [1; 96],
            )
        }),
        pair("numbers_differ", Synccheck, |t| {
            t.map(
                t.launch(1, 64),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { numbers_differ(to, t.wrong) },
                [1; 64],
            )
        }),
        pair("arrival_twice", Synccheck, |t| {
            t.map(
                t.launch(1, 64),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { arrival_twice(to, t.wrong) },
                [1; 64],
            )
        }),
        pair("arrival_is_no_wait", Cutlass, |t| {
            t.map(
                t.launch(1, 64),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { arrival_is_no_wait(to, t.wrong) },
                [1; 64],
            )
        }),
        pair("bystander", Cutlass, |t| {
            // SAFETY: as the crate says of launches.
            t.map(t.launch(1, 96), 0, |_, to| unsafe { bystander(to, t.wrong) }, [1; 96])
        }),
    ],
};
