//! Warp functions: which lanes call them together, and what absent lanes contribute.

use std::sync::atomic::Ordering::Relaxed;

use cuda_sim::device::{self, Scope};
use cuda_sim::{GlobalBuffer, Launch, Schedule};

#[test]
fn one_lane_adds_for_all_that_took_the_branch() {
    // The warp-aggregated atomic: the lanes of a branch elect a leader by `activemask`.
    let counter = GlobalBuffer::<u32>::zeroed(1);
    let report = Launch::new(2, 64).schedule(Schedule::All).run(|| {
        let lane = device::lane_id();
        if lane.is_multiple_of(3) {
            let mask = device::active_mask();
            assert_eq!(mask, 0x4924_9249);
            let leader = mask.trailing_zeros();
            let base = if lane == leader {
                // SAFETY: inside the buffer.
                unsafe {
                    device::atomic_update(counter.as_mut_ptr(), Relaxed, Scope::Device, |old| {
                        old + mask.count_ones()
                    })
                }
            } else {
                0
            };
            let first = device::warp_exchange(mask, base.into(), |values| values.of(leader));
            assert_eq!(first % 11, 0);
        }
        device::sync_threads();
    });
    report.assert_clean();
    assert_eq!(counter.to_vec(), [4 * 11]);
}

#[test]
fn branches_have_masks_of_their_own() {
    let report = Launch::new(1, 32).run(|| {
        if device::lane_id() < 5 {
            assert_eq!(device::active_mask(), 0x1f);
        } else {
            assert_eq!(device::active_mask(), !0x1f);
        }
        assert_eq!(device::active_mask(), u32::MAX);
    });
    report.assert_clean();
}

#[test]
fn lanes_in_different_functions_are_a_fault() {
    let report = Launch::new(1, 32).run(|| {
        if device::lane_id() < 16 {
            device::sync_warp(u32::MAX);
        } else {
            device::warp_function("a vote", u32::MAX, 0, |_| ());
        }
    });
    assert_eq!(report.kinds(), ["WarpMismatch"]);
    let text = report.faults[0].to_string();
    assert!(text.contains("sync_warp and a vote"), "{text}");
}

#[test]
fn absent_lanes_bring_values_that_differ() {
    let values = GlobalBuffer::<u64>::zeroed(32);
    let report = Launch::new(1, 8).run(|| {
        let lane = device::lane_id();
        let value = device::warp_exchange(u32::MAX, 0, |values| values.of(lane + 8));
        // SAFETY: inside the buffer.
        unsafe { *values.as_mut_ptr().add(lane as usize) = value };
    });
    assert_eq!(report.kinds(), ["AbsentLane"]);
    let mut values = values.to_vec();
    values.truncate(8);
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), 8);
}
