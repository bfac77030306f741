//! `cp.async`: arrival of the bytes, and accesses to pending copies.

use cuda_sim::access::{AccessKind, Space};
use cuda_sim::device::{self, Scope, dynamic_shared_mem, sync_threads};
use cuda_sim::{AsyncStep, Checks, FaultKind, GlobalBuffer, Launch, Report};
use cuda_views::async_copy::{commit, copy, wait};
use cuda_views::{Global, GlobalMut, Shared};

/// Elements of the buffer here, and of shared memory.
const LEN: usize = 32;

/// Runs `body` with `threads` threads: it gets its thread, the buffer, which holds 100, 101, .., twice, and shared
/// memory.
fn run(threads: u32, body: impl Fn(usize, GlobalMut<u32>, Shared<u32>) + Sync) -> (Report, Vec<u32>) {
    run_checked(Checks::Full, threads, body)
}

fn run_checked(
    checks: Checks,
    threads: u32,
    body: impl Fn(usize, GlobalMut<u32>, Shared<u32>) + Sync,
) -> (Report, Vec<u32>) {
    let buffer = GlobalBuffer::from_slice(&std::array::from_fn::<u32, LEN, _>(|i| 100 + i as u32));
    let launch = Launch::new(1, threads)
        .checks(checks)
        .dynamic_shared_bytes(4 * LEN as u32);
    let report = launch.run(|| {
        // SAFETY: both have so many elements.
        let (global, shared) = unsafe {
            (
                GlobalMut::new(buffer.as_mut_ptr(), LEN),
                Shared::new(dynamic_shared_mem().cast::<u32>(), LEN),
            )
        };
        body(device::thread_idx()[0] as usize, global, shared);
    });
    (report, buffer.to_vec())
}

/// Starts a copy of four elements; the simulator refuses it where it is wrong.
#[track_caller]
fn copy_4(shared: Shared<u32>, to: usize, global: GlobalMut<u32>, from: usize) {
    // SAFETY: inside both and aligned, or a fault of the simulator's, as is any access that comes too early.
    unsafe { copy::<u32, 4>(shared, to, global.into(), || from, 4) };
}

#[track_caller]
fn get(shared: Shared<u32>, index: usize) -> u32 {
    // SAFETY: inside; any other mistake is a fault of the simulator's.
    unsafe { shared.get(index) }
}

#[track_caller]
fn set(shared: Shared<u32>, index: usize, value: u32) {
    // SAFETY: as in `get`.
    unsafe { shared.set(index, value) };
}

#[track_caller]
fn write(global: GlobalMut<u32>, index: usize, value: u32) {
    // SAFETY: as in `get`.
    unsafe { global.set(index, value) };
}

/// The missing step in the report's only fault, an access to a pending copy.
#[track_caller]
fn missing(report: &Report) -> (AccessKind, AsyncStep) {
    match report.faults[..] {
        [ref fault] => match fault.kind {
            FaultKind::AsyncPending { access, missing, .. } => (access, missing),
            _ => panic!("{fault}"),
        },
        _ => panic!("{:?}", report.faults),
    }
}

#[test]
fn bytes_arrive_at_the_wait_and_not_before() {
    for checks in [Checks::Off, Checks::Faults, Checks::Full] {
        let (report, _) = run_checked(checks, 1, |_, global, shared| {
            set(shared, 5, 7);
            let past_the_view = || {
                // SAFETY: inside shared memory. A bare pointer, which the simulator does not see.
                unsafe { shared.as_mut_ptr().add(5).read() }
            };
            copy_4(shared, 4, global, 8);
            commit();
            assert_eq!(past_the_view(), 7);
            wait(1);
            assert_eq!(past_the_view(), 7);
            wait(0);
            assert_eq!(past_the_view(), 109);
            assert_eq!([4, 5, 6, 7].map(|i| get(shared, i)), [108, 109, 110, 111]);
        });
        report.assert_clean();
    }
}

#[test]
fn a_wait_covers_all_groups_but_the_latest_and_an_empty_one_counts() {
    let (report, _) = run(1, |_, global, shared| {
        for i in 0..3 {
            copy_4(shared, 4 * i, global, 4 * i);
            commit();
        }
        wait(2);
        assert_eq!(get(shared, 0), 100);
        commit();
        wait(2);
        assert_eq!(get(shared, 4), 104);
        // In no group.
        copy_4(shared, 12, global, 12);
        wait(0);
        assert_eq!(get(shared, 8), 108);
        commit();
        wait(0);
        assert_eq!(get(shared, 12), 112);
    });
    report.assert_clean();
}

#[test]
fn any_access_to_a_pending_copy_is_a_fault() {
    type Access = fn(GlobalMut<u32>, Shared<u32>);
    let accesses: [(Access, AccessKind); 5] = [
        (|_, shared| _ = get(shared, 7), AccessKind::Read),
        (|_, shared| set(shared, 4, 1), AccessKind::Write),
        (
            // SAFETY: four elements of shared memory, aligned.
            |_, shared| _ = unsafe { shared.get_vec::<4>(4) },
            AccessKind::Read,
        ),
        (
            |_, shared| {
                let word = shared.as_mut_ptr().wrapping_add(6);
                // SAFETY: a word of shared memory.
                unsafe { device::atomic_update(word, std::sync::atomic::Ordering::Relaxed, Scope::Block, |x| x) };
            },
            AccessKind::Atomic,
        ),
        (|global, shared| copy_4(shared, 4, global, 0), AccessKind::Write),
    ];
    for (access, kind) in accesses {
        // Beside the copy there is room.
        let (report, _) = run(1, |_, global, shared| {
            set(shared, 3, 1);
            set(shared, 8, 1);
            copy_4(shared, 4, global, 8);
            get(shared, 3);
            get(shared, 8);
        });
        report.assert_clean();
        let (report, _) = run(1, |_, global, shared| {
            copy_4(shared, 4, global, 8);
            access(global, shared);
        });
        assert_eq!(missing(&report), (kind, AsyncStep::Commit));
        // Of another thread's, after a barrier.
        let (report, _) = run(2, |t, global, shared| {
            if t == 1 {
                copy_4(shared, 4, global, 8);
                commit();
            }
            sync_threads();
            if t == 0 {
                access(global, shared);
            }
            sync_threads();
            wait(0);
        });
        assert_eq!(missing(&report), (kind, AsyncStep::Wait));
        let fault = &report.faults[0];
        let other = fault.other.as_ref().expect("the copy");
        assert_eq!((fault.thread, other.thread), ([0; 3], [1, 0, 0]));
        assert_ne!(fault.location.as_ref(), Some(&other.location));
    }
}

#[test]
fn a_wait_orders_nothing_for_other_threads() {
    let copies = |barrier: bool| {
        let (report, _) = run(2, |t, global, shared| {
            if t == 0 {
                copy_4(shared, 0, global, 0);
                commit();
                wait(0);
                // Of its own bytes the thread knows.
                assert_eq!(get(shared, 1), 101);
            }
            if barrier {
                sync_threads();
            }
            get(shared, t);
        });
        report
    };
    copies(true).assert_clean();
    assert_eq!(copies(false).kinds(), ["SharedRace"]);
    // A barrier before the wait is none after it.
    let (report, _) = run(2, |t, global, shared| {
        if t == 0 {
            copy_4(shared, 0, global, 0);
            commit();
        }
        sync_threads();
        wait(0);
        get(shared, t);
    });
    assert_eq!(report.kinds(), ["SharedRace"]);
}

#[test]
fn a_copy_writes_from_its_start_on() {
    let reuse = |barrier: bool| {
        let (report, _) = run(2, |t, global, shared| {
            if t == 0 {
                set(shared, 2, 1);
            }
            sync_threads();
            if t == 0 {
                get(shared, 2);
            }
            if barrier {
                sync_threads();
            }
            if t == 1 {
                copy_4(shared, 0, global, 0);
            }
        });
        report
    };
    reuse(true).assert_clean();
    let report = reuse(false);
    assert_eq!(report.kinds(), ["SharedRace"]);
    let FaultKind::SharedRace { access, offset } = report.faults[0].kind else {
        unreachable!()
    };
    assert_eq!((access, offset), (AccessKind::Write, 0));
}

#[test]
fn no_thread_may_write_the_source_of_a_pending_copy() {
    // The thread's own writes, and those of a thread that a barrier puts between start and wait.
    for writer in [0, 1] {
        for value in [1, 108] {
            let (report, _) = run(2, |t, global, shared| {
                if t == 0 {
                    copy_4(shared, 4, global, 8);
                    commit();
                }
                sync_threads();
                if t == writer {
                    write(global, 8, value);
                }
                wait(0);
            });
            if (writer, value) == (0, 108) {
                // Whichever the hardware reads, it is the same.
                report.assert_clean();
                continue;
            }
            assert_eq!(report.kinds(), ["GlobalRace"], "{writer} writes {value}");
            let other = report.faults[0].other.as_ref().expect("the write");
            let (fault, other) = (report.faults[0].thread[0], other.thread[0]);
            assert!(
                (fault, other) == (0, writer as u32) || (fault, other) == (writer as u32, 0),
                "{report:?}"
            );
        }
    }
    // Ordered on both sides by barriers, and still in between.
    let (report, _) = run(2, |t, global, shared| {
        if t == 0 {
            copy_4(shared, 4, global, 8);
            commit();
        }
        sync_threads();
        if t == 1 {
            write(global, 9, 1);
        }
        sync_threads();
        wait(0);
    });
    assert_eq!(report.kinds(), ["GlobalRace"]);
    // After the wait, and beside the source.
    let (report, buffer) = run(2, |t, global, shared| {
        if t == 0 {
            // SAFETY: three elements inside the buffer, four of shared memory.
            unsafe { copy::<u32, 4>(shared, 4, global.into(), || 8, 3) };
            commit();
            write(global, 11, 2);
            wait(0);
            assert_eq!([4, 5, 6, 7].map(|i| get(shared, i)), [108, 109, 110, 0]);
        }
        sync_threads();
        if t == 1 {
            write(global, 8, 3);
        }
    });
    report.assert_clean();
    assert_eq!(buffer[8..12], [3, 109, 110, 2]);
}

#[test]
fn zeros_take_the_place_of_what_is_not_valid() {
    let (report, _) = run(1, |_, global, shared| {
        for valid in 0..=4 {
            let index = || {
                assert!(valid > 0, "nothing to read");
                LEN - valid
            };
            if valid == 0 || (LEN - valid).is_multiple_of(4) {
                // SAFETY: `valid` elements inside the buffer, four of shared memory.
                unsafe { copy::<u32, 4>(shared, 4 * valid, global.into(), index, valid) };
            }
        }
        // SAFETY: aligned to 8 and to 4 bytes.
        unsafe {
            copy::<u32, 2>(shared, 2 + 20, global.into(), || 30, 1);
            copy::<u32, 1>(shared, 25, global.into(), || 31, 1);
        }
        commit();
        wait(0);
        assert_eq!([0, 1, 2, 3].map(|i| get(shared, i)), [0; 4]);
        assert_eq!([16, 17, 18, 19].map(|i| get(shared, i)), [128, 129, 130, 131]);
        assert_eq!([22, 23, 25].map(|i| get(shared, i)), [130, 0, 131]);
    });
    report.assert_clean();
}

#[test]
fn both_ends_are_checked_where_the_copy_starts() {
    let wrong = |body: fn(GlobalMut<u32>, Shared<u32>)| {
        let (report, _) = run(1, |_, global, shared| {
            body(global, shared);
            unreachable!("the thread ends at the copy");
        });
        let [ref fault] = report.faults[..] else {
            panic!("{:?}", report.faults)
        };
        match &fault.kind {
            FaultKind::OutOfBounds { space, .. } => ("OutOfBounds", *space),
            FaultKind::Misaligned { space, .. } => ("Misaligned", *space),
            _ => panic!("{fault}"),
        }
    };
    assert_eq!(
        wrong(|from, to| copy_4(to, LEN, from, 0)),
        ("OutOfBounds", Space::Shared)
    );
    assert_eq!(
        wrong(|from, to| copy_4(to, 0, from, LEN)),
        ("OutOfBounds", Space::Global)
    );
    assert_eq!(wrong(|from, to| copy_4(to, 2, from, 0)), ("Misaligned", Space::Shared));
    assert_eq!(wrong(|from, to| copy_4(to, 0, from, 2)), ("Misaligned", Space::Global));
    // SAFETY: (of all) the simulator does not let them happen.
    let parts: [fn(GlobalMut<u32>, Shared<u32>); 3] = [
        |from, to| copy_4(unsafe { to.part(0, 2) }, 0, from, 0),
        |from, to| copy_4(to, 0, unsafe { from.part(0, 3) }, 0),
        |from, to| unsafe { copy::<u32, 4>(to, 0, Global::from(from).part(4, 2), || 0, 3) },
    ];
    assert_eq!(parts.map(|part| wrong(part).0), ["OutOfBounds"; 3]);
    // Only the valid elements must exist.
    let (report, _) = run(1, |_, from, to| {
        // SAFETY: two elements.
        unsafe { copy::<u32, 4>(to, 0, Global::from(from).part(4, 2), || 0, 2) };
    });
    report.assert_clean();
    let (report, _) = run(1, |_, from, to| {
        // SAFETY: the simulator takes it for a fault of the kernel's.
        unsafe { copy::<u32, 1>(to, 0, from.into(), || 0, 2) };
    });
    assert_eq!(report.kinds(), ["Panic"]);
}

#[test]
fn the_source_must_have_been_written_and_be_no_padding() {
    let copied = |buffer: &GlobalBuffer<u32>, valid| {
        Launch::new(1, 1).dynamic_shared_bytes(16).run(|| {
            // SAFETY: the simulator does not let the copy leave the matrix.
            unsafe {
                let (from, to) = (
                    Global::new_unbounded(buffer.as_ptr()),
                    Shared::new(dynamic_shared_mem().cast::<u32>(), 4),
                );
                copy::<u32, 4>(to, 0, from, || 0, valid);
                commit();
                wait(0);
            }
        })
    };
    assert_eq!(copied(&GlobalBuffer::uninit(4), 4).kinds(), ["UninitializedRead"]);
    let matrix = GlobalBuffer::matrix(&[1; 7], 2, 3, 4);
    copied(&matrix, 3).assert_clean();
    assert_eq!(copied(&matrix, 4).kinds(), ["OutOfBounds"]);
}

#[test]
fn what_was_never_waited_for_ends_with_its_block() {
    let buffer = GlobalBuffer::from_slice(&[1_u32; 4]);
    let report = Launch::new(3, 2).workers(1).dynamic_shared_bytes(32).run(|| {
        let t = device::thread_idx()[0] as usize;
        // SAFETY: four elements for each thread; the other half of shared memory is unused.
        unsafe {
            let to = Shared::new(dynamic_shared_mem().cast::<u32>(), 8);
            to.set(4 * t, 7);
            copy::<u32, 4>(to, 4 * t, Global::new(buffer.as_ptr(), 4), || 0, 4);
            if t == 0 {
                commit();
            }
        }
    });
    report.assert_clean();
}

#[test]
fn a_copy_counts_as_a_load_and_a_store() {
    let from = GlobalBuffer::from_slice(&[1.0_f32; 128]);
    let report = Launch::new(1, 32).dynamic_shared_bytes(512).run(|| {
        let t = device::thread_idx()[0] as usize;
        // SAFETY: four elements for each thread.
        unsafe {
            let from = Global::new(from.as_ptr(), 128);
            let to = Shared::new(dynamic_shared_mem().cast::<f32>(), 128);
            // The last eight lanes have nothing to copy, the one before half of it.
            let valid = (98_usize).saturating_sub(4 * t).min(4);
            copy::<f32, 4>(to, 4 * t, from, || 4 * t, valid);
            commit();
            wait(0);
        }
    });
    report.assert_clean();
    let traffic: Vec<_> = report
        .lines
        .iter()
        .map(|line| (line.kind.space, line.kind.access))
        .collect();
    assert_eq!(
        traffic,
        [(Space::Shared, AccessKind::Write), (Space::Global, AccessKind::Read)]
    );
    let [shared, global] = &report.lines[..] else {
        unreachable!()
    };
    // 32 lanes of 16 bytes are four wavefronts; 25 lanes, from 400 bytes, 13 sectors.
    assert_eq!((shared.requests, shared.lanes, shared.actual), (1, 32, 4));
    assert_eq!((global.requests, global.lanes, global.actual), (1, 25, 13));
}
