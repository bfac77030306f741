//! Named barriers: completion, order, invalid counts.

use cuda_sim::device::{dynamic_shared_mem, sync_threads, thread_idx};
use cuda_sim::{FaultKind, Launch, Report, Schedule};
use cuda_views::Shared;
use cuda_views::named_barrier::{arrive, sync};

const LEN: usize = 256;

fn thread() -> usize {
    thread_idx()[0] as usize
}

fn warp() -> usize {
    thread() / 32
}

#[track_caller]
fn get(index: usize) -> u32 {
    // SAFETY: inside, or a fault of the simulator's.
    unsafe { Shared::new(dynamic_shared_mem().cast::<u32>(), LEN).get(index) }
}

#[track_caller]
fn set(index: usize, value: u32) {
    // SAFETY: as in `get`.
    unsafe { Shared::new(dynamic_shared_mem().cast::<u32>(), LEN).set(index, value) };
}

fn run(warps: u32, kernel: impl Fn() + Sync) -> Report {
    let launch = Launch::new(2, 32 * warps).dynamic_shared_bytes(4 * LEN as u32);
    launch.schedule(Schedule::All).run(kernel)
}

#[test]
fn who_waits_sees_what_others_did_before_they_arrived() {
    run(3, || {
        match warp() {
            0 => {
                set(thread(), 7 + thread() as u32);
                arrive(1, 96);
            }
            // Both wait, and see each other, too.
            _ => {
                set(thread(), 7 + thread() as u32);
                sync(1, 96);
                for other in 0..96 {
                    assert_eq!(get(other), 7 + other as u32);
                }
            }
        }
    })
    .assert_clean();
}

#[test]
fn a_ring_of_two_barriers_hands_a_stage_back_and_forth() {
    const FULL: u32 = 1;
    const EMPTY: u32 = 2;
    run(2, || {
        for step in 0..5 {
            if warp() == 0 {
                if step > 0 {
                    sync(EMPTY, 64);
                }
                set(thread(), 10 * step + thread() as u32);
                arrive(FULL, 64);
            } else {
                sync(FULL, 64);
                assert_eq!(get(63 - thread()), 10 * step + (63 - thread()) as u32);
                if step < 4 {
                    arrive(EMPTY, 64);
                }
            }
        }
        // The block's own barrier is another one.
        sync_threads();
        assert_eq!(get(0), 40);
    })
    .assert_clean();
}

#[test]
fn who_only_arrives_sees_nothing_and_who_is_elsewhere_neither() {
    let report = run(2, || {
        if warp() == 0 {
            set(thread(), 1);
            sync(1, 64);
        } else {
            arrive(1, 64);
            get(thread() - 32);
        }
    });
    assert_eq!(report.faults[0].kind.name(), "SharedRace", "{report}");
    let report = run(3, || {
        if warp() == 0 {
            set(thread(), 1);
        }
        if warp() < 2 {
            sync(1, 64);
        } else {
            get(thread() - 64);
        }
    });
    assert!(report.kinds().contains(&"SharedRace"), "{report}");
    // Accesses after the arrival are not ordered.
    let report = run(2, || {
        if warp() == 0 {
            arrive(1, 64);
            set(thread(), 1);
        } else {
            sync(1, 64);
            set(thread() - 32, 2);
        }
    });
    assert!(report.kinds().contains(&"SharedRace"), "{report}");
}

#[test]
fn who_comes_too_late_or_not_at_all_is_a_deadlock() {
    let report = run(2, || {
        if warp() == 0 {
            sync(1, 64);
        }
    });
    assert_eq!(report.kinds(), ["Deadlock"]);
    let FaultKind::Deadlock { waiting } = &report.faults[0].kind else {
        unreachable!()
    };
    assert!(
        waiting.starts_with("32 wait at a named barrier at ") && waiting.ends_with("32 have ended"),
        "{waiting}"
    );
    // A warp arrives when all its lanes have.
    let report = run(2, || {
        if thread() != 40 {
            sync(1, 64);
        }
    });
    assert_eq!(report.kinds(), ["Deadlock"]);
    // One warp each at two barriers.
    let report = run(2, || sync(1 + warp() as u32, 64));
    assert_eq!(report.kinds(), ["Deadlock"]);
    let report = run(2, || {
        if warp() == 0 {
            sync(1, 64);
        } else {
            sync_threads();
        }
    });
    assert_eq!(report.kinds(), ["Deadlock"]);
}

/// The problem in the report's only fault.
#[track_caller]
fn problem(report: &Report) -> (u32, &str) {
    match &report.faults[..] {
        [fault] => match &fault.kind {
            FaultKind::NamedBarrier { id, problem } => (*id, problem),
            other => panic!("{other}"),
        },
        _ => panic!("{report}"),
    }
}

#[test]
fn numbers_and_counts_that_cannot_be_are_named() {
    for id in [0, 16, 99] {
        let report = run(2, || sync(id, 64));
        assert_eq!(problem(&report), (id, "there are barriers 1 to 15, and 0, the block's"));
    }
    for threads in [0, 33, 96] {
        let report = run(2, || sync(4, threads));
        let expected = format!("a count of {threads} threads, it is a multiple of 32 up to the block's 64");
        assert_eq!(problem(&report), (4, &*expected));
    }
    // A block whose last warp is not whole counts it as one.
    Launch::new(1, 40).run(|| sync(1, 64)).assert_clean();
}

#[test]
fn counts_must_agree_and_be_kept() {
    let one_schedule = |warps: u32, kernel: &(dyn Fn() + Sync)| Launch::new(1, 32 * warps).run(kernel);
    let report = one_schedule(3, &|| sync(2, if warp() == 1 { 96 } else { 64 }));
    assert_eq!(
        problem(&report),
        (2, "a count of 96 threads here, of 64 where the first thread arrived")
    );
    assert!(report.faults[0].other.is_some());
    let report = one_schedule(2, &|| {
        if warp() == 0 {
            arrive(2, 64);
            arrive(2, 64);
        } else {
            sync(2, 64);
        }
    });
    assert_eq!(
        problem(&report),
        (2, "the thread arrives again before the 64 threads have that open it")
    );
    // The second half of warp 0 does not come, and warp 1 opens it alone.
    let report = one_schedule(2, &|| {
        if thread() >= 16 || warp() == 1 {
            sync(2, 32);
        }
    });
    assert_eq!(problem(&report), (2, "48 threads have arrived where 32 open it"));
    // Behind one that has opened it may be another count.
    one_schedule(3, &|| {
        if warp() < 2 {
            sync(2, 64);
        }
        sync_threads();
        sync(2, 96);
    })
    .assert_clean();
}
