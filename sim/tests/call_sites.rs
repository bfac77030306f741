//! Barriers inside functions: which call of the function a thread is in.
//!
//! These tests need line tables, which the workspace's profile asks for.

#![cfg(unix)]

use std::hint::black_box;

use cuda_sim::device;
use cuda_sim::{GlobalBuffer, Launch};

fn thread() -> usize {
    device::thread_idx()[0] as usize
}

/// A step of a computation that ends with a barrier.
#[inline(never)]
fn step(value: usize) -> usize {
    let value = black_box(value);
    device::sync_threads();
    black_box(value + 1)
}

#[inline(never)]
fn steps(value: usize) -> usize {
    let value = step(black_box(value));
    black_box(value)
}

#[test]
fn lanes_that_call_in_different_places_are_at_different_barriers() {
    let report = Launch::new(2, 64).run(|| {
        if thread().is_multiple_of(2) {
            black_box(step(0));
        } else {
            black_box(step(1));
        }
    });
    assert_eq!(report.kinds(), ["BarrierMismatch"], "{report}");
    let fault = &report.faults[0];
    let other = fault.other.as_ref().expect("the other barrier");
    assert_eq!(
        fault.location.as_ref(),
        Some(&other.location),
        "one barrier in the source"
    );
    let called_at = |stack: &[cuda_sim::StackFrame]| stack[1].location.line;
    assert_eq!(called_at(&fault.stack) + 2, called_at(&other.stack), "{report}");
    assert!(fault.stack[0].function.ends_with("step"), "{report}");
    assert!(fault.to_string().contains("\n      called by "), "{report}");
    assert!(
        fault.stack.iter().all(|frame| frame.location.file == file!()),
        "{report}"
    );
}

#[test]
fn the_whole_call_stack_counts() {
    let report = Launch::new(1, 32).run(|| {
        if thread() < 3 {
            black_box(steps(0));
        } else {
            black_box(steps(1));
        }
    });
    assert_eq!(report.kinds(), ["BarrierMismatch"], "{report}");
}

#[test]
fn lanes_with_other_trip_counts_are_at_different_barriers() {
    let report = Launch::new(1, 32).run(|| {
        let first = black_box(2 + thread() % 2);
        for at in 0..first {
            black_box(step(at));
        }
        for at in first..5 {
            black_box(step(at));
        }
    });
    assert_eq!(report.kinds(), ["BarrierMismatch"], "{report}");
    assert_eq!(report.faults[0].interval, 2);
}

#[test]
fn warps_may_come_from_different_places() {
    let report = Launch::new(4, 96).run(|| {
        let value = match thread() / 32 {
            0 => steps(1),
            1 => step(2),
            _ => step(step(3) - 4),
        };
        black_box(value);
        if thread() < 64 {
            black_box(step(0));
        }
    });
    report.assert_clean();
}

#[test]
fn a_loop_that_all_threads_go_through_is_clean() {
    let data = GlobalBuffer::<u32>::zeroed(64);
    let report = Launch::new(1, 64).run(|| {
        // A condition that does not change in the loop: a compiler makes two loops of it.
        let writes = thread() < 16;
        for _ in 0..black_box(7) {
            if writes {
                // SAFETY: inside the buffer.
                unsafe { data.as_mut_ptr().add(thread()).write_volatile(1) };
            }
            device::sync_threads();
        }
    });
    report.assert_clean();
}

/// A helper that stores an element of a tile.
#[inline(never)]
fn put(tile: cuda_views::Shared<u32>, index: usize) {
    // SAFETY: inside the tile. That nothing orders the stores is the fault.
    unsafe { tile.set(index, black_box(1)) };
}

/// Stores by two threads, each through a call of its own.
#[cuda_std::kernel]
unsafe fn racing_helpers() {
    // SAFETY: 64 elements.
    let tile = unsafe { cuda_views::Shared::new(cuda_std::shared_array![u32; 64], 64) };
    // No tail calls, which would leave no frame.
    if thread() == 0 {
        put(tile, 7);
        black_box(0);
    } else if thread() == 33 {
        put(tile, 7);
        black_box(1);
    }
}

#[test]
fn both_sides_of_a_race_have_their_call_stacks() {
    for workers in [1, 2] {
        // SAFETY: the kernel accesses no other memory.
        let report = Launch::new(2, 64).workers(workers).run(|| unsafe { racing_helpers() });
        assert_eq!(report.kinds(), ["SharedRace"], "{report}");
        let fault = &report.faults[0];
        let other = fault.other.as_ref().expect("the other access");
        assert_eq!(
            fault.location.as_ref(),
            Some(&other.location),
            "one store in the source"
        );
        for stack in [&fault.stack, &other.stack] {
            let functions: Vec<_> = stack.iter().map(|frame| frame.function.rsplit("::").next()).collect();
            assert_eq!(functions, [Some("put"), Some("racing_helpers")], "{report}");
        }
        let called_at = |stack: &[cuda_sim::StackFrame]| stack[1].location.line;
        assert_eq!(called_at(&other.stack) + 3, called_at(&fault.stack), "{report}");
    }
}

/// Calls itself until this much of the simulated thread's stack is taken.
#[inline(never)]
fn below(bytes: usize, top: usize, kernel: &dyn Fn()) {
    let here = [0_u8; 256];
    if top - black_box(&here).as_ptr().addr() < bytes {
        below(bytes, top, kernel);
    } else {
        kernel();
    }
    black_box(&here);
}

/// Debug information is read on another stack: what that takes would overflow the 16 KiB that are left of the 96 of a
/// simulated thread.
#[test]
fn a_thread_with_little_stack_left_has_a_call_stack() {
    // SAFETY: the kernel accesses no other memory.
    let kernel = || unsafe { racing_helpers() };
    let report = Launch::new(1, 64).run(|| {
        let top = [0_u8; 1];
        below(80 << 10, black_box(&top).as_ptr().addr(), &kernel);
    });
    assert_eq!(report.kinds(), ["SharedRace"], "{report}");
    assert_eq!(report.faults[0].stack.len(), 2, "{report}");
}
