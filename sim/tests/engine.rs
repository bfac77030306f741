//! Threads, barriers, warps, blocks, order: the engine with kernels that call [`cuda_sim::device`] directly.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Duration;

use cuda_sim::device::{self, BarrierOp, Scope, SharedPlace};
use cuda_sim::{Checks, Dim3, FaultKind, GlobalBuffer, Launch, Limits, Schedule};

fn linear(index: [u32; 3], extent: [u32; 3]) -> usize {
    ((index[2] * extent[1] + index[1]) * extent[0] + index[0]) as usize
}

fn thread() -> usize {
    linear(device::thread_idx(), device::block_dim())
}

fn block() -> usize {
    linear(device::block_idx(), device::grid_dim())
}

#[test]
fn every_thread_of_every_block_runs_once() {
    for schedule in [Schedule::Forward, Schedule::Reverse, Schedule::Random(5), Schedule::All] {
        let (grid, shape) = (Dim3::from((3, 4, 2)), Dim3::from((5, 3, 7)));
        let counts = GlobalBuffer::<u32>::zeroed((grid.count() * shape.count()) as usize);
        let report = Launch::new(grid, shape).schedule(schedule).run(|| {
            let at = block() * 105 + thread();
            // SAFETY: one element a thread.
            unsafe { *counts.as_mut_ptr().add(at) += 1 };
        });
        report.assert_clean();
        assert_eq!((report.blocks, report.threads), (24, 24 * 105), "{schedule}");
        assert!(counts.to_vec().iter().all(|&count| count == 1), "{schedule}");
    }
}

#[test]
fn barriers_let_threads_see_what_others_wrote() {
    let data = GlobalBuffer::from_slice(&(0..1024).collect::<Vec<u32>>());
    let report = Launch::new(4, 256)
        .dynamic_shared_bytes(1024)
        .schedule(Schedule::All)
        .run(|| {
            let tile = device::dynamic_shared_mem().cast::<u32>();
            let (at, base) = (thread(), block() * 256);
            // SAFETY: inside the tile and the buffer; a barrier stands between writing and reading.
            unsafe {
                *tile.add(at) = *data.as_ptr().add(base + at);
                device::sync_threads();
                *data.as_mut_ptr().add(base + at) = *tile.add(255 - at);
            }
        });
    report.assert_clean();
    assert_eq!(report.barriers_per_thread, (1, 1));
    let expected: Vec<u32> = (0..4)
        .flat_map(|block| (0..256).map(move |i| block * 256 + 255 - i))
        .collect();
    assert_eq!(data.to_vec(), expected);
}

#[test]
fn barriers_reduce_predicates() {
    let report = Launch::new(1, 96).run(|| {
        let at = thread() as u32;
        assert_eq!(
            device::sync_threads_reduce(BarrierOp::Count, u32::from(at.is_multiple_of(3))),
            32
        );
        assert_eq!(device::sync_threads_reduce(BarrierOp::And, 7), 1);
        assert_eq!(device::sync_threads_reduce(BarrierOp::And, at), 0);
        assert_eq!(device::sync_threads_reduce(BarrierOp::Or, u32::from(at == 95)), 1);
        assert_eq!(device::sync_threads_reduce(BarrierOp::Or, 0), 0);
    });
    report.assert_clean();
    assert_eq!(report.barriers_per_thread, (5, 5));
}

#[test]
fn lanes_exchange_values() {
    let report = Launch::new(2, 80).schedule(Schedule::All).run(|| {
        let lane = device::lane_id();
        let warp = thread() / 32;
        let live = if warp == 2 { 0xffff } else { u32::MAX };
        assert_eq!(device::active_mask(), live);
        let sum: u64 = device::warp_exchange(u32::MAX, u64::from(lane), |values| {
            assert_eq!((values.lane, values.mask), (lane, live));
            (0..32)
                .filter(|i| values.mask >> i & 1 == 1)
                .map(|i| values.values[i])
                .sum()
        });
        assert_eq!(sum, if warp == 2 { 120 } else { 496 });
        // Two halves that synchronize at different lines.
        let half = if lane < 16 { 0xffff } else { 0xffff_0000 };
        let low = if lane < 16 {
            device::warp_exchange(half & live, 1, |values| values.values[0])
        } else {
            device::warp_exchange(half & live, 2, |values| values.values[16])
        };
        assert_eq!(low, if lane < 16 { 1 } else { 2 });
        device::sync_warp(live);
    });
    report.assert_clean();
}

#[test]
fn static_arrays_are_one_a_place_and_a_block() {
    static FIRST: SharedPlace = SharedPlace::new();
    static SECOND: SharedPlace = SharedPlace::new();
    let report = Launch::new(8, 32).dynamic_shared_bytes(64).run(|| {
        let first = device::shared_array(&FIRST, 128, 4).cast::<u32>();
        let second = device::shared_array(&SECOND, 4, 4).cast::<u32>();
        assert_eq!(device::shared_array(&FIRST, 128, 4).cast(), first);
        let at = thread();
        // SAFETY: inside the arrays, one element a thread.
        unsafe {
            *first.add(at) = block() as u32;
            if at == 0 {
                *second = 77;
            }
            device::sync_threads();
            assert_eq!(*first.add(31 - at), block() as u32);
            assert_eq!(*second, 77);
        }
    });
    report.assert_clean();
    assert_eq!((report.shared.static_bytes, report.shared.high_water_bytes), (132, 196));
}

#[test]
fn atomics_of_all_blocks_are_in_the_order_of_the_schedule() {
    for workers in [1, 2, 4] {
        let order = GlobalBuffer::<u32>::zeroed(65);
        let launch = Launch::new(64, 1).schedule(Schedule::Forward).workers(workers);
        let report = launch.run(|| {
            let data = order.as_mut_ptr();
            // SAFETY: inside the buffer.
            unsafe {
                let ticket = device::atomic_update(data, Relaxed, Scope::Device, |old| old + 1);
                *data.add(1 + ticket as usize) = block() as u32;
            }
        });
        report.assert_clean();
        let expected: Vec<u32> = std::iter::once(64).chain(0..64).collect();
        assert_eq!(order.to_vec(), expected, "{workers}");
    }
}

#[test]
fn a_block_may_wait_for_a_later_one() {
    for schedule in [Schedule::Forward, Schedule::Reverse] {
        let flags = GlobalBuffer::<u32>::zeroed(9);
        let report = Launch::new(8, 1).schedule(schedule).run(|| {
            let flags = flags.as_mut_ptr();
            let me = block();
            // SAFETY: inside the buffer.
            unsafe {
                while me < 7 && device::atomic_load(flags.add(me + 1), Acquire, Scope::Device) == 0 {}
                device::atomic_store(flags.add(me), 1, Release, Scope::Device);
            }
        });
        report.assert_clean();
        assert_eq!(flags.to_vec(), [1, 1, 1, 1, 1, 1, 1, 1, 0], "{schedule}");
    }
}

#[test]
fn a_spin_lock_within_a_block_is_passed_on() {
    let data = GlobalBuffer::<u32>::zeroed(2);
    let report = Launch::new(1, 64).run(|| {
        let data = data.as_mut_ptr();
        // SAFETY: inside the buffer, and the second element only under the lock.
        unsafe {
            while device::atomic_update(data, Acquire, Scope::Device, |_| 1) != 0 {}
            *data.add(1) += 1;
            device::atomic_update(data, AcqRel, Scope::Device, |_| 0);
        }
    });
    report.assert_clean();
    assert_eq!(data.to_vec(), [0, 64]);
}

#[test]
fn a_wait_without_progress_is_a_deadlock() {
    let flag = GlobalBuffer::<u32>::zeroed(1);
    let report = Launch::new(4, 32).run(|| {
        // SAFETY: inside the buffer.
        while unsafe { device::atomic_load(flag.as_ptr(), Relaxed, Scope::Device) } == 0 {}
    });
    assert_eq!(report.kinds(), ["Deadlock"]);
    assert_eq!(report.faults[0].count, 4);
}

#[test]
fn looking_often_and_giving_up_is_no_deadlock() {
    let data = GlobalBuffer::<u32>::zeroed(64);
    let report = Launch::new(2, 32).run(|| {
        // SAFETY: inside the buffer.
        let load = |at| unsafe { device::atomic_load(data.as_ptr().add(at), Relaxed, Scope::Device) };
        (0..2000).for_each(|_| assert_eq!(load(0), 0));
        (0..2000).for_each(|at| assert_eq!(load(at % 64), 0));
    });
    report.assert_clean();
}

#[test]
fn a_barrier_that_some_never_reach() {
    let report = Launch::new(2, 64).run(|| {
        if thread() < 40 {
            device::sync_threads();
        }
    });
    assert_eq!(report.kinds(), ["BarrierDivergence"]);
    assert_eq!(
        report.faults[0].kind,
        FaultKind::BarrierDivergence {
            waiting: 40,
            exited: 24
        }
    );
    assert!(
        report.faults[0]
            .location
            .as_ref()
            .is_some_and(|location| location.file.ends_with("engine.rs"))
    );
}

#[test]
fn different_barriers_at_once() {
    let report = Launch::new(1, 64).run(|| {
        #[expect(clippy::if_same_then_else, reason = "two barriers are not one")]
        if thread().is_multiple_of(2) {
            device::sync_threads();
        } else {
            device::sync_threads();
        }
    });
    assert_eq!(report.kinds(), ["BarrierMismatch"]);
    let fault = &report.faults[0];
    let other = fault.other.as_ref().expect("the other barrier");
    assert_eq!(other.location.line, fault.location.as_ref().expect("a line").line + 2);
}

#[test]
fn a_panic_is_a_fault_with_its_place() {
    let report = Launch::new(1, 8).run(|| {
        let data = [1, 2, 3];
        let at = thread();
        assert!(at < 5, "thread {at} is too many");
        std::hint::black_box(data[at.min(2)]);
    });
    assert_eq!(report.kinds(), ["Panic"]);
    let text = report.faults[0].to_string();
    assert!(text.contains("panic: thread 5 is too many"), "{text}");
    assert!(text.contains("thread (5, 0, 0) of block (0, 0, 0)"), "{text}");
    assert!(text.contains("engine.rs:"), "{text}");
}

#[test]
fn what_a_block_had_on_its_stacks_is_dropped() {
    use std::sync::atomic::AtomicU32;
    static ALIVE: AtomicU32 = AtomicU32::new(0);
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            ALIVE.fetch_sub(1, Relaxed);
        }
    }
    let report = Launch::new(3, 32).run(|| {
        ALIVE.fetch_add(1, Relaxed);
        let _counted = Counted;
        device::sync_threads();
        assert!(thread() != 3, "one fails while the others wait");
        device::sync_threads();
    });
    assert_eq!(report.kinds(), ["Panic"]);
    assert_eq!(ALIVE.load(Relaxed), 0);
}

#[test]
fn an_overrun_of_a_static_array_is_noticed() {
    static PLACE: SharedPlace = SharedPlace::new();
    let report = Launch::new(1, 1).run(|| {
        let array = device::shared_array(&PLACE, 40, 8);
        // SAFETY: none: one past the end, where the canary is.
        unsafe { array.add(40).write_volatile(1) };
    });
    assert_eq!(report.kinds(), ["Overrun"]);
}

#[test]
#[cfg_attr(any(miri, cuda_sim_os_threads), ignore = "needs signals on coroutines")]
fn running_for_ever_ends() {
    // With calls of the simulator in the loop, and without.
    let endless: [fn(); 2] = [
        || {
            loop {
                std::hint::black_box(device::thread_idx());
            }
        },
        || {
            loop {
                std::hint::black_box(0);
            }
        },
    ];
    for kernel in endless.into_iter().take(if cfg!(target_os = "linux") { 2 } else { 1 }) {
        let report = Launch::new(1, 2).time_limit(Duration::from_millis(100)).run(kernel);
        assert_eq!(report.kinds(), ["TimeLimit"]);
    }
}

#[test]
fn impossible_launches_are_refused_with_the_numbers() {
    let sm_120 = || Limits::of_arch("sm_120").expect("known");
    let refused = |launch: Launch| {
        let report = launch.limits(sm_120()).run(|| unreachable!("nothing may run"));
        assert_eq!(report.blocks, 0);
        report.faults[0].to_string()
    };
    for (launch, expected) in [
        (
            Launch::new(1, 1025),
            "a block of 1025 threads along x, sm_120 allows 1024",
        ),
        (Launch::new(1, (32, 33)), "a block of 32 x 33 x 1 = 1056 threads"),
        (Launch::new(1, (1, 1, 65)), "a block of 65 threads along z"),
        (Launch::new((1, 65536), 1), "a grid of 65536 blocks along y"),
        (Launch::new(0, 1), "a grid of 0 blocks along x"),
        (
            Launch::new(1, 1).dynamic_shared_bytes(101_377),
            "101377 bytes dynamic, the most that sm_120 gives a block is 101376 bytes",
        ),
    ] {
        let text = refused(launch);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn static_and_dynamic_share_the_limit() {
    static LARGE: SharedPlace = SharedPlace::new();
    let run = |static_bytes, dynamic_bytes| {
        Launch::new(1, 1)
            .limits(Limits::of_arch("sm_120").expect("known"))
            .dynamic_shared_bytes(dynamic_bytes)
            .run(move || {
                device::shared_array(&LARGE, static_bytes, 16);
            })
    };
    run(48 << 10, 101_376 - (48 << 10)).assert_clean();
    assert_eq!(run(48 << 10, 101_377 - (48 << 10)).kinds(), ["SharedLimit"]);
    assert_eq!(run((48 << 10) + 1, 0).kinds(), ["SharedLimit"]);
}

#[test]
fn a_mask_without_the_caller_and_a_lane_that_does_not_come() {
    let report = Launch::new(1, 32).run(|| {
        if thread() == 3 {
            device::sync_warp(1);
        }
    });
    assert_eq!(report.kinds(), ["WarpMask"]);
    let report = Launch::new(1, 64).run(|| {
        if thread() == 3 {
            device::sync_warp(0b1010);
        }
        device::sync_threads();
    });
    assert_eq!(report.kinds(), ["Deadlock"]);
    let text = report.faults[0].to_string();
    assert!(
        text.contains("63 wait at the barrier") && text.contains("1 wait for lanes of their warp"),
        "{text}"
    );
}

#[test]
fn a_result_that_depends_on_the_order_is_noticed() {
    let last = GlobalBuffer::<u32>::zeroed(1);
    let report = Launch::new(1, 32).schedule(Schedule::All).run(|| {
        // SAFETY: inside the buffer.
        unsafe { *last.as_mut_ptr() = thread() as u32 };
    });
    assert!(report.kinds().contains(&"ScheduleDependent"), "{report}");
}

#[test]
fn one_seed_gives_one_run_on_any_number_of_cores() {
    let run = |workers| {
        let order = GlobalBuffer::<u32>::zeroed(1 + 16 * 64);
        let report = Launch::new(16, 64)
            .schedule(Schedule::Random(9))
            .workers(workers)
            .run(|| {
                let data = order.as_mut_ptr();
                // SAFETY: inside the buffer.
                unsafe {
                    let ticket = device::atomic_update(data, Relaxed, Scope::Device, |old| old + 1);
                    *data.add(1 + ticket as usize) = (block() * 64 + thread()) as u32;
                }
            });
        report.assert_clean();
        order.to_vec()
    };
    let expected = run(1);
    for workers in [2, 3, 8] {
        assert_eq!(run(workers), expected, "{workers}");
    }
}

#[test]
fn what_is_printed_comes_out_block_by_block() {
    let report = Launch::new(3, 2).run(|| {
        device::print(format_args!("{}.{} ", block(), thread()));
    });
    assert_eq!(report.output, "0.0 0.1 1.0 1.1 2.0 2.1 ");
}

#[test]
fn unchecked_runs_do_the_same() {
    let data = GlobalBuffer::<u32>::zeroed(64);
    let report = Launch::new(2, 32).checks(Checks::Off).run(|| {
        device::sync_threads();
        // SAFETY: one element a thread.
        unsafe { *data.as_mut_ptr().add(block() * 32 + thread()) = 1 };
    });
    report.assert_clean();
    assert_eq!(data.to_vec(), [1; 64]);
}

#[test]
#[should_panic(expected = "`sync_threads` was called outside a kernel launch")]
fn outside_a_launch_the_functions_say_so() {
    device::sync_threads();
}
