//! Launches one after the other, and launches that overlap (programmatic dependent launch).

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use cuda_sim::device::{self, Scope};
use cuda_sim::{GlobalBuffer, Launch, Schedule, SimFault, Stream, StreamReport, griddepcontrol};
use cuda_views::{Global, GlobalMut, Shared};

const LEN: usize = 64;

fn thread() -> usize {
    device::thread_idx()[0] as usize
}

fn index() -> usize {
    device::block_idx()[0] as usize * device::block_dim()[0] as usize + thread()
}

/// Two blocks of 32 threads, one for each of [`LEN`] elements.
fn launch(name: &str) -> Launch {
    Launch::new(2, 32).named(name).schedule(Schedule::All)
}

fn set(buffer: &GlobalBuffer<u32>, at: usize, value: u32) {
    // SAFETY: a buffer of `LEN` elements.
    unsafe { GlobalMut::new(buffer.as_mut_ptr(), LEN).set(at, value) }
}

fn get(buffer: &GlobalBuffer<u32>, at: usize) -> u32 {
    // SAFETY: a buffer of `LEN` elements.
    unsafe { Global::new(buffer.as_ptr(), LEN).get(at) }
}

fn update(buffer: &GlobalBuffer<u32>, scope: Scope) -> u32 {
    // SAFETY: a buffer of one element or more.
    unsafe { device::atomic_update(buffer.as_mut_ptr(), Relaxed, scope, |old| old + 1) }
}

/// The faults, without those of one kind that follow from races.
fn races(report: &StreamReport) -> Vec<&SimFault> {
    let faults: Vec<&SimFault> = report.faults().collect();
    assert!(!faults.is_empty(), "a race");
    for fault in &faults {
        assert!(
            matches!(
                fault.kind.name(),
                "GlobalRace" | "ScheduleDependent" | "UninitializedRead"
            ),
            "{fault}"
        );
    }
    faults
        .into_iter()
        .filter(|fault| fault.kind.name() == "GlobalRace")
        .collect()
}

/// The numbers of the launches on both sides of a race, in their order.
fn sides(fault: &SimFault) -> [u32; 2] {
    let other = fault.other.as_ref().and_then(|other| other.launch.as_ref());
    let mut sides = [fault.launch.as_ref(), other].map(|launch| launch.map_or(0, |launch| launch.number));
    sides.sort_unstable();
    sides
}

/// What a launch does about the one before it.
#[derive(Clone, Copy, PartialEq)]
enum Wait {
    First,
    /// Thread 0 of each block, and a barrier after it.
    Leader,
    /// Thread 0 of each block, and no barrier.
    LeaderAlone,
    Late,
    Never,
}

/// `from[i] + 1` to `to[LEN - 1 - i]`: threads read what other blocks of the launch before have written.
fn step(from: &GlobalBuffer<u32>, to: &GlobalBuffer<u32>, wait: Wait) {
    griddepcontrol::launch_dependents();
    match wait {
        Wait::First => griddepcontrol::wait(),
        Wait::Leader | Wait::LeaderAlone => {
            if thread() == 0 {
                griddepcontrol::wait();
            }
            if wait == Wait::Leader {
                device::sync_threads();
            }
        }
        Wait::Late | Wait::Never => {}
    }
    let value = get(from, index());
    if wait == Wait::Late {
        griddepcontrol::wait();
    }
    // What is read too early may be anything.
    set(to, LEN - 1 - index(), value.wrapping_add(1));
}

/// Fills, and then a chain of steps; returns the last result.
fn chain(waits: &[Wait], is_dependent: impl Fn(usize) -> bool) -> (StreamReport, Vec<u32>) {
    let fill = GlobalBuffer::from_slice(&[7_u32; LEN]);
    let buffers: Vec<GlobalBuffer<u32>> = (0..=waits.len()).map(|_| GlobalBuffer::uninit(LEN)).collect();
    let mut stream = Stream::new().launch(launch("fill"), || step(&fill, &buffers[0], Wait::Never));
    for (number, &wait) in waits.iter().enumerate() {
        let (from, to) = (&buffers[number], &buffers[number + 1]);
        let kernel = move || step(from, to, wait);
        let launch = launch(&format!("step {number}"));
        stream = match is_dependent(number) {
            true => stream.launch_dependent(launch, kernel),
            false => stream.launch(launch, kernel),
        };
    }
    let report = stream.run();
    let last = buffers.last().map_or(Vec::new(), GlobalBuffer::to_vec);
    (report, last)
}

#[test]
fn a_plain_launch_sees_all_that_came_before_it() {
    let (report, last) = chain(&[Wait::Never, Wait::Never], |_| false);
    report.assert_clean();
    assert_eq!(last, [10; LEN]);
    assert_eq!(report.launches.iter().map(|one| one.blocks).collect::<Vec<_>>(), [2; 3]);
    assert!(report.to_string().contains("launch 3 `step 1`"), "{report}");
}

#[test]
fn a_wait_before_the_first_access_is_silent() {
    for wait in [Wait::First, Wait::Leader] {
        let (report, last) = chain(&[wait, wait], |_| true);
        report.assert_clean();
        assert_eq!(last, [10; LEN]);
    }
}

#[test]
fn a_missing_and_a_late_wait_are_races_of_both_launches() {
    for wait in [Wait::Never, Wait::Late] {
        let (report, _) = chain(&[wait], |_| true);
        let races = races(&report);
        assert!(races.iter().all(|race| sides(race) == [1, 2]), "{report}");
        // Where launches overlap the write comes later, and the race is the first launch's.
        let of = |number| {
            let is_of = |race: &&&SimFault| race.launch.as_ref().is_some_and(|launch| launch.number == number);
            races.iter().find(is_of).expect("a race").to_string()
        };
        let (first, second) = (of(1), of(2));
        assert!(first.contains("under the schedule preempt:1"), "{first}");
        for text in [first, second] {
            for name in ["of launch 1 `fill`", "of launch 2 `step 0`"] {
                assert!(text.contains(name), "{text}");
            }
            let hint = "hint: execute griddepcontrol.wait in launch 2 `step 0` before its load at";
            assert!(text.contains(hint), "{text}");
        }
    }
}

#[test]
fn a_wait_of_one_thread_needs_a_barrier_for_the_others() {
    let (report, _) = chain(&[Wait::LeaderAlone], |_| true);
    let races = races(&report);
    assert!(
        races.iter().all(|race| sides(race) == [1, 2] && race.thread != [0; 3]),
        "{races:#?}"
    );
}

#[test]
fn a_write_of_a_dependent_launch_races_with_a_read_before_it() {
    let (data, copy) = (
        GlobalBuffer::from_slice(&[1_u32; LEN]),
        GlobalBuffer::<u32>::uninit(LEN),
    );
    let run = |waits: bool| {
        let read = || {
            let value = get(&data, index());
            griddepcontrol::launch_dependents();
            set(&copy, index(), value);
        };
        let write = || {
            if waits {
                griddepcontrol::wait();
            }
            set(&data, index(), 2);
        };
        Stream::new()
            .launch(launch("read"), read)
            .launch_dependent(launch("write"), write)
            .run()
    };
    run(true).assert_clean();
    assert_eq!(copy.to_vec(), [1; LEN]);
    let report = run(false);
    assert_eq!(sides(races(&report)[0]), [1, 2], "{report}");
}

/// Three launches: the third reads what the first has written.
fn skipping(middle_waits: bool, third_is_dependent: bool) -> StreamReport {
    let (data, other) = (GlobalBuffer::<u32>::uninit(LEN), GlobalBuffer::<u32>::uninit(LEN));
    let first = || {
        griddepcontrol::launch_dependents();
        set(&data, index(), 1);
    };
    let second = || {
        griddepcontrol::launch_dependents();
        // One thread of the grid is enough.
        if middle_waits && index() == LEN - 1 {
            griddepcontrol::wait();
        }
    };
    let third = || {
        griddepcontrol::wait();
        set(&other, index(), get(&data, LEN - 1 - index()));
    };
    let stream = Stream::new()
        .launch(launch("first"), first)
        .launch_dependent(launch("second"), second);
    match third_is_dependent {
        true => stream.launch_dependent(launch("third"), third).run(),
        false => stream.launch(launch("third"), third).run(),
    }
}

#[test]
fn a_wait_covers_earlier_launches_only_through_the_one_between() {
    skipping(true, true).assert_clean();
    let report = skipping(false, true);
    let fault = races(&report)[0];
    assert_eq!(sides(fault), [1, 3]);
    let text = fault.to_string();
    assert!(
        text.contains("waits for the launch before it alone: each launch between them must wait, too"),
        "{text}"
    );
    // A launch without overlap follows everything.
    skipping(false, false).assert_clean();
}

#[test]
fn a_result_that_depends_on_the_overlap_is_found() {
    let run = |waits: bool, schedule: Schedule| {
        let (count, seen) = (GlobalBuffer::<u32>::zeroed(1), GlobalBuffer::<u32>::uninit(1));
        let first = || {
            griddepcontrol::launch_dependents();
            update(&count, Scope::Device);
        };
        let second = || {
            if waits {
                griddepcontrol::wait();
            }
            let value = update(&count, Scope::Device);
            // SAFETY: one element.
            unsafe { GlobalMut::new(seen.as_mut_ptr(), 1).set(0, value) };
        };
        let report = Stream::new()
            .launch(Launch::new(2, 32).schedule(schedule), first)
            .launch_dependent(Launch::new(1, 1), second)
            .run();
        (report, seen.to_vec()[0])
    };
    for schedule in [Schedule::Standard, Schedule::All] {
        let (report, seen) = run(true, schedule);
        report.assert_clean();
        assert_eq!(seen, 64);
        let (report, _) = run(false, schedule);
        let kinds: Vec<&str> = report.faults().map(|fault| fault.kind.name()).collect();
        assert!(kinds.contains(&"ScheduleDependent"), "{report}");
    }
}

#[test]
fn atomics_order_launches_that_overlap() {
    let run = |order| {
        let (data, flag) = (GlobalBuffer::<u32>::uninit(LEN), GlobalBuffer::<u32>::zeroed(1));
        let copy = GlobalBuffer::<u32>::uninit(1);
        let first = || {
            set(&data, 5, 9);
            // SAFETY: one element.
            unsafe { device::atomic_store(flag.as_mut_ptr(), 1, order, Scope::Device) };
            griddepcontrol::launch_dependents();
        };
        let second = || {
            // SAFETY: one element.
            while unsafe { device::atomic_load(flag.as_ptr(), Acquire, Scope::Device) } == 0 {}
            // SAFETY: one element.
            unsafe { GlobalMut::new(copy.as_mut_ptr(), 1).set(0, get(&data, 5)) };
        };
        let one = || Launch::new(1, 1).schedule(Schedule::All);
        let third = || {
            // What the second launch knows of the first, it has by an atomic.
            griddepcontrol::wait();
            get(&data, 5);
        };
        Stream::new()
            .launch(one(), first)
            .launch_dependent(one(), second)
            .launch_dependent(one(), third)
            .run()
    };
    run(Release).assert_clean();
    assert_eq!(sides(races(&run(Relaxed))[0]), [1, 2]);
}

#[test]
fn atomics_of_block_scope_need_the_wait() {
    let run = |waits: bool| {
        let count = GlobalBuffer::<u32>::zeroed(1);
        let add = |waits: bool| {
            griddepcontrol::launch_dependents();
            if waits {
                griddepcontrol::wait();
            }
            update(&count, Scope::Block);
        };
        let one = || Launch::new(1, 32).schedule(Schedule::All);
        Stream::new()
            .launch(one(), move || add(false))
            .launch_dependent(one(), move || add(waits))
            .run()
    };
    run(true).assert_clean();
    let report = run(false);
    let fault = report.faults().next().expect("a fault");
    assert_eq!((fault.kind.name(), sides(fault)), ("AtomicScope", [1, 2]), "{report}");
}

#[test]
fn a_read_before_the_wait_races_with_a_write_of_its_own_launch() {
    // The reads of the launch before must not take the place of this one.
    let data = GlobalBuffer::from_slice(&[0_u32; LEN]);
    let read = || {
        get(&data, 3);
    };
    let write = || {
        let block = device::block_idx()[0];
        if block == 0 && thread() == 0 {
            get(&data, 3);
        }
        griddepcontrol::wait();
        if block == 1 && thread() == 0 {
            set(&data, 3, 1);
        }
    };
    let report = Stream::new()
        .launch(Launch::new(4, 32), read)
        .launch_dependent(Launch::new(2, 32), write)
        .run();
    assert_eq!(sides(races(&report)[0]), [2, 2], "{report}");
}

#[test]
fn in_a_launch_of_its_own_both_do_nothing() {
    let data = GlobalBuffer::<u32>::uninit(LEN);
    let report = launch("alone").run(|| step(&GlobalBuffer::from_slice(&[1; LEN]), &data, Wait::First));
    assert!(report.is_clean() || report.faults[0].launch.is_none(), "{report}");
    let report = launch("alone").run(|| {
        griddepcontrol::launch_dependents();
        griddepcontrol::wait();
        set(&data, index(), 1);
    });
    report.assert_clean();
    assert_eq!(data.to_vec(), [1; LEN]);
}

#[test]
fn many_blocks_overlap() {
    const BLOCKS: u32 = 1000;
    let count = GlobalBuffer::<u32>::zeroed(2);
    let data = GlobalBuffer::<u32>::uninit(BLOCKS as usize);
    let data_of = |block: usize| {
        // SAFETY: an element for each block.
        unsafe { GlobalMut::new(data.as_mut_ptr(), BLOCKS as usize).set(block, 1) }
    };
    let kernel = || {
        griddepcontrol::launch_dependents();
        griddepcontrol::wait();
        if thread() == 0 {
            data_of(device::block_idx()[0] as usize);
        }
        update(&count, Scope::Device);
    };
    let one = || Launch::new(BLOCKS, 8).schedule(Schedule::All);
    let stream = Stream::new()
        .launch(one(), kernel)
        .launch_dependent(one(), kernel)
        .launch_dependent(one(), kernel);
    stream.run().assert_clean();
    assert_eq!(count.to_vec()[0], 3 * 8 * BLOCKS);
}

#[test]
fn launches_have_shapes_and_shared_memory_of_their_own() {
    let total = GlobalBuffer::<u32>::zeroed(1);
    let sum = |threads: usize| {
        move || {
            griddepcontrol::launch_dependents();
            griddepcontrol::wait();
            // SAFETY: the launch gives 4 bytes a thread.
            let values = unsafe { Shared::<u32>::new(device::dynamic_shared_mem().cast(), threads) };
            // SAFETY: an element for each thread.
            unsafe { values.set(thread(), 1) };
            device::sync_threads();
            // SAFETY: inside.
            unsafe { values.get(threads - 1 - thread()) };
        }
    };
    let of = |grid, threads: u32| {
        let launch = Launch::new(grid, threads).schedule(Schedule::All);
        launch.dynamic_shared_bytes(4 * threads)
    };
    let clusters = of(4, 96).cluster(2);
    let report = Stream::new()
        .launch(of(3, 64), sum(64))
        .launch_dependent(clusters, sum(96))
        .launch_dependent(of(1, 256), sum(256))
        .launch(of(2, 32), || {
            update(&total, Scope::Device);
        })
        .run();
    report.assert_clean();
    assert_eq!(total.to_vec(), [64]);
    let shared: Vec<u64> = report.launches.iter().map(|one| one.shared.high_water_bytes).collect();
    assert_eq!(shared, [256, 384, 1024, 128]);
}

#[test]
fn a_fault_ends_the_stream() {
    let data = GlobalBuffer::<u32>::uninit(LEN);
    let nothing = GlobalBuffer::<u32>::zeroed(1);
    let report = Stream::new()
        .launch(launch("wrong"), || set(&data, LEN, 1))
        .launch(launch("later"), || {
            update(&nothing, Scope::Device);
        })
        .run();
    assert_eq!((report.launches[1].blocks, nothing.to_vec()), (0, vec![0]));
    let error = report.into_clean().expect_err("out of bounds").to_string();
    assert!(error.contains("of launch 1 `wrong`"), "{error}");
}

#[test]
fn a_launch_that_waits_for_a_stuck_one_is_not_reported() {
    let flag = GlobalBuffer::<u32>::zeroed(1);
    let report = Stream::new()
        .launch(Launch::new(1, 1), || {
            griddepcontrol::launch_dependents();
            // SAFETY: one element.
            while unsafe { device::atomic_load(flag.as_ptr(), Acquire, Scope::Device) } == 0 {}
        })
        .launch_dependent(Launch::new(1, 1), griddepcontrol::wait)
        .run();
    let kinds: Vec<&str> = report.faults().map(|fault| fault.kind.name()).collect();
    assert_eq!(kinds, ["Deadlock"], "{report}");
    assert!(report.launches[1].is_clean());
}

#[test]
fn impossible_streams_are_refused() {
    let mut stream = Stream::new();
    for _ in 0..65 {
        stream = stream.launch_dependent(Launch::new(1, 1), || ());
    }
    let report = stream.run();
    let text = report.faults().next().expect("a refusal").to_string();
    assert!(text.contains("65 launches that may overlap, at most 64"), "{text}");
    let report = Stream::new()
        .launch(Launch::new(2, 1).only_block(0), || ())
        .launch(Launch::new(1, 1), || ())
        .run();
    let text = report.faults().next().expect("a refusal").to_string();
    assert!(text.contains("Launch::only_block in a stream"), "{text}");
    Stream::new().run().assert_clean();
}
