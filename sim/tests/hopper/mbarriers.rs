//! One mbarrier: phases, order, invalid uses.

use cuda_sim::device::{sync_threads, thread_idx};
use cuda_sim::{FaultKind, Launch, MbarrierProblem, Report, Schedule};
use cuda_views::Shared;
use cuda_views::mbarrier::{arrive, arrive_expect_tx, expect_tx, init, invalidate, try_wait, wait};

use crate::common::{assert_finds, kinds, shared};

/// Runs `body` with its thread, an mbarrier of `count` arrivals that all know, and 64 words of shared memory.
fn run(threads: u32, count: u32, body: impl Fn(u32, Shared<u64>, Shared<u32>) + Sync) -> Report {
    let launch = Launch::new(1, threads)
        .dynamic_shared_bytes(1024)
        .schedule(Schedule::All);
    launch.run(|| {
        let (barrier, words) = (shared::<u64>(0, 1), shared::<u32>(256, 64));
        let thread = thread_idx()[0];
        if thread == 0 {
            init(barrier, 0, count);
        }
        sync_threads();
        body(thread, barrier, words);
    })
}

/// The problem with the mbarrier that the report's first fault is about.
#[track_caller]
fn problem(report: &Report) -> &MbarrierProblem {
    match &report.faults.first().expect("a fault").kind {
        FaultKind::Mbarrier { offset: 0, problem } => problem,
        other => panic!("{other}"),
    }
}

#[test]
fn a_phase_orders_those_that_arrive_before_those_that_wait() {
    // Warp 1 sums the elements that warp 0 has written, ten times.
    let report = run(64, 32, |thread, full, words| {
        // A second one, for the way back.
        let empty = shared::<u64>(8, 1);
        if thread == 0 {
            init(empty, 0, 32);
        }
        sync_threads();
        for round in 0..10_u32 {
            // SAFETY: inside; the two mbarriers order the accesses.
            unsafe {
                if thread < 32 {
                    if round > 0 {
                        wait(empty, 0, (round - 1) & 1);
                    }
                    words.set(thread as usize, round + thread);
                    arrive(full, 0);
                } else {
                    wait(full, 0, round & 1);
                    let sum: u32 = (0..32).map(|i| words.get(i)).sum();
                    assert_eq!(sum, 32 * round + 496);
                    arrive(empty, 0);
                }
            }
        }
    });
    report.assert_clean();
}

#[test]
fn try_wait_tells_and_acquires() {
    let report = run(2, 1, |thread, barrier, words| {
        // SAFETY: inside; the mbarrier orders the two.
        unsafe {
            if thread == 0 {
                words.set(0, 7);
                arrive(barrier, 0);
            } else {
                while !try_wait(barrier, 0, 0) {}
                assert_eq!(words.get(0), 7);
                // The phase before the first one counts as complete.
                assert!(!try_wait(barrier, 0, 1));
            }
        }
    });
    report.assert_clean();
}

#[test]
fn the_parity_of_the_phase_before_the_first_is_complete() {
    run(1, 1, |_, barrier, _| wait(barrier, 0, 1)).assert_clean();
}

#[test]
fn arriving_without_a_wait_orders_nothing() {
    let report = run(2, 2, |thread, barrier, words| {
        // SAFETY: inside; that nothing orders the two is the fault.
        unsafe {
            if thread == 0 {
                words.set(0, 7);
            }
            arrive(barrier, 0);
            if thread == 1 {
                words.get(0);
            }
        }
    });
    assert_finds(&report, "SharedRace", "at byte 256");
}

#[test]
fn what_is_done_after_the_arrival_is_not_released() {
    let report = run(2, 1, |thread, barrier, words| {
        // SAFETY: inside; that nothing orders the two is the fault.
        unsafe {
            if thread == 0 {
                arrive(barrier, 0);
                words.set(0, 7);
            } else {
                wait(barrier, 0, 0);
                words.get(0);
            }
        }
    });
    assert!(kinds(&report).contains(&"SharedRace"), "{:?}", report.faults);
}

#[test]
fn each_misuse_is_named_with_its_numbers() {
    use MbarrierProblem::*;
    let report = Launch::new(1, 1)
        .dynamic_shared_bytes(1024)
        .run(|| arrive(shared(0, 1), 0));
    assert_eq!(problem(&report), &NotInitialized);
    let report = run(1, 1, |_, barrier, _| {
        invalidate(barrier, 0);
        wait(barrier, 0, 0);
    });
    assert_eq!(problem(&report), &NotInitialized);
    let report = run(1, 1, |_, barrier, _| init(barrier, 0, 2));
    assert_eq!(problem(&report), &InitializedAgain);
    for count in [0, 1 << 20] {
        let most = (1 << 20) - 1;
        assert_eq!(problem(&run(1, count, |_, _, _| ())), &Count { count, most });
    }
    let report = run(1, 2, |_, barrier, _| {
        expect_tx(barrier, 0, 16);
        (0..3).for_each(|_| arrive(barrier, 0));
    });
    assert_eq!(problem(&report), &TooManyArrivals { expected: 2, phase: 0 });
    let report = run(1, 1, |_, barrier, _| {
        expect_tx(barrier, 0, 1 << 19);
        arrive_expect_tx(barrier, 0, 1 << 19);
    });
    let (bytes, most) = (1 << 20, (1 << 20) - 1);
    assert_eq!(problem(&report), &Bytes { bytes, most });
}

#[test]
fn an_ordinary_access_to_its_bytes_is_a_fault_until_it_is_invalidated() {
    let report = run(1, 1, |_, barrier, _| {
        // SAFETY: inside; that it is an mbarrier is the fault.
        unsafe { barrier.get(0) };
    });
    let access = cuda_sim::access::AccessKind::Read;
    assert_eq!(problem(&report), &MbarrierProblem::OrdinaryAccess { access });
    let report = run(1, 1, |_, barrier, words| {
        invalidate(barrier, 0);
        // SAFETY: inside.
        unsafe {
            barrier.set(0, 1);
            words.set(0, 1);
        }
    });
    report.assert_clean();
}

#[test]
fn initializing_without_a_barrier_of_the_block_is_a_race() {
    let report = Launch::new(1, 2).dynamic_shared_bytes(64).run(|| {
        let barrier = shared(0, 1);
        if thread_idx()[0] == 0 {
            init(barrier, 0, 2);
        }
        arrive(barrier, 0);
    });
    assert_finds(&report, "SharedRace", "at byte 0");
}

#[test]
fn a_wait_for_ever_names_what_is_missing() {
    let report = run(3, 3, |thread, barrier, _| {
        if thread == 0 {
            arrive_expect_tx(barrier, 0, 4096);
        }
        wait(barrier, 0, 0);
    });
    let text = "3 wait for the mbarrier at byte 0 of shared memory (phase 0 lacks 2 of 3 arrivals and 4096 bytes) at";
    assert_finds(&report, "Deadlock", text);
}
