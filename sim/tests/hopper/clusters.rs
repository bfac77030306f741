//! Clusters: ranks, the barrier, and a ring that one block fills for both.

use cuda_sim::device::{block_idx, sync_threads, thread_idx};
use cuda_sim::tensor_map::{TensorElement, TensorSwizzle};
use cuda_sim::{FaultKind, GlobalBuffer, Launch, Report, Schedule};
use cuda_views::bulk_copy::load_2d_multicast;
use cuda_views::cluster::{arrive, arrive_remote, rank, size, wait};
use cuda_views::{GlobalMut, cluster, mbarrier};

use crate::common::{assert_finds, kinds, map, shared};

/// Arrives and waits.
#[track_caller]
fn sync() {
    arrive();
    wait();
}

#[test]
fn ranks_count_along_x_first() {
    let ranks = GlobalBuffer::<u32>::uninit(4 * 6);
    let launch = Launch::new((4, 6), 1).cluster((2, 3)).schedule(Schedule::All);
    let report = launch.run(|| {
        let [x, y, _] = block_idx();
        assert_eq!(size(), 6);
        // SAFETY: an element for each block.
        unsafe { GlobalMut::new(ranks.as_mut_ptr(), 24).set((4 * y + x) as usize, rank()) };
    });
    report.assert_clean();
    for (i, found) in ranks.to_vec().into_iter().enumerate() {
        let (x, y) = (i as u32 % 4, i as u32 / 4);
        assert_eq!(found, y % 3 * 2 + x % 2);
    }
}

#[test]
fn the_barrier_orders_the_blocks_of_a_cluster() {
    let run = |with_barrier: bool| {
        let data = GlobalBuffer::<u32>::uninit(128);
        let launch = Launch::new(4, 32).cluster(2).schedule(Schedule::All);
        launch.run(|| {
            let (own, lane) = (block_idx()[0], thread_idx()[0]);
            let data = GlobalMut::new_of(&data);
            for round in 0..3 {
                // SAFETY: inside; the barrier orders the two, or else that is the fault.
                unsafe {
                    data.set((32 * own + lane) as usize, 100 * round + own);
                    if with_barrier {
                        sync();
                    }
                    let other = data.get((32 * (own ^ 1) + 31 - lane) as usize);
                    assert!(!with_barrier || other == 100 * round + (own ^ 1));
                    if with_barrier {
                        sync();
                    }
                }
            }
        })
    };
    run(true).assert_clean();
    assert!(kinds(&run(false)).contains(&"GlobalRace"));
}

/// A view of a whole buffer.
trait OfBuffer {
    fn new_of(buffer: &GlobalBuffer<u32>) -> Self;
}

impl OfBuffer for GlobalMut<u32> {
    fn new_of(buffer: &GlobalBuffer<u32>) -> Self {
        // SAFETY: as long as the buffer is.
        unsafe { GlobalMut::new(buffer.as_mut_ptr(), buffer.len()) }
    }
}

#[test]
fn arrivals_and_waits_take_turns() {
    let report = Launch::new(2, 1).cluster(2).run(|| {
        arrive();
        arrive();
    });
    assert_finds(&report, "Cluster", "second arrival");
    assert_finds(&Launch::new(2, 1).cluster(2).run(wait), "Cluster", "without an arrival");
    let report = Launch::new(2, 2).cluster(2).run(|| {
        if block_idx()[0] == 1 || thread_idx()[0] == 0 {
            sync();
        } else {
            sync_threads();
        }
    });
    assert_finds(&report, "Deadlock", "wait for the barrier of the cluster");
    // Who has ended is not waited for.
    Launch::new(2, 2)
        .cluster(2)
        .run(|| {
            if thread_idx()[0] == 0 {
                sync();
            }
        })
        .assert_clean();
}

#[test]
fn launches_with_clusters_that_do_not_fit_are_refused() {
    let refused = |launch: Launch| match &launch.run(|| ()).faults[..] {
        [fault] => match &fault.kind {
            FaultKind::LaunchShape { problem } => problem.clone(),
            other => panic!("{other}"),
        },
        other => panic!("{other:?}"),
    };
    let text = refused(Launch::new(3, 1).cluster(2));
    assert_eq!(text, "a grid of 3 blocks along x, its clusters have 2");
    let text = refused(Launch::new(32, 1).cluster(32));
    assert!(text.contains("at most 16"), "{text}");
    let limits = cuda_sim::Limits::of_arch("sm_80").expect("known");
    let text = refused(Launch::new(2, 1).cluster(2).limits(limits));
    assert!(text.contains("sm_80 has none"), "{text}");
}

#[test]
fn a_kernel_made_for_clusters_needs_a_launch_with_them() {
    #[cuda_std::kernel(cluster = 2)]
    unsafe fn of_two() {
        assert_eq!(size(), 2);
    }
    // SAFETY: the kernel accesses no memory.
    let run = |launch: Launch| launch.run(|| unsafe { of_two() });
    run(Launch::new(2, 1).cluster(2)).assert_clean();
    let text = "the kernel has clusters of 2 x 1 x 1 blocks, the launch of 1 x 1 x 1";
    assert_finds(&run(Launch::new(2, 1)), "Cluster", text);
}

/// The mistake.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Broken {
    Nothing,
    /// The first block waits for its own consumers only.
    OwnEmpty,
    /// No barrier of the cluster follows the initialization.
    FirstSync,
    /// None stands at the end.
    LastSync,
}

const STAGES: u32 = 2;
const TILES: u32 = 6;
const ELEMENTS: u32 = 64;

/// Rank 0 fills the stages of both blocks; 32 consumers in each sum them.
fn ring(broken: Broken, schedule: Schedule) -> (Report, Vec<f32>) {
    let elements: Vec<f32> = (0..ELEMENTS * TILES).map(|i| (i % 31) as f32).collect();
    let matrix = GlobalBuffer::from_slice(&elements);
    let sums = GlobalBuffer::<f32>::uninit(64);
    let columns = u64::from(ELEMENTS);
    let map = map(
        &matrix,
        TensorElement::F32,
        [columns, TILES.into(), columns],
        [ELEMENTS, 1],
        TensorSwizzle::None,
    );
    let launch = Launch::new(2, 33)
        .cluster(2)
        .dynamic_shared_bytes(128 + STAGES * 4 * ELEMENTS);
    let report = launch.schedule(schedule).run(|| {
        let (full, empty) = (shared::<u64>(0, 2), shared::<u64>(16, 2));
        let stages = shared::<f32>(128, (STAGES * ELEMENTS) as usize);
        let thread = thread_idx()[0];
        let consumers = if broken == Broken::OwnEmpty { 32 } else { 64 };
        if thread == 32 {
            for stage in 0..STAGES {
                mbarrier::init(full, stage, 1);
                mbarrier::init(empty, stage, consumers);
            }
            mbarrier::fence_init();
        }
        if broken == Broken::FirstSync {
            sync_threads();
        } else {
            sync();
        }
        let mut sum = 0.0;
        for tile in 0..TILES {
            let (stage, parity) = (tile % STAGES, (tile / STAGES) & 1);
            if thread == 32 {
                // Each block expects the bytes of its own copy.
                if rank() == 0 {
                    // WAR: the stage is drained, in both blocks.
                    mbarrier::wait(empty, stage, parity ^ 1);
                }
                mbarrier::arrive_expect_tx(full, stage, 4 * ELEMENTS);
                if rank() == 0 {
                    let at = [0, tile as i32];
                    // SAFETY: the box fits the stage, which is empty in both blocks.
                    unsafe { load_2d_multicast(stages, stage * ELEMENTS, &map, at, (full, stage), 0b11) };
                } else {
                    // One phase after the other.
                    mbarrier::wait(full, stage, parity);
                }
            } else {
                // RAW: the stage is filled.
                mbarrier::wait(full, stage, parity);
                for i in [thread, thread + 32] {
                    // SAFETY: inside the stage, which is full.
                    sum += unsafe { stages.get((stage * ELEMENTS + i) as usize) };
                }
                match broken {
                    Broken::OwnEmpty if rank() == 1 => {}
                    _ => arrive_remote(cluster::map(empty, stage, 0)),
                }
            }
        }
        if thread < 32 {
            // SAFETY: an element for each consumer.
            unsafe { GlobalMut::new(sums.as_mut_ptr(), 64).set((32 * rank() + thread) as usize, sum) };
        }
        if broken != Broken::LastSync {
            sync();
        }
    });
    (report, sums.to_vec())
}

#[test]
fn one_block_fills_the_stages_of_both() {
    let (report, sums) = ring(Broken::Nothing, Schedule::All);
    report.assert_clean();
    for (i, found) in sums.into_iter().enumerate() {
        let lane = i as u32 % 32;
        let tiles = (0..TILES).flat_map(|tile| [tile * ELEMENTS + lane, tile * ELEMENTS + lane + 32]);
        assert_eq!(found, tiles.map(|i| (i % 31) as f32).sum::<f32>());
    }
}

#[test]
fn each_broken_cluster_ring_is_found() {
    let (report, _) = ring(Broken::OwnEmpty, Schedule::Forward);
    assert_finds(&report, "SharedRace", "of block (1, 0, 0)");
    // Block 0 loads into the stages of block 1.
    let races = report.faults.iter().filter(|fault| fault.kind.name() == "SharedRace");
    for race in races {
        let other = race.other.as_ref().expect("two accesses");
        assert!([race.block, other.block].contains(&[0; 3]), "{race}");
        let owner = race.shared_of.unwrap_or(race.block);
        assert_eq!(owner, [1, 0, 0], "{race}");
    }
    let (report, _) = ring(Broken::LastSync, Schedule::Forward);
    assert_finds(&report, "Cluster", "the block of rank 0 has ended");
    for schedule in [Schedule::Forward, Schedule::Reverse] {
        let (report, _) = ring(Broken::FirstSync, schedule);
        let found = kinds(&report);
        assert!(
            found.contains(&"SharedRace") || found.contains(&"Mbarrier"),
            "{:?}",
            report.faults
        );
    }
}

#[test]
fn a_race_with_another_block_names_both_and_the_barrier_that_orders_them() {
    let launch = Launch::new(2, 32).cluster(2).dynamic_shared_bytes(128);
    let report = launch.run(|| {
        let (own, lane) = (rank(), thread_idx()[0]);
        let words = shared::<u32>(0, 32);
        // SAFETY: inside; that nothing orders the load after the store of the other block is the fault.
        unsafe {
            words.set(lane as usize, own);
            sync_threads();
            let _: u32 = cluster::get(cluster::map(words, lane, own ^ 1));
        }
        sync();
    });
    let races = report.faults.iter().filter(|fault| fault.kind.name() == "SharedRace");
    let mut count = 0;
    for race in races {
        let other = race.other.as_ref().expect("two accesses");
        assert_eq!(race.shared_of, Some(other.block), "{race}");
        assert_ne!(race.block, other.block, "{race}");
        let hint = race.hint().expect("there is one");
        assert!(hint.contains("the cluster's barrier"), "{hint}");
        count += 1;
    }
    assert!(count > 0, "{report}");
}
