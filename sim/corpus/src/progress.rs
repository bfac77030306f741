//! Threads that wait for what never comes, and results that depend on the order of threads.

use std::time::Duration;

use cuda_sim::{Budget, GlobalBuffer};
use cuda_std::atomic::AtomicF32;
use cuda_std::atomic::mid::{atomic_fetch_add_u32_device, atomic_fetch_exch_u32_device, atomic_load_32_device};
use cuda_std::{kernel, thread};
use cuda_views::{Global, GlobalMut};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crate::pair::Suite::*;
use crate::pair::{Family, pair};

/// A flag that nobody sets.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn flag_never_set(flag: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if thread::block_idx_x() == 0 {
            while atomic_load_32_device(flag, Acquire) != 2 {} // expect: flag_never_set Deadlock
        } else {
            atomic_fetch_exch_u32_device(flag, AcqRel, if wrong { 1 } else { 2 });
        }
    }
}

/// Two blocks that each wait for the other's flag first.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn mutual_wait(flags: *mut u32, wrong: bool) {
    let block = thread::block_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let (own, other) = (flags.add(block), flags.add(1 - block));
        if !wrong {
            atomic_fetch_exch_u32_device(own, AcqRel, 1);
        }
        while atomic_load_32_device(other, Acquire) == 0 {} // expect: mutual_wait Deadlock
        atomic_fetch_exch_u32_device(own, AcqRel, 1);
    }
}

/// A barrier of the grid, with more blocks than the device holds at once.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn grid_barrier(count: *mut u32, blocks: u32) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        atomic_fetch_add_u32_device(count, AcqRel, 1);
        // expect: grid_larger_than_device Deadlock; grid_barrier_count Deadlock
        while atomic_load_32_device(count, Acquire) < blocks {}
    }
}

/// A barrier of the grid that is used twice without a reset: the second one does not wait, and the values race.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn grid_barrier_twice(values: *mut u32, count: *mut u32, wrong: bool) {
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x());
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let values = GlobalMut::new(values, 2);
        for round in 1..=2 {
            values.set(block, round); // expect: grid_barrier_not_reset GlobalRace
            for phase in 0..2 {
                atomic_fetch_add_u32_device(count, AcqRel, 1);
                let goal = if wrong {
                    blocks
                } else {
                    blocks * (2 * (round - 1) + phase + 1)
                };
                while atomic_load_32_device(count, Acquire) < goal {}
                if phase == 0 {
                    assert!(wrong || values.get(1 - block) == round);
                    values.get(1 - block); // against: grid_barrier_not_reset
                }
            }
        }
    }
}

/// A loop whose end is never reached.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn endless_loop(from: *const u32, to: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let step = Global::new(from, 2).get(usize::from(!wrong));
        let (mut i, mut rounds) = (0, 0);
        while i < 8 {
            thread::sync_threads(); // expect: endless_loop Budget
            i += step;
            rounds += 1;
        }
        GlobalMut::new(to, 1).set(0, rounds);
    }
}

/// A spin without any access, which only the watchdog ends.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn endless_spin(to: *mut u32, wrong: bool) {
    let mut rounds = 0_u32;
    while rounds < 100 || wrong {
        // expect without line: endless_spin TimeLimit
        rounds = rounds.wrapping_add(1);
        std::hint::black_box(rounds);
    }
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 1).set(0, rounds) };
}

/// A recursion without an end.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn recursion(to: *mut u32, wrong: bool) {
    fn depth(n: u32) -> u32 {
        let frame = std::hint::black_box([n; 64]);
        if n == 0 { 0 } else { 1 + depth(n - 1) + frame[0] - n }
    }
    // expect without line: deep_recursion StackOverflow
    let deep = depth(if wrong { u32::MAX } else { 5 });
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 1).set(0, deep) };
}

/// A sum in floating point by atomics: the result depends on the order.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn float_sum(from: *const f32, sum: *mut f32, wrong: bool) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let from = Global::new(from, 64);
        if wrong {
            // expect without line: order_of_additions ScheduleDependent
            (*sum.cast::<AtomicF32>()).fetch_add(from.get(i), Relaxed);
        } else if i == 0 {
            let sum = GlobalMut::new(sum, 1);
            sum.set(0, (0..64).map(|k| from.get(k)).sum());
        }
    }
}

/// Places in the output by arrival.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn order_of_arrival(count: *mut u32, to: *mut u32, wrong: bool) {
    let i = thread::index_1d();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let arrival = atomic_fetch_add_u32_device(count, Relaxed, 1);
        // expect without line: order_of_arrival ScheduleDependent
        GlobalMut::new(to, 64).set(if wrong { arrival } else { i } as usize, i);
    }
}

/// An index of the data that is divided by zero.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn division(from: *const u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let divisor = Global::new(from, 8).get(t);
        let divisor = if wrong { divisor } else { divisor.max(1) };
        GlobalMut::new(to, 8).set(t, 8 / divisor); // expect: division_by_zero Panic
    }
}

/// An assertion of the kernel.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn assertion(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x();
    assert!(!wrong || t < 5, "five threads"); // expect: assertion Panic
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 8).set(t as usize, t) };
}

pub const FAMILY: Family = Family {
    name: "progress",
    source: include_str!("progress.rs"),
    pairs: &[
        pair("flag_never_set", Synccheck, |t| {
            t.update(
                t.launch(2, 1),
                [0],
                // SAFETY: as the crate says of launches.
                |flag| unsafe { flag_never_set(flag, t.wrong) },
                [2],
            )
        }),
        pair("mutual_wait", Synccheck, |t| {
            t.update(
                t.launch(2, 1),
                [0; 2],
                // SAFETY: as the crate says of launches.
                |flags| unsafe { mutual_wait(flags, t.wrong) },
                [1; 2],
            )
        }),
        pair("grid_larger_than_device", Scor, |t| {
            let launch = t.launch(8, 1).resident_blocks(if t.wrong { 4 } else { 8 });
            // SAFETY: as the crate says of launches.
            t.update(launch, [0], |count| unsafe { grid_barrier(count, 8) }, [8])
        }),
        pair("grid_barrier_count", Scor, |t| {
            let blocks = if t.wrong { 5 } else { 4 };
            // SAFETY: as the crate says of launches.
            t.update(t.launch(4, 1), [0], |count| unsafe { grid_barrier(count, blocks) }, [4])
        }),
        pair("grid_barrier_not_reset", Scor, |t| {
            let values = GlobalBuffer::zeroed(2);
            // SAFETY: as the crate says of launches.
            let kernel = |count| unsafe { grid_barrier_twice(values.as_mut_ptr(), count, t.wrong) };
            t.update(t.launch(2, 1), [0], kernel, [8])
        }),
        pair("endless_loop", GpuVerify, |t| {
            let launch = t.launch(1, 1).budget(Budget {
                barriers: 1000,
                ..Budget::default()
            });
            // SAFETY: as the crate says of launches.
            t.map(launch, 2, |from, to| unsafe { endless_loop(from, to, t.wrong) }, [8])
        }),
        pair("endless_spin", Indigo, |t| {
            let launch = t.launch(1, 1).time_limit(Duration::from_millis(200));
            // SAFETY: as the crate says of launches.
            t.map(launch, 0, |_, to| unsafe { endless_spin(to, t.wrong) }, [100])
        }),
        pair("deep_recursion", Memcheck, |t| {
            // SAFETY: as the crate says of launches.
            t.map(t.launch(1, 1), 0, |_, to| unsafe { recursion(to, t.wrong) }, [5])
        }),
        pair("order_of_additions", DataRaceBench, |t| {
            let values: [f32; 64] = std::array::from_fn(|i| if i % 2 == 0 { 1e8 } else { 1.0 + i as f32 });
            let (from, sum) = (GlobalBuffer::from_slice(&values), GlobalBuffer::zeroed(1));
            t.launch(2, 32)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { float_sum(from.as_ptr(), sum.as_mut_ptr(), t.wrong) })
        }),
        pair("order_of_arrival", Indigo, |t| {
            let count = GlobalBuffer::zeroed(1);
            let launch = t.launch(2, 32);
            t.map(
                launch,
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { order_of_arrival(count.as_mut_ptr(), to, t.wrong) },
                0..64,
            )
        }),
        pair("division_by_zero", DataRaceBench, |t| {
            let quotients = [8, 8, 4, 2, 2, 1, 1, 1];
            t.map(
                t.launch(1, 8),
                8,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { division(from, to, t.wrong) },
                quotients,
            )
        }),
        pair("assertion", GpuVerify, |t| {
            // SAFETY: as the crate says of launches.
            t.map(t.launch(1, 8), 0, |_, to| unsafe { assertion(to, t.wrong) }, 0..8)
        }),
    ],
};
