//! Tensor maps that kernels change, and the fences of their proxy.

use cuda_sim::tensor_map::TensorMapWords;
use cuda_sim::{GlobalBuffer, Report};
use cuda_std::{kernel, thread};
use cuda_views::GlobalMut;
use cuda_views::bulk_copy::{
    commit, load_2d, proxy_fence, store_2d, tensormap_acquire, tensormap_release, tensormap_replace_address,
    wait as wait_for_stores,
};
use cuda_views::mbarrier::{arrive_expect_tx, wait};

use crate::hopper::{BOX, BOX_BYTES, BYTES, init_all, map_of, memory};
use crate::pair::Suite::*;
use crate::pair::{Family, Twin, numbers, pair};

/// A tensor map in global memory is changed after its first load.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn changing_map(map: *mut u64, second: u64, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    let (barriers, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        init_all(barriers, 1, |_| 1);
        for step in 0..2_u32 {
            if t == 0 {
                arrive_expect_tx(barriers, 0, BOX_BYTES);
                load_2d(words, 0, &*map.cast(), [0, 0], (barriers, 0)); // against: map_changed_during_load
                if wrong && step == 0 {
                    GlobalMut::new(map, 16).set(1, second); // expect: map_changed_during_load GlobalRace
                }
            }
            wait(barriers, 0, step & 1);
            GlobalMut::new(to, 2 * BOX).set(BOX * step as usize + t, words.get(t));
            proxy_fence();
            thread::sync_threads();
            if t == 0 && !wrong && step == 0 {
                GlobalMut::new(map, 16).set(1, second);
                fence_map(map.cast());
            }
        }
    }
}

/// The same with stores, to two matrices.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn changing_map_of_stores(map: *mut u64, second: u64, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    let (_, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        words.set(t, t as u32);
        proxy_fence();
        thread::sync_threads();
        if t == 0 {
            for step in 0..2 {
                store_2d(&*map.cast(), [0, 0], words, 0); // against: map_changed_during_store
                commit();
                if !wrong {
                    wait_for_stores(0, true);
                }
                if step == 0 {
                    GlobalMut::new(map, 16).set(1, second); // expect: map_changed_during_store GlobalRace
                    fence_map(map.cast());
                }
            }
            wait_for_stores(0, false);
        }
    }
}

/// Makes the calling thread's changes of a map visible to its own copies.
fn fence_map(map: *const TensorMapWords) {
    tensormap_release();
    tensormap_acquire(map);
}

/// What the change of a map lacks.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    Nothing,
    Release,
    Acquire,
    EarlyAcquire,
    OwnRelease,
}

/// Warp 0 gives a map another matrix, warp 1 loads from it.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn replaced_map(map: *mut TensorMapWords, second: u64, to: *mut u32, lacks: Change) {
    let t = thread::thread_idx_x() as usize;
    let (barriers, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        init_all(barriers, 1, |_| 1);
        if t == 0 {
            // against: map_not_released; map_not_acquired; map_acquired_early; map_released_by_another
            tensormap_replace_address(map, second);
        }
        if t == 0 && !matches!(lacks, Change::Release | Change::OwnRelease) {
            tensormap_release();
        }
        if t == 1 && lacks == Change::OwnRelease {
            tensormap_release();
        }
        if t == 32 && lacks == Change::EarlyAcquire {
            tensormap_acquire(map);
        }
        thread::sync_threads();
        if t == 32 {
            if !matches!(lacks, Change::Acquire | Change::EarlyAcquire) {
                tensormap_acquire(map);
            }
            arrive_expect_tx(barriers, 0, BOX_BYTES);
            // expect: map_not_released TensorMapFence; map_not_acquired TensorMapFence
            // expect: map_acquired_early TensorMapFence; map_released_by_another TensorMapFence
            load_2d(words, 0, &*map, [0, 0], (barriers, 0));
        }
        if t >= 32 {
            wait(barriers, 0, 0);
            GlobalMut::new(to, BOX).set(t - 32, words.get(t - 32));
        }
    }
}

fn run_replaced_map(t: Twin, lacks: Change) -> Report {
    let lacks = if t.wrong { lacks } else { Change::Nothing };
    let first = GlobalBuffer::from_slice(&[7_u32; BOX]);
    let second = numbers(BOX as u32);
    let map = GlobalBuffer::from_slice(&map_of(&first));
    let address = second.as_ptr().expose_provenance() as u64;
    let launch = t.launch(1, 64).dynamic_shared_bytes(BYTES);
    t.map(
        launch,
        0,
        // SAFETY: as the crate says of launches.
        |_, to| unsafe { replaced_map(map.as_mut_ptr().cast(), address, to, lacks) },
        0..32,
    )
}

fn run_changing_map(t: Twin) -> Report {
    let (first, second) = (numbers(BOX as u32), numbers(BOX as u32));
    let (words, other) = (GlobalBuffer::from_slice(&map_of(&first)), map_of(&second));
    let launch = t.launch(1, 32).dynamic_shared_bytes(BYTES);
    t.map(
        launch,
        0,
        // SAFETY: as the crate says of launches.
        |_, to| unsafe { changing_map(words.as_mut_ptr(), other[1], to, t.wrong) },
        (0..64).map(|i| i % 32),
    )
}

fn run_changing_map_of_stores(t: Twin) -> Report {
    let (first, second) = (GlobalBuffer::uninit(BOX), GlobalBuffer::uninit(BOX));
    let (words, other) = (GlobalBuffer::from_slice(&map_of(&first)), map_of(&second));
    let launch = t.launch(1, 32).dynamic_shared_bytes(BYTES);
    // SAFETY: as the crate says of launches.
    let report = launch.run(|| unsafe { changing_map_of_stores(words.as_mut_ptr(), other[1], t.wrong) });
    t.checked(report, &second, 0..32)
}

pub const FAMILY: Family = Family {
    name: "tensor_maps",
    source: include_str!("tensor_maps.rs"),
    pairs: &[
        pair("map_changed_during_load", Trackers, run_changing_map),
        pair("map_changed_during_store", Trackers, run_changing_map_of_stores),
        pair("map_not_released", Cutlass, |t| run_replaced_map(t, Change::Release)),
        pair("map_not_acquired", Cutlass, |t| run_replaced_map(t, Change::Acquire)),
        pair("map_acquired_early", Cutlass, |t| {
            run_replaced_map(t, Change::EarlyAcquire)
        }),
        pair("map_released_by_another", Cutlass, |t| {
            run_replaced_map(t, Change::OwnRelease)
        }),
    ],
};
