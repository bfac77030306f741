//! Clusters: their barrier, ranks, and mbarriers of other blocks.

use cuda_sim::{GlobalBuffer, Report};
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, thread};
use cuda_views::cluster::{arrive, arrive_remote, map, rank, wait};
use cuda_views::mbarrier::{self, fence_init, init};
use cuda_views::{GlobalMut, Shared};

use crate::pair::Suite::*;
use crate::pair::{Family, Twin, pair};

/// What the exchange of two blocks of a cluster lacks.
#[derive(Clone, Copy, PartialEq)]
enum Lacks {
    Nothing,
    Barrier,
    Wait,
    Arrival,
    SecondArrival,
}

/// Blocks of a cluster write a word each and read the other's.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn exchange(words: *mut u32, to: *mut u32, lacks: Lacks) {
    let own = rank() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let words = GlobalMut::new(words, 2);
        words.set(own, 5); // against: cluster_barrier_missing; cluster_wait_missing
        match lacks {
            Lacks::Barrier => thread::sync_threads(),
            Lacks::Wait => arrive(),
            Lacks::Arrival => wait(), // expect: cluster_wait_alone Cluster
            Lacks::SecondArrival => {
                arrive();
                arrive(); // expect: cluster_arrival_twice Cluster
                wait();
            }
            Lacks::Nothing => {
                arrive();
                wait();
            }
        }
        // expect: cluster_barrier_missing GlobalRace; cluster_wait_missing GlobalRace
        let value = words.get(1 - own);
        GlobalMut::new(to, 2).set(own, value);
    }
}

fn run_exchange(t: Twin, lacks: Lacks) -> Report {
    let lacks = if t.wrong { lacks } else { Lacks::Nothing };
    let words = GlobalBuffer::zeroed(2);
    let launch = t.launch(2, 1).cluster(2);
    t.map(
        launch,
        0,
        // SAFETY: as the crate says of launches.
        |_, to| unsafe { exchange(words.as_mut_ptr(), to, lacks) },
        [5; 2],
    )
}

/// Block 1 waits for an arrival that block 0 is to make after the barrier of the cluster.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn crossed_waits(to: *mut u32, wrong: bool) {
    let own = rank();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let barriers = Shared::new(dynamic_shared_mem::<u64>(), 1);
        init(barriers, 0, 1);
        fence_init();
        arrive();
        wait();
        if own == 1 {
            mbarrier::wait(barriers, 0, 0);
        } else if !wrong {
            arrive_remote(map(barriers, 0, 1));
        }
        arrive();
        wait(); // expect: crossed_waits Deadlock
        if own == 0 && wrong {
            arrive_remote(map(barriers, 0, 1));
        }
        GlobalMut::new(to, 2).set(own as usize, 1);
    }
}

/// An arrival at the mbarrier of a rank: its own block's is ready, and the other one waits.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn remote_arrival(to: *mut u32, peer: u32, syncs: bool, stays: bool) {
    let own = rank();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let barriers = Shared::new(dynamic_shared_mem::<u64>(), 1);
        init(barriers, 0, 1);
        fence_init();
        if syncs {
            arrive();
            wait();
        }
        if own == 0 {
            let address = map(barriers, 0, peer); // expect: rank_outside_cluster Cluster
            arrive_remote(address); // expect: remote_arrival_early Mbarrier; exited_block Cluster
        } else if stays {
            mbarrier::wait(barriers, 0, 0);
        }
        GlobalMut::new(to, 2).set(own as usize, 1);
    }
}

fn run_remote(t: Twin, peer: u32, syncs: bool, stays: bool) -> Report {
    let launch = t.launch(2, 1).cluster(2).dynamic_shared_bytes(8);
    t.map(
        launch,
        0,
        // SAFETY: as the crate says of launches.
        |_, to| unsafe { remote_arrival(to, peer, syncs, stays) },
        [1; 2],
    )
}

pub const FAMILY: Family = Family {
    name: "clusters",
    source: include_str!("clusters.rs"),
    pairs: &[
        pair("cluster_barrier_missing", Cutlass, |t| run_exchange(t, Lacks::Barrier)),
        pair("cluster_wait_missing", Cutlass, |t| run_exchange(t, Lacks::Wait)),
        pair("cluster_wait_alone", Synccheck, |t| run_exchange(t, Lacks::Arrival)),
        pair("cluster_arrival_twice", Synccheck, |t| {
            run_exchange(t, Lacks::SecondArrival)
        }),
        pair("crossed_waits", Cutlass, |t| {
            let launch = t.launch(2, 1).cluster(2).dynamic_shared_bytes(8);
            // SAFETY: as the crate says of launches.
            t.map(launch, 0, |_, to| unsafe { crossed_waits(to, t.wrong) }, [1; 2])
        }),
        pair("rank_outside_cluster", Cutlass, |t| {
            run_remote(t, if t.wrong { 2 } else { 1 }, true, true)
        }),
        pair("remote_arrival_early", Cutlass, |t| run_remote(t, 1, !t.wrong, true)),
        pair("exited_block", Cutlass, |t| run_remote(t, 1, true, !t.wrong)),
    ],
};
