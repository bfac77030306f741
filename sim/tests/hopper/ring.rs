//! A ring of two stages between a producer, which fills them with bulk copies, and consumers: right, and broken in each
//! way.

use cuda_sim::device::{sync_threads, thread_idx};
use cuda_sim::tensor_map::{TensorElement, TensorSwizzle};
use cuda_sim::{Checks, GlobalBuffer, Launch, Report, Schedule};
use cuda_views::bulk_copy::load_2d;
use cuda_views::mbarrier::{arrive, arrive_expect_tx, fence_init, init, wait};

use crate::common::{assert_finds, kinds, map, shared};

/// The mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Broken {
    Nothing,
    /// The consumers do not wait for a stage to be full.
    FullWait,
    /// They wait for a barrier of the block instead, after the copy's start.
    BlockBarrier,
    /// The producer does not wait for a stage to be empty.
    EmptyWait,
    /// It waits for its own copy, but not for the consumers.
    EmptyIsFull,
    /// It expects this many bytes more than come.
    Expected(i32),
    /// The consumers wait with the other parity.
    Parity,
    /// Nothing makes the initialization visible to the copies.
    Fence,
}

const STAGES: u32 = 2;
const TILES: u32 = 7;
const BOX: [u32; 2] = [32, 4];
const ELEMENTS: u32 = BOX[0] * BOX[1];
const CONSUMERS: u32 = 32;

/// Sums the tiles of a matrix of 32 columns.
fn run(broken: Broken, checks: Checks, schedule: Schedule) -> (Report, Vec<f32>) {
    let elements: Vec<f32> = (0..ELEMENTS * TILES).map(|i| (i % 97) as f32).collect();
    let matrix = GlobalBuffer::from_slice(&elements);
    let sums = GlobalBuffer::<f32>::zeroed(CONSUMERS as usize);
    let map = map(
        &matrix,
        TensorElement::F32,
        [BOX[0].into(), (BOX[1] * TILES).into(), BOX[0].into()],
        BOX,
        TensorSwizzle::None,
    );
    let launch = Launch::new(1, CONSUMERS + 1)
        .dynamic_shared_bytes(1024 + STAGES * 4 * ELEMENTS)
        .checks(checks)
        .schedule(schedule);
    let report = launch.run(|| {
        let (full, empty) = (shared::<u64>(0, 2), shared::<u64>(16, 2));
        let stages = shared::<f32>(1024, (STAGES * ELEMENTS) as usize);
        let thread = thread_idx()[0];
        let is_producer = thread == CONSUMERS;
        if is_producer {
            for stage in 0..STAGES {
                init(full, stage, 1);
                init(empty, stage, CONSUMERS);
            }
            if broken != Broken::Fence {
                fence_init();
            }
        }
        // The barriers are there.
        sync_threads();
        let mut sum = 0.0;
        for tile in 0..TILES {
            let (stage, parity) = (tile % STAGES, (tile / STAGES) & 1);
            if is_producer {
                // WAR: the stage is drained. Of a first round the phase before the first one is meant.
                match broken {
                    Broken::EmptyWait => {}
                    Broken::EmptyIsFull => wait(full, stage, parity ^ 1),
                    _ => wait(empty, stage, parity ^ 1),
                }
                let mut bytes = 4 * ELEMENTS;
                if let Broken::Expected(more) = broken {
                    bytes = bytes.wrapping_add_signed(more);
                }
                arrive_expect_tx(full, stage, bytes);
                let row = (tile * BOX[1]) as i32;
                // SAFETY: the box fits its stage, which is empty: see above.
                unsafe { load_2d(stages, stage * ELEMENTS, &map, [0, row], (full, stage)) };
            }
            if broken == Broken::BlockBarrier {
                sync_threads();
            }
            if !is_producer {
                // RAW: the stage is filled.
                match broken {
                    Broken::FullWait | Broken::BlockBarrier => {}
                    Broken::Parity => wait(full, stage, parity ^ 1),
                    _ => wait(full, stage, parity),
                }
                for row in 0..BOX[1] {
                    let index = stage * ELEMENTS + row * BOX[0] + thread;
                    // SAFETY: inside the stage, which is full: see above.
                    sum += unsafe { stages.get(index as usize) };
                }
                arrive(empty, stage);
            }
        }
        if !is_producer {
            // SAFETY: an element for each consumer.
            unsafe { *sums.as_mut_ptr().add(thread as usize) = sum };
        }
    });
    (report, sums.to_vec())
}

#[test]
fn the_right_ring_sums_all_tiles() {
    let expected: Vec<f32> = (0..CONSUMERS)
        .map(|column| {
            (0..TILES * BOX[1])
                .map(|row| ((row * BOX[0] + column) % 97) as f32)
                .sum()
        })
        .collect();
    for checks in [Checks::Off, Checks::Faults, Checks::Full] {
        let (report, sums) = run(Broken::Nothing, checks, Schedule::All);
        report.assert_clean();
        assert_eq!(sums, expected, "{checks:?}");
    }
}

#[test]
fn each_broken_ring_is_found_in_every_order() {
    for schedule in Schedule::EVERY {
        let broken = |broken| run(broken, Checks::Full, schedule).0;
        let report = broken(Broken::FullWait);
        assert!(
            kinds(&report).contains(&"SharedRace"),
            "{schedule}: {:?}",
            report.faults
        );
        let report = broken(Broken::BlockBarrier);
        assert_finds(&report, "SharedRace", "against the write by thread (32, 0, 0)");
        assert_finds(&broken(Broken::EmptyIsFull), "SharedRace", "race in shared memory: ");
        assert_finds(
            &broken(Broken::EmptyWait),
            "Mbarrier",
            "phase 0 expects 1 arrivals, this is one more",
        );
        // In the first round the phase before the first one is complete, and nothing has come.
        let report = broken(Broken::Parity);
        let early = ["UninitializedRead", "SharedRace"];
        assert!(
            kinds(&report).iter().any(|kind| early.contains(kind)),
            "{schedule}: {:?}",
            report.faults
        );
        if schedule == Schedule::Forward {
            assert_finds(&report, "Deadlock", "lacks 32 of 32 arrivals");
        }
        assert_finds(
            &broken(Broken::Expected(16)),
            "Deadlock",
            "32 wait for the mbarrier at byte 0 of shared memory (phase 0 lacks 0 of 1 arrivals and 16 bytes)",
        );
        assert_finds(
            &broken(Broken::Expected(-16)),
            "Deadlock",
            "(phase 0 lacks 0 of 1 arrivals and has 16 bytes more than expected)",
        );
        assert_finds(&broken(Broken::Fence), "Mbarrier", "fence.mbarrier_init");
    }
}
