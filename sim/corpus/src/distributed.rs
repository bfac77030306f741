//! Distributed shared memory: loads, stores and copies between the blocks of a cluster; bulk copies of plain bytes.

use cuda_sim::{GlobalBuffer, Report};
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, thread};
use cuda_views::bulk_copy::{self, commit, copy_to_cluster, proxy_fence, wait as wait_for_stores};
use cuda_views::cluster::{self, add_async, get, map, rank, set, set_async};
use cuda_views::mbarrier::{arrive_expect_tx, fence_init, init, wait};
use cuda_views::{Global, GlobalMut, Shared};

use crate::pair::Suite::*;
use crate::pair::{Family, Twin, numbers, pair};

/// Bytes of dynamic shared memory of all these kernels: two mbarriers, and 32 words after the first 128 bytes.
const BYTES: u32 = 256;

/// The mbarriers and the words.
fn memory() -> (Shared<u64>, Shared<u32>) {
    let start = dynamic_shared_mem::<u8>();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { (Shared::new(start.cast(), 2), Shared::new(start.add(128).cast(), 32)) }
}

/// The barrier of the cluster.
#[track_caller]
fn sync() {
    cluster::arrive();
    cluster::wait();
}

/// What an exchange between two blocks lacks.
#[derive(Clone, Copy, PartialEq)]
enum Lacks {
    Nothing,
    Filled,
    Drained,
    Last,
}

/// Each block reads the other's words, which their owner changes afterwards.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn loads(to: *mut u32, lacks: Lacks) {
    let (own, t) = (rank(), thread::thread_idx_x() as usize);
    let (_, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        words.set(t, 32 * own + t as u32); // against: remote_load_early
        if lacks == Lacks::Filled {
            thread::sync_threads();
        } else {
            sync();
        }
        // expect: remote_load_early SharedRace; exit_before_remote_load Cluster
        // against: refilled_before_remote_load
        let value: u32 = get(map(words, t as u32, own ^ 1));
        GlobalMut::new(to, 64).set((32 * own) as usize + t, value);
        match lacks {
            Lacks::Last => return,
            Lacks::Drained => thread::sync_threads(),
            _ => sync(),
        }
        words.set(t, 0); // expect: refilled_before_remote_load SharedRace
        sync();
    }
}

fn run_loads(t: Twin, lacks: Lacks) -> Report {
    let lacks = if t.wrong { lacks } else { Lacks::Nothing };
    let launch = t.launch(2, 32).cluster(2).dynamic_shared_bytes(BYTES);
    let other = (0..64).map(|i| i ^ 32);
    // SAFETY: as the crate says of launches.
    t.map(launch, 0, |_, to| unsafe { loads(to, lacks) }, other)
}

/// Block 0 stores two rounds of words in block 1, which reads each.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn stores(to: *mut u32, wrong: bool) {
    let (own, t) = (rank(), thread::thread_idx_x() as usize);
    let (_, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        sync();
        for round in 0..2_u32 {
            if own == 0 {
                set(map(words, t as u32, 1), 32 * round + t as u32); // against: remote_store_early
            }
            if wrong {
                thread::sync_threads();
            } else {
                sync();
            }
            if own == 1 {
                let value = words.get(31 - t); // expect: remote_store_early SharedRace
                GlobalMut::new(to, 64).set((32 * round) as usize + t, value);
            }
            sync();
        }
    }
}

/// How words get to another block with an mbarrier there.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Store,
    Add,
    Copy,
}

/// Block 0 sends 32 words to block 1, which waits for their bytes.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn sends(to: *mut u32, way: Way, wrong: bool) {
    let (own, t) = (rank(), thread::thread_idx_x() as usize);
    let (barriers, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        words.set(t, if own == 0 { t as u32 } else { 0 });
        if t == 0 {
            init(barriers, 0, 1);
            fence_init();
            arrive_expect_tx(barriers, 0, 128);
        }
        proxy_fence();
        sync();
        if own == 0 {
            let (there, barrier) = (map(words, t as u32, 1), map(barriers, 0, 1));
            match way {
                // against: async_store_not_awaited
                Way::Store => set_async(there, t as u32, barrier),
                // against: async_sum_not_awaited
                Way::Add => add_async(there, t as u32, barrier),
                // against: cluster_copy_not_awaited
                Way::Copy if t == 0 => copy_to_cluster(there, (words, 0), 32, barrier),
                Way::Copy => {}
            }
        }
        if own == 1 {
            if !wrong {
                wait(barriers, 0, 0);
            }
            // expect: async_store_not_awaited SharedRace; async_sum_not_awaited SharedRace
            // expect: cluster_copy_not_awaited SharedRace
            let value = words.get(31 - t);
            GlobalMut::new(to, 32).set(31 - t, value);
        }
        sync();
    }
}

fn run_sends(t: Twin, way: Way) -> Report {
    let launch = t.launch(2, 32).cluster(2).dynamic_shared_bytes(BYTES);
    // SAFETY: as the crate says of launches.
    t.map(launch, 0, |_, to| unsafe { sends(to, way, t.wrong) }, 0..32)
}

/// What a bulk copy of plain bytes there and back lacks.
#[derive(Clone, Copy, PartialEq)]
enum Bulk {
    Nothing,
    Wait,
    Fence,
    Size,
    LastWait,
}

/// Words are loaded in bulk, changed, and stored in bulk.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn bulk(from: *const u32, to: *mut u32, lacks: Bulk) {
    let t = thread::thread_idx_x() as usize;
    let (barriers, words) = memory();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if t == 0 {
            init(barriers, 0, 1);
            fence_init();
            arrive_expect_tx(barriers, 0, 128);
            let len = if lacks == Bulk::Size { 30 } else { 32 };
            // expect: bulk_size BulkCopy
            // against: bulk_load_not_awaited
            bulk_copy::load((words, 0), (Global::new(from, 32), 0), len, (barriers, 0));
        }
        thread::sync_threads();
        if lacks != Bulk::Wait {
            wait(barriers, 0, 0);
        }
        let value = words.get(t); // expect: bulk_load_not_awaited SharedRace
        words.set(t, value + 1); // against: bulk_store_without_fence
        if lacks != Bulk::Fence {
            proxy_fence();
        }
        thread::sync_threads();
        if t == 0 {
            // expect: bulk_store_without_fence MissingProxyFence; block_ends_during_bulk_store ExitDuringCopy
            bulk_copy::store((GlobalMut::new(to, 32), 0), (words, 0), 32);
            commit();
            if lacks != Bulk::LastWait {
                wait_for_stores(0, false);
            }
        }
    }
}

fn run_bulk(t: Twin, lacks: Bulk) -> Report {
    let lacks = if t.wrong { lacks } else { Bulk::Nothing };
    let (from, to) = (numbers(32), GlobalBuffer::uninit(32));
    let launch = t.launch(1, 32).dynamic_shared_bytes(BYTES);
    // SAFETY: as the crate says of launches.
    let report = launch.run(|| unsafe { bulk(from.as_ptr(), to.as_mut_ptr(), lacks) });
    t.checked(report, &to, 1..33)
}

pub const FAMILY: Family = Family {
    name: "distributed",
    source: include_str!("distributed.rs"),
    pairs: &[
        pair("remote_load_early", Cutlass, |t| run_loads(t, Lacks::Filled)),
        pair("refilled_before_remote_load", Cutlass, |t| run_loads(t, Lacks::Drained)),
        pair("exit_before_remote_load", Cutlass, |t| run_loads(t, Lacks::Last)),
        pair("remote_store_early", Cutlass, |t| {
            let launch = t.launch(2, 32).cluster(2).dynamic_shared_bytes(BYTES);
            let reversed = (0..64).map(|i| i / 32 * 32 + 31 - i % 32);
            // SAFETY: as the crate says of launches.
            t.map(launch, 0, |_, to| unsafe { stores(to, t.wrong) }, reversed)
        }),
        pair("async_store_not_awaited", Cutlass, |t| run_sends(t, Way::Store)),
        pair("async_sum_not_awaited", Cutlass, |t| run_sends(t, Way::Add)),
        pair("cluster_copy_not_awaited", Cutlass, |t| run_sends(t, Way::Copy)),
        pair("bulk_size", Cutlass, |t| run_bulk(t, Bulk::Size)),
        pair("bulk_load_not_awaited", Cutlass, |t| run_bulk(t, Bulk::Wait)),
        pair("bulk_store_without_fence", Cutlass, |t| run_bulk(t, Bulk::Fence)),
        pair("block_ends_during_bulk_store", Cutlass, |t| run_bulk(t, Bulk::LastWait)),
    ],
};
