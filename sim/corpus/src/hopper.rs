//! Bugs of published Hopper kernels: TMA loads and stores, mbarriers.

use cuda_sim::tensor_map::{TensorElement, TensorMapParts, TensorMapWords, TensorSwizzle};
use cuda_sim::{GlobalBuffer, Report};
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, thread};
use cuda_views::bulk_copy::{commit, load_2d, load_2d_multicast, proxy_fence, store_2d, wait as wait_for_stores};
use cuda_views::mbarrier::{arrive, arrive_expect_tx, fence_init, init, wait};
use cuda_views::{GlobalMut, Shared, cluster};

use crate::pair::Suite::*;
use crate::pair::{Family, Twin, numbers, pair};

/// Words of a box: 8 x 4.
pub const BOX: usize = 32;
pub const BOX_BYTES: u32 = 4 * BOX as u32;

/// Bytes of dynamic shared memory of all these kernels: mbarriers, and two stages.
pub const BYTES: u32 = 128 + 2 * BOX_BYTES;

/// The mbarriers at the start of the dynamic shared memory, and the stages after its first 128 bytes.
pub fn memory() -> (Shared<u64>, Shared<u32>) {
    let start = dynamic_shared_mem::<u8>();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        (
            Shared::new(start.cast(), 8),
            Shared::new(start.add(128).cast(), 2 * BOX),
        )
    }
}

/// A tensor map of a matrix of 8 columns, in boxes of 8 x 4.
pub fn map_of(matrix: &GlobalBuffer<u32>) -> TensorMapWords {
    let parts = TensorMapParts {
        address: matrix.as_ptr().expose_provenance() as u64,
        extents: [8, matrix.len() as u64 / 8],
        stride_bytes: 32,
        planes: None,
        box_extents: [8, 4],
        element: TensorElement::F32,
        swizzle: TensorSwizzle::None,
    };
    parts.encode_simulated().expect("the matrix can be described")
}

/// Initializes `count` mbarriers for `arrivals` each and makes them visible to all.
///
/// # Safety
/// As the [crate] says of kernels.
pub unsafe fn init_all(barriers: Shared<u64>, count: u32, arrivals: impl Fn(u32) -> u32) {
    if thread::thread_idx_x() == 0 {
        for barrier in 0..count {
            init(barriers, barrier, arrivals(barrier));
        }
        fence_init();
    }
    thread::sync_threads();
}

/// Two boxes one after the other in the same place, which threads read with ordinary loads.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn one_stage(map: *const TensorMapWords, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    let (barriers, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        init_all(barriers, 1, |_| 1);
        for step in 0..2_u32 {
            if t == 0 {
                arrive_expect_tx(barriers, 0, BOX_BYTES);
                // expect: refilled_without_proxy_fence CrossProxyWar
                load_2d(words, 0, &*map, [0, 4 * step as i32], (barriers, 0));
            }
            wait(barriers, 0, step & 1);
            let value = words.get(t); // against: refilled_without_proxy_fence
            GlobalMut::new(to, 2 * BOX).set(BOX * step as usize + t, value);
            if !wrong {
                proxy_fence();
            }
            thread::sync_threads();
        }
    }
}

/// What a pipeline of two stages lacks.
#[derive(Clone, Copy, PartialEq)]
enum Ring {
    Nothing,
    ProxyFence,
    EmptyWait,
    EarlyWait,
}

/// Warp 0 loads boxes into two stages, warp 1 reads them with ordinary loads.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn ring(map: *const TensorMapWords, to: *mut u32, lacks: Ring) {
    let (t, lane) = (thread::thread_idx_x(), thread::thread_idx_x() as usize % 32);
    let (barriers, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        init_all(barriers, 4, |barrier| if barrier < 2 { 1 } else { 32 });
        for step in 0..4_u32 {
            let (stage, phase) = (step % 2, (step / 2) & 1);
            let first = BOX * stage as usize;
            if t == 0 {
                if step >= 2 {
                    // The load before this one must be over in either case.
                    let full_or_empty = if lacks == Ring::EmptyWait { stage } else { 2 + stage };
                    wait(barriers, full_or_empty, phase ^ 1);
                }
                arrive_expect_tx(barriers, stage, BOX_BYTES);
                // expect: stage_without_proxy_fence CrossProxyWar; stage_overtaken_by_load SharedRace
                // against: stage_awaited_late
                load_2d(words, first as u32, &*map, [0, 4 * step as i32], (barriers, stage));
            } else if t >= 32 {
                if lacks != Ring::EarlyWait {
                    wait(barriers, stage, phase);
                }
                // expect: stage_awaited_late SharedRace
                // against: stage_without_proxy_fence; stage_overtaken_by_load
                let value = words.get(first + lane);
                wait(barriers, stage, phase);
                GlobalMut::new(to, 4 * BOX).set(BOX * step as usize + lane, value);
                if lacks != Ring::ProxyFence {
                    proxy_fence();
                }
                arrive(barriers, 2 + stage);
            }
        }
    }
}

fn run_ring(t: Twin, lacks: Ring) -> Report {
    let matrix = numbers(4 * BOX as u32);
    let map = map_of(&matrix);
    let lacks = if t.wrong { lacks } else { Ring::Nothing };
    let launch = t.launch(1, 64).dynamic_shared_bytes(BYTES);
    // SAFETY: as the crate says of launches.
    t.map(launch, 0, |_, to| unsafe { ring(&raw const map, to, lacks) }, 0..128)
}

/// Boxes of two operands on one mbarrier, whose phase must expect the bytes of both.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn operands(map: *const TensorMapWords, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    let (barriers, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        init_all(barriers, 2, |_| 1);
        if t == 0 {
            arrive_expect_tx(barriers, 0, if wrong { BOX_BYTES } else { 2 * BOX_BYTES });
            load_2d(words, 0, &*map, [0, 0], (barriers, 0));
            if wrong {
                arrive_expect_tx(barriers, 1, BOX_BYTES);
            }
            // against: second_operand_not_expected
            load_2d(words, BOX as u32, &*map, [0, 4], (barriers, u32::from(wrong)));
        }
        wait(barriers, 0, 0);
        let a = words.get(t);
        let b = words.get(BOX + t); // expect: second_operand_not_expected SharedRace
        GlobalMut::new(to, BOX).set(t, a + b);
        wait(barriers, u32::from(wrong), 0);
    }
}

/// What an epilogue that stores two boxes from one buffer lacks.
#[derive(Clone, Copy, PartialEq)]
enum Epilogue {
    Nothing,
    Commit,
    Wait,
    LastWait,
}

/// Threads write a box, one stores it, twice; then the block ends.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn epilogue(map: *const TensorMapWords, lacks: Epilogue) {
    let t = thread::thread_idx_x() as usize;
    let (_, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        for step in 0..2_u32 {
            // expect: store_not_committed SharedRace; buffer_written_during_store SharedRace
            words.set(t, BOX as u32 * step + t as u32);
            proxy_fence();
            thread::sync_threads();
            if t == 0 {
                // against: store_not_committed; buffer_written_during_store
                // expect: block_ends_during_store ExitDuringCopy
                store_2d(&*map, [0, 4 * step as i32], words, 0);
                if lacks != Epilogue::Commit {
                    commit();
                }
                if lacks != Epilogue::Wait && (lacks != Epilogue::LastWait || step == 0) {
                    wait_for_stores(0, true);
                }
            }
            thread::sync_threads();
        }
        if t == 0 && lacks != Epilogue::LastWait {
            wait_for_stores(0, false);
        }
    }
}

fn run_epilogue(t: Twin, lacks: Epilogue) -> Report {
    let matrix = GlobalBuffer::uninit(2 * BOX);
    let map = map_of(&matrix);
    let lacks = if t.wrong { lacks } else { Epilogue::Nothing };
    let launch = t.launch(1, 32).dynamic_shared_bytes(BYTES);
    // SAFETY: as the crate says of launches.
    let report = launch.run(|| unsafe { epilogue(&raw const map, lacks) });
    t.checked(report, &matrix, 0..64)
}

/// Two warpgroups store a box each from a buffer that is to be each one's own.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn two_warpgroups(map: *const TensorMapWords, wrong: bool) {
    let (group, t) = (thread::thread_idx_x() / 128, thread::thread_idx_x() as usize % 128);
    let (_, words) = memory();
    let first = if wrong { 0 } else { BOX * group as usize };
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if t < BOX {
            words.set(first + t, BOX as u32 * group + t as u32); // expect: shared_store_buffer SharedRace
            proxy_fence();
        }
        cuda_views::named_barrier::sync(1 + group, 128);
        if t == 0 {
            store_2d(&*map, [0, 4 * group as i32], words, first as u32);
            commit();
            wait_for_stores(0, false);
        }
    }
}

fn run_two_warpgroups(t: Twin) -> Report {
    let matrix = GlobalBuffer::uninit(2 * BOX);
    let map = map_of(&matrix);
    let launch = t.launch(1, 256).dynamic_shared_bytes(BYTES);
    // SAFETY: as the crate says of launches.
    let report = launch.run(|| unsafe { two_warpgroups(&raw const map, t.wrong) });
    t.checked(report, &matrix, 0..64)
}

/// A load into both blocks of a cluster, on the mbarrier of each.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn multicast(map: *const TensorMapWords, to: *mut u32, wrong: bool) {
    let (own, t) = (cluster::rank(), thread::thread_idx_x() as usize);
    let (barriers, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if t == 0 {
            init(barriers, 0, 1);
            if own == 0 || !wrong {
                fence_init();
            }
            arrive_expect_tx(barriers, 0, BOX_BYTES);
        }
        cluster::arrive();
        cluster::wait();
        if own == 0 && t == 0 {
            // expect: multicast_to_unfenced Mbarrier
            load_2d_multicast(words, 0, &*map, [0, 0], (barriers, 0), 3);
        }
        wait(barriers, 0, 0);
        GlobalMut::new(to, 2 * BOX).set(BOX * own as usize + t, words.get(t));
    }
}

fn run_multicast(t: Twin) -> Report {
    let matrix = numbers(BOX as u32);
    let map = map_of(&matrix);
    let launch = t.launch(2, 32).cluster(2).dynamic_shared_bytes(BYTES);
    t.map(
        launch,
        0,
        // SAFETY: as the crate says of launches.
        |_, to| unsafe { multicast(&raw const map, to, t.wrong) },
        (0..64).map(|i| i % 32),
    )
}

/// A load that nobody waits for is under way when the block ends.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn prefetch(map: *const TensorMapWords, wrong: bool) {
    let (barriers, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        init_all(barriers, 1, |_| 1);
        if thread::thread_idx_x() == 0 {
            arrive_expect_tx(barriers, 0, BOX_BYTES);
            load_2d(words, 0, &*map, [0, 0], (barriers, 0)); // expect: block_ends_during_load ExitDuringCopy
            if !wrong {
                wait(barriers, 0, 0);
            }
        }
    }
}

pub const FAMILY: Family = Family {
    name: "hopper",
    source: include_str!("hopper.rs"),
    pairs: &[
        pair("refilled_without_proxy_fence", Trackers, |t| {
            let matrix = numbers(2 * BOX as u32);
            let map = map_of(&matrix);
            let launch = t.launch(1, 32).dynamic_shared_bytes(BYTES);
            // SAFETY: as the crate says of launches.
            t.map(
                launch,
                0,
                |_, to| unsafe { one_stage(&raw const map, to, t.wrong) },
                0..64,
            )
        }),
        pair("stage_without_proxy_fence", Trackers, |t| run_ring(t, Ring::ProxyFence)),
        pair("stage_overtaken_by_load", Trackers, |t| run_ring(t, Ring::EmptyWait)),
        pair("stage_awaited_late", Trackers, |t| run_ring(t, Ring::EarlyWait)),
        pair("second_operand_not_expected", Trackers, |t| {
            let matrix = numbers(2 * BOX as u32);
            let map = map_of(&matrix);
            let launch = t.launch(1, 32).dynamic_shared_bytes(BYTES);
            let sums = (0..32).map(|i| 32 + 2 * i);
            // SAFETY: as the crate says of launches.
            t.map(
                launch,
                0,
                |_, to| unsafe { operands(&raw const map, to, t.wrong) },
                sums,
            )
        }),
        pair("store_not_committed", Trackers, |t| run_epilogue(t, Epilogue::Commit)),
        pair("buffer_written_during_store", Trackers, |t| {
            run_epilogue(t, Epilogue::Wait)
        }),
        pair("block_ends_during_store", Trackers, |t| {
            run_epilogue(t, Epilogue::LastWait)
        }),
        pair("shared_store_buffer", Trackers, run_two_warpgroups),
        pair("multicast_to_unfenced", Trackers, run_multicast),
        pair("block_ends_during_load", Trackers, |t| {
            let matrix = numbers(BOX as u32);
            let map = map_of(&matrix);
            let launch = t.launch(1, 32).dynamic_shared_bytes(BYTES);
            // SAFETY: as the crate says of launches.
            launch.run(|| unsafe { prefetch(&raw const map, t.wrong) })
        }),
    ],
};
