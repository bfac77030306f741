//! Pipelines with mbarriers, and TMA loads and stores.

use cuda_sim::tensor_map::{TensorElement, TensorMapParts, TensorMapWords, TensorSwizzle};
use cuda_sim::{GlobalBuffer, Report};
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, thread};
use cuda_views::bulk_copy::{self, load_2d, proxy_fence, store_2d};
use cuda_views::mbarrier::{arrive, arrive_expect_tx, fence_init, init, invalidate, wait};
use cuda_views::{GlobalMut, Shared};

use crate::pair::Suite::*;
use crate::pair::{Family, Twin, numbers, pair};

/// The mbarriers at the start of the dynamic shared memory, and the words after its first 128 bytes.
fn memory() -> (Shared<u64>, Shared<u32>) {
    let start = dynamic_shared_mem::<u8>();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { (Shared::new(start.cast(), 4), Shared::new(start.add(128).cast(), 256)) }
}

/// Bytes of dynamic shared memory of all these kernels.
const BYTES: u32 = 128 + 4 * 256;

/// What a pipeline of one stage between two warps lacks.
#[derive(Clone, Copy, PartialEq)]
enum Lacks {
    Nothing,
    Init,
    InitBarrier,
    Arrivals,
    Wait,
    EmptyWait,
    Parity,
    Order,
    Invalidation,
}

/// Warp 0 fills a stage, warp 1 reads it, three times.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn stage(to: *mut u32, lacks: Lacks) {
    let (t, lane) = (thread::thread_idx_x(), thread::thread_idx_x() as usize % 32);
    let (barriers, words) = memory();
    let (full, empty) = (0, 1);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if t == 0 && lacks != Lacks::Init {
            // against: no_barrier_after_init
            init(barriers, full, if lacks == Lacks::Arrivals { 33 } else { 32 });
            init(barriers, empty, 32);
            if lacks == Lacks::Invalidation {
                init(barriers, full, 32); // expect: initialized_twice Mbarrier
            }
        }
        if lacks != Lacks::InitBarrier {
            thread::sync_threads();
        }
        for round in 0..3 {
            if t < 32 {
                if round > 0 && lacks != Lacks::EmptyWait {
                    wait(barriers, empty, (round - 1) & 1);
                }
                if lacks == Lacks::Order {
                    arrive(barriers, full);
                }
                // against: mbarrier_not_awaited; arrival_before_store; stage_overtaken
                words.set(lane, 10 * round);
                if lacks != Lacks::Order {
                    // expect: not_initialized Mbarrier; no_barrier_after_init SharedRace
                    arrive(barriers, full);
                }
            } else {
                let parity = round & 1 ^ u32::from(lacks == Lacks::Parity);
                if lacks != Lacks::Wait {
                    // expect: one_arrival_too_few Deadlock; wrong_parity Deadlock
                    wait(barriers, full, parity);
                }
                // expect: mbarrier_not_awaited SharedRace; arrival_before_store SharedRace; stage_overtaken SharedRace
                let value = words.get(31 - lane);
                GlobalMut::new(to, 96).set(32 * round as usize + lane, value);
                arrive(barriers, empty);
            }
        }
    }
}

fn run_stage(t: Twin, lacks: Lacks) -> Report {
    let lacks = if t.wrong { lacks } else { Lacks::Nothing };
    let launch = t.launch(1, 64).dynamic_shared_bytes(BYTES);
    t.map(
        launch,
        0,
        // SAFETY: as the crate says of launches.
        |_, to| unsafe { stage(to, lacks) },
        (0..96).map(|i| i / 32 * 10),
    )
}

/// An mbarrier is ordinary memory again only after its invalidation.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn ordinary_memory(to: *mut u32, wrong: bool) {
    let (barriers, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    let overlay = unsafe { Shared::new(barriers.as_mut_ptr().cast::<u32>(), 2) };
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        init(barriers, 0, 1);
        arrive(barriers, 0);
        if !wrong {
            invalidate(barriers, 0);
        }
        overlay.set(0, 6); // expect: mbarrier_overwritten Mbarrier
        words.set(0, overlay.get(0));
        GlobalMut::new(to, 1).set(0, words.get(0));
    }
}

/// What a TMA load lacks.
#[derive(Clone, Copy, PartialEq)]
enum Load {
    Right,
    NoFence,
    NoBytes,
    MoreBytes,
    NoWait,
    BarrierOfBlock,
    TooEarly,
}

/// Two boxes of 8 x 4 words, one after the other in the same place.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn loads(map: *const TensorMapWords, to: *mut u32, how: Load) {
    const BOX_BYTES: u32 = 4 * 32;
    let t = thread::thread_idx_x();
    let (barriers, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if t == 0 {
            init(barriers, 0, 1);
            if how != Load::NoFence {
                fence_init();
            }
        }
        thread::sync_threads();
        for step in 0..2_u32 {
            if t == 0 {
                match how {
                    Load::NoBytes => arrive(barriers, 0),
                    Load::MoreBytes => arrive_expect_tx(barriers, 0, BOX_BYTES + 16),
                    _ => arrive_expect_tx(barriers, 0, BOX_BYTES),
                }
                // expect: no_fence_after_init Mbarrier; box_refilled_early SharedRace
                // against: load_not_awaited; barrier_for_load; bytes_not_expected
                load_2d(words, 0, &*map, [0, 4 * step as i32], (barriers, 0));
            }
            if how == Load::BarrierOfBlock {
                thread::sync_threads();
            } else if how != Load::NoWait {
                wait(barriers, 0, step & 1); // expect: more_bytes_expected Deadlock
            }
            // expect: load_not_awaited SharedRace; barrier_for_load SharedRace; bytes_not_expected SharedRace
            // against: box_refilled_early
            let value = words.get(31 - t as usize);
            GlobalMut::new(to, 64).set((32 * step + t) as usize, value);
            if how != Load::TooEarly {
                proxy_fence();
                thread::sync_threads();
            }
        }
    }
}

/// A tensor map of a matrix of 8 columns, in boxes of 8 x 4.
fn map_of(matrix: &GlobalBuffer<u32>) -> TensorMapWords {
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

fn load(t: Twin, how: Load) -> Report {
    let matrix = numbers(64);
    let map = map_of(&matrix);
    let how = if t.wrong { how } else { Load::Right };
    let launch = t.launch(1, 32).dynamic_shared_bytes(BYTES);
    let reversed = (0..64).map(|i| i / 32 * 32 + 31 - i % 32);
    // SAFETY: as the crate says of launches.
    t.map(launch, 0, |_, to| unsafe { loads(&raw const map, to, how) }, reversed)
}

/// What a TMA store lacks.
#[derive(Clone, Copy, PartialEq)]
enum Store {
    Right,
    NoFence,
    FenceOfOne,
    NoBarrier,
    NoWait,
}

/// The block writes a box, one thread stores it, twice.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn stores(map: *const TensorMapWords, how: Store) {
    let t = thread::thread_idx_x();
    let (_, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        for step in 0..2_u32 {
            // against: no_proxy_fence; proxy_fence_of_one; store_before_barrier
            // expect: box_overwritten SharedRace
            words.set(t as usize, 32 * step + t);
            if !matches!(how, Store::NoFence | Store::FenceOfOne) || t == 0 && how == Store::FenceOfOne {
                proxy_fence();
            }
            if how != Store::NoBarrier {
                thread::sync_threads();
            }
            if t == 0 {
                // expect: no_proxy_fence MissingProxyFence; proxy_fence_of_one MissingProxyFence
                // expect: store_before_barrier SharedRace
                // against: box_overwritten
                store_2d(&*map, [0, 4 * step as i32], words, 0);
                bulk_copy::commit();
                if how != Store::NoWait {
                    bulk_copy::wait(0, true);
                }
            }
            thread::sync_threads();
        }
        if t == 0 {
            bulk_copy::wait(0, false);
        }
    }
}

fn store(t: Twin, how: Store) -> Report {
    let matrix = GlobalBuffer::uninit(64);
    let map = map_of(&matrix);
    let how = if t.wrong { how } else { Store::Right };
    let launch = t.launch(1, 32).dynamic_shared_bytes(BYTES);
    // SAFETY: as the crate says of launches.
    let report = launch.run(|| unsafe { stores(&raw const map, how) });
    t.checked(report, &matrix, 0..64)
}

pub const FAMILY: Family = Family {
    name: "pipelines",
    source: include_str!("pipelines.rs"),
    pairs: &[
        pair("not_initialized", Synccheck, |t| run_stage(t, Lacks::Init)),
        pair("no_barrier_after_init", Synccheck, |t| run_stage(t, Lacks::InitBarrier)),
        pair("initialized_twice", Synccheck, |t| run_stage(t, Lacks::Invalidation)),
        pair("one_arrival_too_few", Cutlass, |t| run_stage(t, Lacks::Arrivals)),
        pair("mbarrier_not_awaited", Cutlass, |t| run_stage(t, Lacks::Wait)),
        pair("stage_overtaken", Cutlass, |t| run_stage(t, Lacks::EmptyWait)),
        pair("wrong_parity", Cutlass, |t| run_stage(t, Lacks::Parity)),
        pair("arrival_before_store", Cutlass, |t| run_stage(t, Lacks::Order)),
        pair("mbarrier_overwritten", Synccheck, |t| {
            let launch = t.launch(1, 1).dynamic_shared_bytes(BYTES);
            // SAFETY: as the crate says of launches.
            t.map(launch, 0, |_, to| unsafe { ordinary_memory(to, t.wrong) }, [6])
        }),
        pair("no_fence_after_init", Cutlass, |t| load(t, Load::NoFence)),
        pair("bytes_not_expected", Cutlass, |t| load(t, Load::NoBytes)),
        pair("more_bytes_expected", Cutlass, |t| load(t, Load::MoreBytes)),
        pair("load_not_awaited", Cutlass, |t| load(t, Load::NoWait)),
        pair("barrier_for_load", Cutlass, |t| load(t, Load::BarrierOfBlock)),
        pair("box_refilled_early", Cutlass, |t| load(t, Load::TooEarly)),
        pair("no_proxy_fence", Cutlass, |t| store(t, Store::NoFence)),
        pair("proxy_fence_of_one", Cutlass, |t| store(t, Store::FenceOfOne)),
        pair("store_before_barrier", Cutlass, |t| store(t, Store::NoBarrier)),
        pair("box_overwritten", Cutlass, |t| store(t, Store::NoWait)),
    ],
};
