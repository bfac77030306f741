//! `thread`, `warp`, `misc` and `cfg`: positions, barriers, fences, clocks.

use core::sync::atomic::Ordering;
use cuda_std::atomic::mid;
use cuda_std::cfg::ComputeCapability;
use cuda_std::prelude::*;
use cuda_std::{misc, shared_array, warp};

/// Number of words that [`thread_positions`] writes per thread.
pub const POSITION_WORDS: usize = 21;

/// Writes every position and extent of a thread, at `POSITION_WORDS` times its number in the grid.
#[kernel]
pub unsafe fn thread_positions(out: *mut u32) {
    let words: [u32; POSITION_WORDS] = [
        thread::thread_idx_x(),
        thread::thread_idx_y(),
        thread::thread_idx_z(),
        thread::block_idx_x(),
        thread::block_idx_y(),
        thread::block_idx_z(),
        thread::block_dim_x(),
        thread::block_dim_y(),
        thread::block_dim_z(),
        thread::grid_dim_x(),
        thread::grid_dim_y(),
        thread::grid_dim_z(),
        sum(thread::thread_idx()) + sum(thread::block_idx()) * 100,
        product(thread::block_dim()) + product(thread::grid_dim()) * 100,
        thread::index_1d(),
        thread::index_2d().y,
        thread::index_3d().z,
        thread::index_3d().x + 100 * thread::index_3d().y,
        thread::first() as u32,
        thread::warp_size(),
        warp::lane_id(),
    ];
    for (i, word) in words.iter().enumerate() {
        *out.add(thread::index() as usize * POSITION_WORDS + i) = *word;
    }
}

/// Methods of the coordinate type of 0.2.2.
#[cfg(not(feature = "main"))]
mod coordinates {
    use cuda_std::vek::Vec3;

    pub fn sum(at: Vec3<u32>) -> u32 {
        at.sum()
    }

    pub fn product(extent: Vec3<u32>) -> u32 {
        extent.product()
    }
}

/// Methods of the coordinate type of the main branch.
#[cfg(feature = "main")]
mod coordinates {
    use cuda_std::glam::UVec3;

    pub fn sum(at: UVec3) -> u32 {
        at.element_sum()
    }

    pub fn product(extent: UVec3) -> u32 {
        extent.element_product()
    }
}

use coordinates::{product, sum};

/// Writes the number of predicates that are not 0, whether all are, and whether any is, as each thread receives them.
/// Launch one CTA with a thread for each predicate.
#[kernel]
pub unsafe fn barrier_reductions(predicates: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    let predicate = predicates[i];
    *out.add(3 * i) = thread::sync_threads_count(predicate);
    *out.add(3 * i + 1) = (thread::sync_threads_and(predicate) != 0) as u32;
    *out.add(3 * i + 2) = (thread::sync_threads_or(predicate) != 0) as u32;
}

/// Adds up `input` into `out[0]` in one launch: each CTA writes its partial sum to `partial`, and the CTA that counts
/// itself last, in `arrived`, adds these up. The fences make the other CTAs' partial sums visible to it. Launch with
/// CTAs of 64 threads.
#[kernel]
pub unsafe fn last_block_sums(input: &[u32], partial: *mut u32, arrived: *mut u32, out: *mut u32) {
    let staged = shared_array![u32; 64];
    let last = shared_array![u32; 1];
    let t = thread::thread_idx_x() as usize;
    *staged.add(t) = input.get(thread::index_1d() as usize).copied().unwrap_or(0);
    thread::sync_threads();
    if t == 0 {
        let block = thread::block_idx_x();
        *partial.add(block as usize) = (0..64).map(|i| *staged.add(i)).sum();
        thread::grid_fence();
        thread::device_fence();
        thread::system_fence();
        thread::nanosleep(100 * block);
        let before = mid::atomic_fetch_add_u32_device(arrived, Ordering::Relaxed, 1);
        *last = (before == thread::grid_dim_x() - 1) as u32;
        if *last != 0 {
            thread::device_fence();
            *out = (0..thread::grid_dim_x() as usize)
                .map(|i| partial.add(i).read_volatile())
                .sum();
        }
    }
}

/// Rotates `data` by one lane within the warp, through shared memory with a barrier of the warp only. Launch one warp.
#[kernel]
pub unsafe fn rotate_in_warp(data: *mut u32) {
    let exchange = shared_array![u32; 32];
    let lane = warp::lane_id() as usize;
    *exchange.add(lane) = *data.add(lane);
    warp::sync_warp(0xffff_ffff);
    *data.add(lane) = *exchange.add((lane + 1) % 32);
}

/// Writes 1 if the clock advanced during a short sleep. `never` must be 0: the breakpoint is compiled and not run.
#[kernel]
pub unsafe fn clock_runs(never: u32, out: *mut u32) {
    let start = misc::clock();
    thread::nanosleep(1000);
    misc::profiler_counter(3);
    if never != 0 {
        misc::breakpoint();
        misc::profiler_counter(never);
    }
    *out = (misc::clock() > start) as u32;
}

/// Writes 1 on every architecture after 7.0.
#[kernel]
pub unsafe fn capability(out: *mut u32) {
    let current = ComputeCapability::from_cuda_arch_env();
    *out = (current > ComputeCapability::Compute70 && current != ComputeCapability::Compute72) as u32;
}

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case, Data, Expected};

    let (grid, block) = ([2, 3, 2], [4, 2, 3]);
    let coordinates = |extent: [u32; 3]| {
        (0..extent[2]).flat_map(move |z| (0..extent[1]).flat_map(move |y| (0..extent[0]).map(move |x| [x, y, z])))
    };
    let mut positions = Vec::new();
    for b in coordinates(grid) {
        for (number, t) in coordinates(block).enumerate() {
            let at: Vec<u32> = (0..3).map(|i| b[i] * block[i] + t[i]).collect();
            positions.extend(t.iter().chain(&b).chain(&block).chain(&grid));
            positions.push(t.iter().sum::<u32>() + b.iter().sum::<u32>() * 100);
            positions.push(block.iter().product::<u32>() + grid.iter().product::<u32>() * 100);
            positions.extend([at[0], at[1], at[2], at[0] + 100 * at[1]]);
            positions.push((b == [0; 3] && t == [0; 3]) as u32);
            positions.extend([32, number as u32 % 32]);
        }
    }
    let mut everywhere = Case::new(entry!(thread_positions(_)), 1, 1, vec![Argument::out_u32(positions)]);
    (everywhere.grid, everywhere.block) = (grid, block);

    let reduction = |predicates: Vec<u32>| {
        let count = predicates.iter().filter(|&&p| p != 0).count() as u32;
        let words = [count, (count == predicates.len() as u32) as u32, (count != 0) as u32];
        let out = Argument::out_u32(words.repeat(predicates.len()));
        Case::new(
            entry!(barrier_reductions(_, _)),
            1,
            predicates.len() as u32,
            vec![Argument::Slice(Data::U32(predicates)), out],
        )
    };
    let numbers: Vec<u32> = (0..1000).collect();
    let total = numbers.iter().sum::<u32>();
    let partial: Vec<u32> = numbers.chunks(64).map(|block| block.iter().sum()).collect();
    vec![
        everywhere,
        reduction((0..64).map(|i| i % 3).collect()),
        reduction(vec![0; 96]),
        reduction(vec![u32::MAX; 40]),
        Case::new(
            entry!(last_block_sums(_, _, _, _)),
            16,
            64,
            vec![
                Argument::Slice(Data::U32(numbers)),
                Argument::out_u32(partial),
                Argument::out_u32([16]),
                Argument::out_u32([total]),
            ],
        ),
        Case::new(
            entry!(rotate_in_warp(_)),
            1,
            32,
            vec![Argument::Updated(
                Data::U32((0..32).collect()),
                Expected {
                    data: Data::U32((0..32).map(|i| (i + 1) % 32).collect()),
                    tolerance: 0.0,
                },
            )],
        ),
        Case::new(
            entry!(clock_runs(_, _)),
            1,
            1,
            vec![Argument::u32(0), Argument::out_u32([1])],
        ),
        Case::new(entry!(capability(_)), 1, 1, vec![Argument::out_u32([1])]),
    ]
}
