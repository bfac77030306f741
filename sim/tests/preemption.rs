//! Schedules that pre-empt threads at atomics, and the schedule that a launch has by default.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use cuda_sim::device::{self, Scope};
use cuda_sim::{Checks, GlobalBuffer, Launch, Report, Schedule};

fn thread() -> usize {
    device::thread_idx()[0] as usize
}

fn block() -> usize {
    device::block_idx()[0] as usize
}

/// Counts threads: by one update each, or by a load and a store, between which others are lost.
fn count(launch: &Launch, loses: bool) -> (Report, u32) {
    let count = GlobalBuffer::<u32>::zeroed(1);
    let report = launch.run(|| {
        // SAFETY: inside the buffer.
        unsafe {
            if loses {
                let seen = device::atomic_load(count.as_ptr(), Relaxed, Scope::Device);
                device::atomic_store(count.as_mut_ptr(), seen + 1, Relaxed, Scope::Device);
            } else {
                device::atomic_update(count.as_mut_ptr(), Relaxed, Scope::Device, |seen| seen + 1);
            }
        }
    });
    (report, count.to_vec()[0])
}

#[test]
fn a_lost_update_is_found_among_lanes_warps_and_blocks() {
    // Threads of one warp, one thread of each warp, and one thread of each block.
    for (grid, block) in [(1, 32), (1, 64), (4, 1)] {
        let launch = Launch::new(grid, block);
        let (report, _) = count(&launch, true);
        assert_eq!(
            report.kinds(),
            ["ScheduleDependent"],
            "{grid} blocks of {block}: {report}"
        );
        let (report, total) = count(&launch, false);
        report.assert_clean();
        assert_eq!(total, grid * block);
        let (report, _) = count(&launch.clone().schedule(Schedule::All), true);
        assert_eq!(report.kinds()[0], "ScheduleDependent", "{report}");
    }
}

#[test]
fn warps_interleave_where_one_lane_of_each_counts() {
    let count = GlobalBuffer::<u32>::zeroed(1);
    let report = Launch::new(1, 128).run(|| {
        if thread().is_multiple_of(32) {
            // SAFETY: inside the buffer.
            unsafe {
                let seen = device::atomic_load(count.as_ptr(), Relaxed, Scope::Device);
                device::atomic_store(count.as_mut_ptr(), seen + 1, Relaxed, Scope::Device);
            }
        }
    });
    assert_eq!(report.kinds(), ["ScheduleDependent"], "{report}");
}

/// Two locks, which a thread of each of two warps or blocks takes; in opposite orders if `is_crossed`.
fn two_locks(launch: &Launch, is_crossed: bool) -> Report {
    let locks = GlobalBuffer::<u32>::zeroed(2);
    launch.run(|| {
        // SAFETY: inside the buffer.
        let lock = |at| unsafe {
            let take = |_| 1;
            while device::atomic_update(locks.as_mut_ptr().add(at), AcqRel, Scope::Device, take) != 0 {}
        };
        // SAFETY: inside the buffer.
        let unlock = |at| unsafe { device::atomic_store(locks.as_mut_ptr().add(at), 0, Release, Scope::Device) };
        if thread().is_multiple_of(32) {
            let first = if is_crossed { (block() + thread() / 32) % 2 } else { 0 };
            for _ in 0..4 {
                lock(first);
                lock(1 - first);
                unlock(1 - first);
                unlock(first);
            }
        }
    })
}

#[test]
fn locks_that_are_taken_in_opposite_orders_are_a_deadlock() {
    for (grid, block) in [(1, 64), (2, 1)] {
        let launch = Launch::new(grid, block);
        assert_eq!(
            two_locks(&launch, true).kinds(),
            ["Deadlock"],
            "{grid} blocks of {block}"
        );
        two_locks(&launch, false).assert_clean();
    }
}

#[test]
fn one_seed_gives_one_run() {
    let run = |seed, workers| {
        let order = GlobalBuffer::<u32>::zeroed(1 + 3 * 12 * 40);
        let launch = Launch::new(12, 40).schedule(Schedule::Preempt(seed)).workers(workers);
        let report = launch.run(|| {
            for _ in 0..3 {
                // SAFETY: three places a thread.
                unsafe {
                    let place = device::atomic_update(order.as_mut_ptr(), Relaxed, Scope::Device, |place| place + 1);
                    let number = (block() * 40 + thread()) as u32;
                    device::atomic_store(
                        order.as_mut_ptr().add(1 + place as usize),
                        number,
                        Relaxed,
                        Scope::Device,
                    );
                }
            }
        });
        report.assert_clean();
        order.to_vec()
    };
    let first = run(3, 1);
    assert_eq!(first, run(3, 1));
    assert_eq!(first, run(3, 2));
    assert_eq!(first, run(3, 4));
    assert_ne!(first, run(4, 1));
}

#[test]
fn the_default_leaves_out_a_second_run_that_says_nothing() {
    let runs = |launch: &Launch| {
        let count = std::sync::atomic::AtomicU32::new(0);
        let report = launch.run(|| {
            count.fetch_add(1, Relaxed);
        });
        assert_eq!(report.schedule, "standard");
        count.into_inner()
    };
    let launch = Launch::new(2, 1);
    assert_eq!(runs(&launch), 4);
    assert_eq!(runs(&launch.clone().only_block(0)), 1);
    assert_eq!(runs(&launch.checks(Checks::Off)), 2);
    // Buffers of another thread of the program can not be restored.
    let count = GlobalBuffer::<u32>::zeroed(1);
    std::thread::scope(|scope| {
        let launch = || {
            let report = Launch::new(1, 8).run(|| {
                // SAFETY: inside the buffer.
                unsafe { device::atomic_update(count.as_mut_ptr(), Acquire, Scope::Device, |seen| seen + 1) };
            });
            report.assert_clean();
        };
        scope.spawn(launch).join().expect("no panic");
    });
    assert_eq!(count.to_vec(), [8]);
}

#[test]
fn atomics_of_many_blocks_are_all_counted() {
    let counts = GlobalBuffer::<u32>::zeroed(64);
    let report = Launch::new(300, 128).workers(1).run(|| {
        for step in 0..20 {
            let place = (thread() + step) % 64;
            // SAFETY: inside the buffer.
            unsafe { device::atomic_update(counts.as_mut_ptr().add(place), Relaxed, Scope::Device, |seen| seen + 1) };
        }
    });
    report.assert_clean();
    assert_eq!(counts.to_vec(), [300 * 128 * 20 / 64; 64]);
}
