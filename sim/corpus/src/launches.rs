//! Launches that overlap: programmatic dependent launch.

use std::sync::atomic::Ordering::Relaxed;

use cuda_sim::device::{Scope, atomic_update};
use cuda_sim::{GlobalBuffer, Report, Stream};
use cuda_std::{kernel, thread};
use cuda_views::griddepcontrol::{launch_dependents, wait};
use cuda_views::{Global, GlobalMut};

use crate::pair::Suite::*;
use crate::pair::{Family, Twin, first_faulty, numbers, pair};

/// Elements, one for each thread of two blocks.
const LEN: usize = 128;

/// The mistake of a [`consume`].
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    Nothing,
    NoWait,
    LateWait,
    WaitOfOneThread,
}

/// Doubles, and lets the next launch start before it stores.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn produce(from: *const u32, to: *mut u32) {
    let i = thread::index_1d() as usize;
    launch_dependents();
    // SAFETY: the caller's promise.
    unsafe {
        let value = Global::new(from, LEN).get(i);
        // against: no_wait; late_wait; wait_of_one_thread
        GlobalMut::new(to, LEN).set(i, 2 * value);
    }
}

/// Stores, and then lets the next launch start: that is no fence.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn produce_then_launch(from: *const u32, to: *mut u32) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's promise.
    unsafe {
        let value = Global::new(from, LEN).get(i);
        GlobalMut::new(to, LEN).set(i, 2 * value); // against: launch_as_fence; middle_without_wait
    }
    launch_dependents();
}

/// Adds 1, in reverse order.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn consume(from: *const u32, to: *mut u32, mistake: Mistake) {
    let i = thread::index_1d() as usize;
    if mistake == Mistake::Nothing || mistake == Mistake::WaitOfOneThread && thread::thread_idx_x() == 0 {
        wait();
    }
    // SAFETY: the caller's promise.
    unsafe {
        // expect: no_wait GlobalRace; late_wait GlobalRace; wait_of_one_thread GlobalRace
        let value = Global::new(from, LEN).get(LEN - 1 - i);
        if mistake == Mistake::LateWait {
            wait();
        }
        GlobalMut::new(to, LEN).set(i, value.wrapping_add(1));
    }
}

/// [`consume`] of what was stored before the launch was allowed.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn consume_stored(from: *const u32, to: *mut u32, wrong: bool) {
    let i = thread::index_1d() as usize;
    if !wrong {
        wait();
    }
    // SAFETY: the caller's promise.
    unsafe {
        let value = Global::new(from, LEN).get(LEN - 1 - i); // expect: launch_as_fence GlobalRace
        GlobalMut::new(to, LEN).set(i, value.wrapping_add(1));
    }
}

/// Has nothing to do with its neighbors in the stream.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn unrelated(other: *mut u32, wrong: bool) {
    launch_dependents();
    // SAFETY: the caller's promise.
    unsafe { GlobalMut::new(other, LEN).set(thread::index_1d() as usize, 0) };
    if !wrong {
        wait();
    }
}

/// Reads what the launch before the one before has stored.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn consume_third(from: *const u32, to: *mut u32) {
    let i = thread::index_1d() as usize;
    wait();
    // SAFETY: the caller's promise.
    unsafe {
        let value = Global::new(from, LEN).get(LEN - 1 - i); // expect: middle_without_wait GlobalRace
        GlobalMut::new(to, LEN).set(i, value.wrapping_add(1));
    }
}

/// Stores where the launch before still reads.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn clear(data: *mut u32, wrong: bool) {
    if !wrong {
        wait();
    }
    // SAFETY: the caller's promise.
    unsafe {
        // expect: cleared_early GlobalRace
        GlobalMut::new(data, LEN).set(LEN - 1 - thread::index_1d() as usize, 0);
    }
}

/// Copies.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn copy(from: *const u32, to: *mut u32) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's promise.
    unsafe {
        let value = Global::new(from, LEN).get(i); // against: cleared_early
        launch_dependents();
        GlobalMut::new(to, LEN).set(i, value);
    }
}

/// Takes work items from a counter, which goes on where the launch before has ended.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn take_items(counter: *mut u32, owners: *mut u32, launch: u32, wrong: bool) {
    launch_dependents();
    if !wrong {
        wait();
    }
    // SAFETY: the caller's promise.
    unsafe {
        let item = atomic_update(counter, Relaxed, Scope::Device, |next| next + 1);
        // expect without line: counter_before_wait ScheduleDependent
        GlobalMut::new(owners, 2 * LEN).set(item as usize, launch);
    }
}

/// The launches of a producer and a consumer.
fn two(t: Twin, first: impl Fn(*const u32, *mut u32) + Sync, second: impl Fn(*const u32, *mut u32) + Sync) -> Report {
    let (from, middle, to) = (
        numbers(LEN as u32),
        GlobalBuffer::uninit(LEN),
        GlobalBuffer::uninit(LEN),
    );
    let stream = Stream::new()
        .launch(t.launch(2, 64), || first(from.as_ptr(), middle.as_mut_ptr()))
        .launch_dependent(t.launch(2, 64), || second(middle.as_ptr(), to.as_mut_ptr()));
    let report = first_faulty(stream.run());
    t.checked(report, &to, (0..LEN as u32).rev().map(|i| 2 * i + 1))
}

fn run_consume(t: Twin, mistake: Mistake) -> Report {
    let mistake = if t.wrong { mistake } else { Mistake::Nothing };
    // SAFETY: a thread for each element.
    two(
        t,
        |from, to| unsafe { produce(from, to) },
        |from, to| unsafe { consume(from, to, mistake) },
    )
}

fn no_wait(t: Twin) -> Report {
    run_consume(t, Mistake::NoWait)
}

fn late_wait(t: Twin) -> Report {
    run_consume(t, Mistake::LateWait)
}

fn wait_of_one_thread(t: Twin) -> Report {
    run_consume(t, Mistake::WaitOfOneThread)
}

fn launch_as_fence(t: Twin) -> Report {
    // SAFETY: a thread for each element.
    two(
        t,
        |from, to| unsafe { produce_then_launch(from, to) },
        |from, to| unsafe { consume_stored(from, to, t.wrong) },
    )
}

fn middle_without_wait(t: Twin) -> Report {
    let (from, middle, to) = (
        numbers(LEN as u32),
        GlobalBuffer::uninit(LEN),
        GlobalBuffer::uninit(LEN),
    );
    let other = GlobalBuffer::<u32>::uninit(LEN);
    // SAFETY: a thread for each element.
    let stream = unsafe {
        Stream::new()
            .launch(t.launch(2, 64), || {
                produce_then_launch(from.as_ptr(), middle.as_mut_ptr())
            })
            .launch_dependent(t.launch(2, 64), || unrelated(other.as_mut_ptr(), t.wrong))
            .launch_dependent(t.launch(2, 64), || consume_third(middle.as_ptr(), to.as_mut_ptr()))
    };
    let report = first_faulty(stream.run());
    t.checked(report, &to, (0..LEN as u32).rev().map(|i| 2 * i + 1))
}

fn cleared_early(t: Twin) -> Report {
    let (data, to) = (numbers(LEN as u32), GlobalBuffer::uninit(LEN));
    // SAFETY: a thread for each element.
    let stream = unsafe {
        Stream::new()
            .launch(t.launch(2, 64), || copy(data.as_ptr(), to.as_mut_ptr()))
            .launch_dependent(t.launch(2, 64), || clear(data.as_mut_ptr(), t.wrong))
    };
    let report = first_faulty(stream.run());
    t.checked(report, &to, 0..LEN as u32)
}

fn counter_before_wait(t: Twin) -> Report {
    let (counter, owners) = (GlobalBuffer::<u32>::zeroed(1), GlobalBuffer::<u32>::uninit(2 * LEN));
    // SAFETY: an item for each thread of both launches.
    let stream = unsafe {
        Stream::new()
            .launch(t.launch(2, 64), || {
                take_items(counter.as_mut_ptr(), owners.as_mut_ptr(), 0, t.wrong)
            })
            .launch_dependent(t.launch(2, 64), || {
                take_items(counter.as_mut_ptr(), owners.as_mut_ptr(), 1, t.wrong)
            })
    };
    let report = first_faulty(stream.run());
    t.checked(report, &owners, (0..2 * LEN as u32).map(|item| item / LEN as u32))
}

pub const FAMILY: Family = Family {
    name: "launches",
    source: include_str!("launches.rs"),
    pairs: &[
        pair("no_wait", DependentLaunch, no_wait),
        pair("late_wait", DependentLaunch, late_wait),
        pair("wait_of_one_thread", DependentLaunch, wait_of_one_thread),
        pair("launch_as_fence", DependentLaunch, launch_as_fence),
        pair("middle_without_wait", DependentLaunch, middle_without_wait),
        pair("cleared_early", DependentLaunch, cleared_early),
        pair("counter_before_wait", DependentLaunch, counter_before_wait),
    ],
};
