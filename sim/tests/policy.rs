//! What a launch allows that is a fault by default.

use std::hint::black_box;
use std::sync::atomic::Ordering::Relaxed;

use cuda_sim::device::{self, Scope};
use cuda_sim::{Comparison, GlobalBuffer, Launch, Policy, Report};
use cuda_views::{GlobalMut, Shared};

fn thread() -> usize {
    device::thread_idx()[0] as usize
}

/// That `run` reports these faults by default, and none with the policy.
fn is_allowed_by(policy: Policy, run: impl Fn(Policy) -> Report, faults: &[&str]) {
    let report = run(Policy::default());
    assert_eq!(report.kinds(), faults, "{report}");
    run(policy).assert_clean();
}

/// All threads store a value in shared and in global memory.
fn stores(policy: Policy, value: impl Fn(usize) -> u64 + Sync) -> Report {
    let out = GlobalBuffer::<u64>::zeroed(4);
    Launch::new(2, 64).dynamic_shared_bytes(32).policy(policy).run(|| {
        // SAFETY: the launch gives 32 bytes, the buffer has four elements.
        unsafe {
            let value = value(thread());
            Shared::new(device::dynamic_shared_mem().cast::<u64>(), 4).set(1, value);
            GlobalMut::new(out.as_mut_ptr(), 4).set_vec::<2>(2, [value, 7]);
        }
    })
}

#[test]
fn stores_of_one_value() {
    let policy = Policy {
        same_value_writes: true,
        ..Policy::default()
    };
    is_allowed_by(policy, |policy| stores(policy, |_| 5), &["SharedRace", "GlobalRace"]);
    // Of other values they stay races.
    let report = stores(policy, |thread| u64::from(thread == 40));
    assert_eq!(report.kinds(), ["SharedRace", "GlobalRace"], "{report}");
}

#[test]
fn threads_that_return_before_a_barrier() {
    let run = |policy| {
        let out = GlobalBuffer::<u32>::zeroed(1);
        let report = Launch::new(1, 70).policy(policy).run(|| {
            if thread() >= 60 {
                return;
            }
            let count = device::sync_threads_reduce(device::BarrierOp::Count, 1);
            device::sync_threads();
            if thread() == 0 {
                // SAFETY: inside the buffer.
                unsafe { out.as_mut_ptr().write(count) };
            }
        });
        if policy.early_return {
            assert_eq!(out.to_vec(), [60], "those that have returned do not count");
        }
        report
    };
    let policy = Policy {
        early_return: true,
        ..Policy::default()
    };
    is_allowed_by(policy, run, &["BarrierDivergence"]);
}

#[test]
fn warps_at_barriers_of_their_own() {
    let run = |policy| {
        Launch::new(1, 64).policy(policy).run(|| {
            if thread() < 32 {
                device::sync_threads();
                black_box(0);
            } else {
                device::sync_threads();
            }
        })
    };
    let policy = Policy {
        barrier_by_warp: true,
        ..Policy::default()
    };
    is_allowed_by(policy, run, &["BarrierMismatch"]);
    // Not lanes of one warp.
    let report = Launch::new(1, 64).policy(policy).run(|| {
        if thread() < 40 {
            device::sync_threads();
            black_box(0);
        } else {
            device::sync_threads();
        }
    });
    assert_eq!(report.kinds(), ["BarrierMismatch"], "{report}");
}

#[test]
fn results_in_the_order_of_arrival() {
    let run = |policy| {
        let out = GlobalBuffer::<u32>::zeroed(65);
        Launch::new(2, 32).policy(policy).run(|| {
            // SAFETY: a place each.
            unsafe {
                let place = device::atomic_update(out.as_mut_ptr(), Relaxed, Scope::Device, |count| count + 1);
                let number = device::block_idx()[0] * 32 + thread() as u32;
                GlobalMut::new(out.as_mut_ptr(), 65).set(1 + place as usize, number);
            }
        })
    };
    let policy = Policy {
        append_order: true,
        ..Policy::default()
    };
    is_allowed_by(policy, run, &["ScheduleDependent"]);
}

#[test]
fn sums_in_the_order_of_arrival() {
    let run = |policy| {
        let sum = GlobalBuffer::<f32>::zeroed(1);
        Launch::new(2, 64).policy(policy).run(|| {
            let term = 1e4 / (1 + 7 * thread() + device::block_idx()[0] as usize) as f32;
            let add = |sum: u32| (f32::from_bits(sum) + term).to_bits();
            // SAFETY: inside the buffer.
            unsafe { device::atomic_update(sum.as_mut_ptr().cast::<u32>(), Relaxed, Scope::Device, add) };
        })
    };
    let policy = Policy {
        float_sum_order: true,
        ..Policy::default()
    };
    is_allowed_by(policy, run, &["ScheduleDependent"]);
}

#[test]
fn buffers_may_differ_within_a_tolerance_or_be_left_out() {
    // The block that starts last stays.
    let run = |factor: f32, comparison| {
        let counter = GlobalBuffer::<u32>::zeroed(1);
        let last = GlobalBuffer::<f32>::zeroed(1).compared(comparison);
        Launch::new(2, 1).run(|| {
            let block = device::block_idx()[0];
            // SAFETY: a word of the buffer.
            let place =
                unsafe { device::atomic_update(counter.as_mut_ptr(), Relaxed, Scope::Device, |count| count + 1) };
            if place == 1 {
                // SAFETY: an element of the buffer, which this block alone writes.
                unsafe { last.as_mut_ptr().write(1000.0 + factor * block as f32) };
            }
        })
    };
    let within = |relative, absolute| Comparison::Within { relative, absolute };
    assert_eq!(run(1.0, Comparison::Exact).kinds(), ["ScheduleDependent"]);
    assert_eq!(run(1.0, within(1e-4, 0.5)).kinds(), ["ScheduleDependent"]);
    run(1.0, within(2e-3, 0.0)).assert_clean();
    run(1.0, within(0.0, 1.5)).assert_clean();
    run(500.0, Comparison::Ignored).assert_clean();
}
