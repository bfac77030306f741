//! Algorithms on graphs: a ring of vertices, each with an edge to both neighbours.

use cuda_sim::GlobalBuffer;
use cuda_std::atomic::mid::{
    atomic_compare_and_swap_u32_block, atomic_compare_and_swap_u32_device, atomic_fetch_add_u32_block,
    atomic_fetch_add_u32_device, atomic_fetch_exch_u32_device, atomic_fetch_min_u32_block, atomic_fetch_min_u32_device,
    atomic_fetch_or_u32_device, atomic_load_32_device, atomic_store_32_device,
};
use cuda_std::{kernel, thread};
use cuda_views::{Global, GlobalMut};
use std::sync::atomic::Ordering::Relaxed;

use crate::pair::Suite::*;
use crate::pair::{Family, numbers, pair};

/// Vertices.
const N: usize = 64;

/// The neighbours of vertex `v`.
fn neighbours(v: usize) -> [usize; 2] {
    [(v + N - 1) % N, (v + 1) % N]
}

/// A level of breadth-first search: several vertices of the frontier discover the same one.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn breadth_first(levels: *mut u32, wrong: bool) {
    let v = 2 * thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        for other in neighbours(v) {
            if wrong {
                GlobalMut::new(levels, N).set(other, 1); // expect: bfs_discovery GlobalRace
            } else {
                atomic_store_32_device(levels.add(other), Relaxed, 1);
            }
        }
    }
}

/// The next frontier's length is counted plainly.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn frontier(from: *const u32, count: *mut u32, wrong: bool) {
    let v = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if Global::new(from, N).get(v) % 2 == 1 {
            if wrong {
                let count = GlobalMut::new(count, 1);
                let place = count.get(0); // expect: bfs_frontier GlobalRace
                count.set(0, place + 1); // against: bfs_frontier
            } else {
                atomic_fetch_add_u32_device(count, Relaxed, 1);
            }
        }
    }
}

/// Relaxation of shortest paths: the distance is read and written in two steps.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn relax(distances: *mut u32, wrong: bool) {
    let v = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        for other in neighbours(v) {
            let length = (v.min(other) + 1) as u32;
            if wrong {
                let distances = GlobalMut::new(distances, N);
                if length < distances.get(other) {
                    // expect: sssp_relaxation GlobalRace
                    distances.set(other, length); // against: sssp_relaxation
                }
            } else {
                atomic_fetch_min_u32_device(distances.add(other), Relaxed, length);
            }
        }
    }
}

/// The same with atomics that other blocks do not see.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn relax_in_block(distances: *mut u32, wrong: bool) {
    let v = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        for other in neighbours(v) {
            let (distance, length) = (distances.add(other), (v.min(other) + 1) as u32);
            if wrong {
                atomic_fetch_min_u32_block(distance, Relaxed, length); // expect: sssp_scope AtomicScope
            } else {
                atomic_fetch_min_u32_device(distance, Relaxed, length);
            }
        }
    }
}

/// Ranks that vertices push to their neighbours.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn push_ranks(ranks: *mut u32, wrong: bool) {
    let v = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        for other in neighbours(v) {
            if wrong {
                let ranks = GlobalMut::new(ranks, N);
                let before = ranks.get(other); // expect: pagerank_push GlobalRace
                ranks.set(other, before + v as u32); // against: pagerank_push
            } else {
                atomic_fetch_add_u32_device(ranks.add(other), Relaxed, v as u32);
            }
        }
    }
}

/// Ranks that vertices pull from their neighbours, into the array that these read.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn pull_ranks(ranks: *const u32, next: *mut u32, wrong: bool) {
    let v = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let next = GlobalMut::new(next, N);
        let ranks = if wrong { next.into() } else { Global::new(ranks, N) };
        // expect: pagerank_pull GlobalRace
        let sum = neighbours(v).into_iter().map(|other| ranks.get(other)).sum();
        next.set(v, sum); // against: pagerank_pull
    }
}

/// Components by the smallest label: a vertex reads its own label while others lower it.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn smallest_label(labels: *mut u32, wrong: bool) {
    let v = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let label = if wrong {
            GlobalMut::new(labels, N).get(v) // expect: component_labels GlobalRace
        } else {
            v as u32
        };
        for other in neighbours(v) {
            atomic_fetch_min_u32_device(labels.add(other), Relaxed, label); // against: component_labels
        }
    }
}

/// Hooking of roots by compare-and-swap of block scope (ScoR's graph connectivity).
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn hook(parents: *mut u32, wrong: bool) {
    let v = thread::index_1d();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let root = parents.add(v as usize % 8);
        if wrong {
            // expect: hooking_scope AtomicScope
            atomic_compare_and_swap_u32_block(root, u32::MAX, v % 8, Relaxed);
        } else {
            atomic_compare_and_swap_u32_device(root, u32::MAX, v % 8, Relaxed);
        }
    }
}

/// Colours of neighbours are read while those choose theirs (ScoR's graph colouring).
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn colour(before: *const u32, colours: *mut u32, wrong: bool) {
    let v = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let colours = GlobalMut::new(colours, N);
        let seen = if wrong { colours.into() } else { Global::new(before, N) };
        let [left, right] = neighbours(v);
        let taken = [seen.get(left), seen.get(right)]; // expect: colouring GlobalRace
        let free = (0..3).find(|colour| !taken.contains(colour)).unwrap_or(3);
        colours.set(v, free); // against: colouring
    }
}

/// Whether any vertex has changed: a flag that all of them write.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn changed(from: *const u32, flag: *mut u32, wrong: bool) {
    let v = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if Global::new(from, N).get(v) % 2 == 1 {
            if wrong {
                GlobalMut::new(flag, 1).set(0, 1); // expect: changed_flag GlobalRace
            } else {
                atomic_fetch_or_u32_device(flag, Relaxed, 1);
            }
        }
    }
}

/// An independent set: a vertex enters if no smaller neighbour has.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn independent_set(members: *mut u32, wrong: bool) {
    let v = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let members = GlobalMut::new(members, N);
        let smaller = neighbours(v).into_iter().min().unwrap_or(v);
        let is_free = if wrong {
            members.get(smaller) == 0 // expect: independent_set GlobalRace
        } else {
            v.is_multiple_of(2)
        };
        if is_free {
            members.set(v, 1); // against: independent_set
        }
    }
}

/// Triangles are counted per block, with atomics of block scope on the total of all blocks.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn triangles(total: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if wrong {
            atomic_fetch_add_u32_block(total, Relaxed, 1); // expect: triangle_count AtomicScope
        } else {
            atomic_fetch_add_u32_device(total, Relaxed, 1);
        }
    }
}

/// A work list: the item is written after its place was published.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn work_list(items: *mut u32, filled: *mut u32, wrong: bool) {
    let block = thread::block_idx_x();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let items = GlobalMut::new(items, 1);
        if block == 0 {
            if !wrong {
                items.set(0, 5);
                thread::device_fence();
            }
            atomic_fetch_exch_u32_device(filled, Relaxed, 1);
            if wrong {
                items.set(0, 5); // expect: work_list_published_early GlobalRace
            }
        } else {
            while atomic_load_32_device(filled, Relaxed) == 0 {}
            thread::device_fence();
            assert_eq!(items.get(0), 5); // against: work_list_published_early
        }
    }
}

pub const FAMILY: Family = Family {
    name: "graphs",
    source: include_str!("graphs.rs"),
    pairs: &[
        pair("bfs_discovery", Indigo, |t| {
            let after = std::array::from_fn(|i| i as u32 % 2);
            t.update::<N>(
                t.launch(2, 16),
                [0; N],
                // SAFETY: as the crate says of launches.
                |levels| unsafe { breadth_first(levels, t.wrong) },
                after,
            )
        }),
        pair("bfs_frontier", Indigo, |t| {
            let from = numbers(64);
            t.update(
                t.launch(2, 32),
                [0],
                // SAFETY: as the crate says of launches.
                |count| unsafe { frontier(from.as_ptr(), count, t.wrong) },
                [32],
            )
        }),
        pair("sssp_relaxation", Indigo, |t| {
            let after = std::array::from_fn(|i| if i == 0 || i == 63 { 1 } else { i as u32 });
            // SAFETY: as the crate says of launches.
            t.update::<N>(t.launch(2, 32), [99; N], |data| unsafe { relax(data, t.wrong) }, after)
        }),
        pair("sssp_scope", Scor, |t| {
            let after = std::array::from_fn(|i| if i == 0 || i == 63 { 1 } else { i as u32 });
            t.update::<N>(
                t.launch(2, 32),
                [99; N],
                // SAFETY: as the crate says of launches.
                |data| unsafe { relax_in_block(data, t.wrong) },
                after,
            )
        }),
        pair("pagerank_push", Indigo, |t| {
            let after = std::array::from_fn(|i| neighbours(i).into_iter().sum::<usize>() as u32);
            t.update::<N>(
                t.launch(2, 32),
                [0; N],
                // SAFETY: as the crate says of launches.
                |ranks| unsafe { push_ranks(ranks, t.wrong) },
                after,
            )
        }),
        pair("pagerank_pull", Indigo, |t| {
            let from = numbers(64);
            let after = std::array::from_fn(|i| neighbours(i).into_iter().sum::<usize>() as u32);
            t.update::<N>(
                t.launch(2, 32),
                [0; N],
                // SAFETY: as the crate says of launches.
                |next| unsafe { pull_ranks(from.as_ptr(), next, t.wrong) },
                after,
            )
        }),
        pair("component_labels", Indigo, |t| {
            let before = std::array::from_fn(|i| i as u32);
            let after = std::array::from_fn(|i| neighbours(i).into_iter().min().unwrap_or(i).min(i) as u32);
            t.update::<N>(
                t.launch(2, 32),
                before,
                // SAFETY: as the crate says of launches.
                |labels| unsafe { smallest_label(labels, t.wrong) },
                after,
            )
        }),
        pair("hooking_scope", Scor, |t| {
            let after = std::array::from_fn(|i| i as u32);
            t.update::<8>(
                t.launch(2, 32),
                [u32::MAX; 8],
                // SAFETY: as the crate says of launches.
                |parents| unsafe { hook(parents, t.wrong) },
                after,
            )
        }),
        pair("colouring", Scor, |t| {
            let (before, colours) = (numbers(64), GlobalBuffer::from_slice(&[3; N]));
            t.launch(2, 32)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { colour(before.as_ptr(), colours.as_mut_ptr(), t.wrong) })
        }),
        pair("changed_flag", Indigo, |t| {
            let from = numbers(64);
            t.update(
                t.launch(2, 32),
                [0],
                // SAFETY: as the crate says of launches.
                |flag| unsafe { changed(from.as_ptr(), flag, t.wrong) },
                [1],
            )
        }),
        pair("independent_set", Indigo, |t| {
            let after = std::array::from_fn(|i| u32::from(i % 2 == 0));
            t.update::<N>(
                t.launch(2, 32),
                [0; N],
                // SAFETY: as the crate says of launches.
                |members| unsafe { independent_set(members, t.wrong) },
                after,
            )
        }),
        pair("triangle_count", Scor, |t| {
            // SAFETY: as the crate says of launches.
            t.update(t.launch(2, 32), [0], |total| unsafe { triangles(total, t.wrong) }, [64])
        }),
        pair("work_list_published_early", Scor, |t| {
            let items = GlobalBuffer::uninit(1);
            t.update(
                t.launch(2, 1),
                [0],
                // SAFETY: as the crate says of launches.
                |filled| unsafe { work_list(items.as_mut_ptr(), filled, t.wrong) },
                [1],
            )
        }),
    ],
};
