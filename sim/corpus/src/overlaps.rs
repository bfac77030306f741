//! Two views over the same bytes of shared memory.

use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{kernel, thread};
use cuda_views::{GlobalMut, Shared};

use crate::pair::Suite::*;
use crate::pair::{Family, pair};

/// Bytes of dynamic shared memory of all these kernels.
const BYTES: u32 = 512;

/// One thread fills two tables, the second one of which begins inside the first.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn tables(to: *mut u32, wrong: bool) {
    let start = dynamic_shared_mem::<u8>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let squares = Shared::new(start.cast::<u32>(), 32);
        let cubes = Shared::new(start.add(if wrong { 64 } else { 128 }).cast::<u32>(), 32);
        if t == 0 {
            for i in 0..32 {
                squares.set(i, (i * i) as u32); // against: tables_overlap
            }
            for i in 0..32 {
                cubes.set(i, (i * i * i) as u32); // expect: tables_overlap ViewOverlap
            }
        }
        thread::sync_threads();
        GlobalMut::new(to, 32).set(t, squares.get(t) + cubes.get(t));
    }
}

/// Each thread stores sums in scratch memory, and then counts of another type in the same place.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn scratch(to: *mut u32, wrong: bool) {
    let start = dynamic_shared_mem::<u8>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let sums = Shared::new(start.cast::<f32>(), 32);
        let counts = Shared::new(start.cast::<u32>(), 32);
        sums.set(t, t as f32); // against: scratch_of_two_types
        let sum = sums.get(t);
        if !wrong {
            thread::sync_threads();
        }
        counts.set(t, 1); // expect: scratch_of_two_types ViewOverlap
        thread::sync_threads();
        GlobalMut::new(to, 32).set(t, sum as u32 + counts.get(t));
    }
}

pub const FAMILY: Family = Family {
    name: "overlaps",
    source: include_str!("overlaps.rs"),
    pairs: &[
        pair("tables_overlap", Racecheck, |t| {
            let launch = t.launch(1, 32).dynamic_shared_bytes(BYTES);
            let sums = (0..32).map(|i| i * i + i * i * i);
            // SAFETY: as the crate says of launches.
            t.map(launch, 0, |_, to| unsafe { tables(to, t.wrong) }, sums)
        }),
        pair("scratch_of_two_types", Racecheck, |t| {
            let launch = t.launch(1, 32).dynamic_shared_bytes(BYTES);
            // SAFETY: as the crate says of launches.
            t.map(launch, 0, |_, to| unsafe { scratch(to, t.wrong) }, 1..33)
        }),
    ],
};
