//! Threads and blocks that wait for each other: polling, and budgets.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::time::Duration;

use cuda_sim::device::{self, Scope};
use cuda_sim::{Budget, GlobalBuffer, Launch, Report};

fn thread() -> usize {
    device::thread_idx()[0] as usize
}

fn block() -> usize {
    device::block_idx()[0] as usize
}

#[test]
fn polling_any_number_of_addresses_lets_others_run() {
    // Two flags in one condition, and a table of flags larger than what is remembered of each thread.
    for (flags, polled) in [(2, 2), (100, 100), (6000, 6000)] {
        let data = GlobalBuffer::<u32>::zeroed(flags);
        let report = Launch::new(1 + flags.div_ceil(64) as u32, 64)
            .workers(2)
            .time_limit(Duration::from_secs(5))
            .run(|| {
                let data = data.as_mut_ptr();
                // SAFETY: inside the buffer.
                let load = |at| unsafe { device::atomic_load(data.add(at), Acquire, Scope::Device) };
                if block() == 0 {
                    while thread() == 0 && (0..polled).fold(1, |all, at| all & load(at)) == 0 {}
                } else {
                    for at in ((block() - 1) * 64 + thread()..flags).step_by(flags.next_multiple_of(64)) {
                        // SAFETY: inside the buffer.
                        unsafe { device::atomic_store(data.add(at), 1, Release, Scope::Device) };
                    }
                }
            });
        report.assert_clean();
    }
}

#[test]
fn readers_of_a_sequence_lock_end() {
    let data = GlobalBuffer::<u32>::zeroed(3);
    let report = Launch::new(2, 32).time_limit(Duration::from_secs(5)).run(|| {
        let data = data.as_mut_ptr();
        // SAFETY: inside the buffer.
        let load = |at| unsafe { device::atomic_load(data.add(at), Acquire, Scope::Device) };
        // SAFETY: inside the buffer.
        let store = |at, value| unsafe { device::atomic_store(data.add(at), value, Release, Scope::Device) };
        if block() == 1 {
            if thread() == 0 {
                store(0, 1);
                store(1, 7);
                store(2, 7);
                store(0, 2);
            }
            return;
        }
        loop {
            let before = load(0);
            let values = (load(1), load(2));
            if before == 2 && load(0) == before {
                assert_eq!(values, (7, 7));
                break;
            }
        }
    });
    report.assert_clean();
}

#[test]
fn a_wait_for_two_values_that_never_come_is_a_deadlock() {
    let data = GlobalBuffer::<u32>::zeroed(2);
    let report = Launch::new(2, 32).run(|| {
        // SAFETY: inside the buffer.
        let load = |at| unsafe { device::atomic_load(data.as_ptr().add(at), Acquire, Scope::Device) };
        while load(0) & load(1) == 0 {}
    });
    assert_eq!(report.kinds(), ["Deadlock"]);
}

#[test]
fn a_loop_of_barriers_spends_the_budget() {
    // The default ends it in a few seconds; a loop of rendezvous passes no barrier, but takes turns.
    let report = Launch::new(2, 32).run(|| while device::sync_threads_reduce(device::BarrierOp::Or, 1) != 0 {});
    assert_eq!(report.kinds(), ["Budget"]);
    let budget = Budget {
        turns: 100_000,
        ..Budget::default()
    };
    let report = Launch::new(2, 32).budget(budget).run(|| {
        while device::active_mask() != 0 {
            device::sync_warp(u32::MAX)
        }
    });
    assert_eq!(report.kinds(), ["Budget"]);
    let budget = Budget {
        time: Duration::from_millis(200),
        ..Budget::default()
    };
    let report = Launch::new(2, 32).budget(budget).run(|| {
        loop {
            device::sync_threads()
        }
    });
    assert_eq!(report.kinds(), ["Budget"]);
    assert!(report.seconds < 5.0, "{}", report.seconds);
    assert!(
        report.faults[0].to_string().contains("the launch ran for 0.2 s"),
        "{report}"
    );
}

/// A grid barrier of `blocks` blocks of `threads` threads, `rounds` times. Every thread keeps a value on its stack.
fn grid_barrier(launch: &Launch, rounds: u32, everybody_polls: bool) -> Report {
    let arrived = GlobalBuffer::<u32>::zeroed(1);
    launch.run(|| {
        let (counter, all) = (arrived.as_mut_ptr(), device::grid_dim()[0]);
        let own = std::hint::black_box([block() as u64 + 1, thread() as u64 + 2]);
        for round in 1..=rounds {
            device::sync_threads();
            // SAFETY: inside the buffer.
            unsafe {
                if thread() == 0 {
                    device::atomic_update(counter, AcqRel, Scope::Device, |old| old + 1);
                }
                if thread() == 0 || everybody_polls {
                    while device::atomic_load(counter, Acquire, Scope::Device) < round * all {}
                }
            }
            device::sync_threads();
            assert_eq!(own, [block() as u64 + 1, thread() as u64 + 2]);
        }
    })
}

#[test]
#[cfg_attr(cuda_sim_own_stacks, ignore = "every block that waits has stacks of its own")]
fn grid_barriers_of_many_blocks_complete() {
    for (blocks, threads, rounds, everybody) in [
        (600, 1, 5, false),
        (2112, 1, 2, true),
        (33, 1024, 2, false),
        (33, 1024, 1, true),
        (500, 64, 2, false),
        (100, 64, 2, true),
    ] {
        let launch = Launch::new(blocks, threads).time_limit(Duration::from_secs(10));
        let report = grid_barrier(&launch, rounds, everybody);
        report.assert_clean();
        assert_eq!(report.resident_blocks, u64::from(blocks));
        eprintln!("{blocks} x {threads}, {rounds} rounds: {:.2} s", report.seconds);
    }
}

#[test]
fn a_grid_that_is_not_resident_deadlocks_with_the_figure() {
    let launch = Launch::new(10, 32);
    let report = grid_barrier(&launch.clone().resident_blocks(8), 1, false);
    assert_eq!(report.kinds(), ["Deadlock"]);
    let text = report.faults[0].to_string();
    assert!(
        text.contains("2 blocks have not started, since at most 8 are resident"),
        "{text}"
    );
    grid_barrier(&launch.resident_blocks(10), 1, false).assert_clean();
}
