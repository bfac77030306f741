//! Races in global memory, within a block and between blocks.

use cuda_std::atomic::mid::{atomic_fetch_add_u32_device, atomic_fetch_max_u32_device};
use cuda_std::{kernel, thread};
use cuda_views::{Global, GlobalMut};
use std::sync::atomic::Ordering::Relaxed;

use crate::pair::Suite::*;
use crate::pair::{Family, numbers, pair};

/// The index within the block in place of that in the grid.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn index_of_block(to: *mut u32, wrong: bool) {
    let i = if wrong {
        thread::thread_idx_x()
    } else {
        thread::index_1d()
    };
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 64).set(i as usize, i) }; // expect: index_of_block GlobalRace
}

/// A sum of all elements without atomics.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn plain_sum(from: *const u32, sum: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let value = Global::new(from, 64).get(thread::index_1d() as usize);
        if wrong {
            let sum = GlobalMut::new(sum, 1);
            let before = sum.get(0); // expect: plain_sum GlobalRace
            sum.set(0, before + value); // against: plain_sum
        } else {
            atomic_fetch_add_u32_device(sum, Relaxed, value);
        }
    }
}

/// A maximum that is compared first and written then.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn plain_maximum(from: *const u32, most: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let value = Global::new(from, 64).get(thread::index_1d() as usize);
        if wrong {
            let most = GlobalMut::new(most, 1);
            if value > most.get(0) {
                // expect: plain_maximum GlobalRace
                most.set(0, value); // against: plain_maximum
            }
        } else {
            atomic_fetch_max_u32_device(most, Relaxed, value);
        }
    }
}

/// Counting in global memory.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn plain_histogram(from: *const u32, bins: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let bin = Global::new(from, 64).get(thread::index_1d() as usize) as usize % 4;
        if wrong {
            let bins = GlobalMut::new(bins, 4);
            let count = bins.get(bin); // expect: plain_histogram GlobalRace
            bins.set(bin, count + 1); // against: plain_histogram
        } else {
            atomic_fetch_add_u32_device(bins.add(bin), Relaxed, 1);
        }
    }
}

/// An atomic by most threads, and a plain store by one.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn atomic_and_plain(count: *mut u32, wrong: bool) {
    let i = thread::index_1d();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if wrong && i == 40 {
            GlobalMut::new(count, 1).set(0, 0); // expect: atomic_and_plain GlobalRace
        }
        atomic_fetch_add_u32_device(count, Relaxed, 1); // against: atomic_and_plain
    }
}

/// A stencil whose output is its input.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn stencil_in_place(from: *const u32, to: *mut u32, wrong: bool) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let to = GlobalMut::new(to, 64);
        let from = if wrong { to.into() } else { Global::new(from, 64) };
        let sum = from.get(i) + from.get((i + 1) % 64); // expect: stencil_in_place GlobalRace
        to.set(i, sum); // against: stencil_in_place
    }
}

/// A shift in place, whose pointers alias.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn shift(from: *const u32, to: *mut u32) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let value = Global::new(from, 64).get(i); // expect: aliasing_pointers GlobalRace
        GlobalMut::new(to, 64).set(i, value); // against: aliasing_pointers
    }
}

/// Neighbouring blocks' ranges overlap by an element.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn overlapping_chunks(to: *mut u32, wrong: bool) {
    let block = thread::block_idx_x() as usize;
    let end = 16 * (block + 1) + usize::from(wrong && block < 3);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let to = GlobalMut::new(to, 64);
        (16 * block..end).for_each(|i| to.set(i, i as u32)); // expect: overlapping_chunks GlobalRace
    }
}

/// A loop over the grid whose stride is that of the block.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn stride_of_block(data: *mut u32, wrong: bool) {
    let blocks = if wrong { 1 } else { thread::grid_dim_x() };
    let stride = (thread::block_dim_x() * blocks) as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let data = GlobalMut::new(data, 128);
        for i in (thread::index_1d() as usize..128).step_by(stride) {
            data.set(i, 1); // expect: stride_of_block GlobalRace
        }
    }
}

/// A transpose in place in which both threads of a pair exchange.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn transpose_in_place(data: *mut u32, wrong: bool) {
    let (x, y) = (thread::index_2d().x as usize, thread::index_2d().y as usize);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let data = GlobalMut::new(data, 16);
        if wrong || x < y {
            let (a, b) = (data.get(4 * y + x), data.get(4 * x + y)); // expect: transpose_by_both GlobalRace
            data.set(4 * y + x, b);
            data.set(4 * x + y, a); // against: transpose_by_both
        }
    }
}

/// Threads of a block hand values over through global memory.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn hand_over(scratch: *mut u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let scratch = GlobalMut::new(scratch, 32);
        scratch.set(t, t as u32); // expect: hand_over_in_block GlobalRace
        if !wrong {
            thread::sync_threads();
        }
        GlobalMut::new(to, 32).set(t, scratch.get(31 - t)); // against: hand_over_in_block
    }
}

/// Blocks hand values over: a barrier of the block does not reach other blocks.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn hand_over_to_block(data: *mut u32, wrong: bool) {
    let (i, t) = (thread::index_1d() as usize, thread::thread_idx_x() as usize);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let data = GlobalMut::new(data, 64);
        data.set(i, 1); // against: barrier_between_blocks
        thread::sync_threads();
        let other = if wrong { 63 - i } else { i - t + 31 - t };
        let value = data.get(other); // expect: barrier_between_blocks GlobalRace
        assert!(wrong || value == 1);
    }
}

/// An output that depends on the block only, written by each of its threads.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn one_result_a_block(to: *mut u32, wrong: bool) {
    let block = thread::block_idx_x();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if wrong || thread::thread_idx_x() == 0 {
            GlobalMut::new(to, 2).set(block as usize, block); // expect: one_result_a_block GlobalRace
        }
    }
}

/// Compaction through a counter that is read and written plainly.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn plain_counter(from: *const u32, count: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if Global::new(from, 64).get(thread::index_1d() as usize).is_multiple_of(4) {
            if wrong {
                let count = GlobalMut::new(count, 1);
                let place = count.get(0);
                count.set(0, place + 1); // expect: plain_counter GlobalRace
            } else {
                atomic_fetch_add_u32_device(count, Relaxed, 1);
            }
        }
    }
}

/// Scatter: two inputs have the same destination.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn scatter(from: *const u32, to: *mut u32, wrong: bool) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let key = Global::new(from, 64).get(i) as usize;
        let place = if wrong { key / 2 } else { key };
        GlobalMut::new(to, 64).set(place, 1); // expect: scatter GlobalRace
    }
}

/// Elements of two bytes, where whole words are written.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn halves_of_words(data: *mut u32, wrong: bool) {
    let i = thread::index_1d() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if wrong {
            let words = GlobalMut::new(data, 16);
            let old = words.get(i / 2);
            words.set(i / 2, old | 1 << (16 * (i % 2))); // expect: halves_of_words GlobalRace
        } else {
            GlobalMut::new(data.cast::<u16>(), 32).set(i, 1);
        }
    }
}

/// The first dimension of an index is forgotten.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn forgotten_dimension(to: *mut u32, wrong: bool) {
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    // expect: forgotten_dimension GlobalRace
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe { GlobalMut::new(to, 32).set(if wrong { x } else { 8 * y + x }, 1) };
}

/// A prefix sum over blocks that reads the sum before while that block may still write it.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn sum_of_block_before(sums: *mut u32, to: *mut u32, wrong: bool) {
    let block = thread::block_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let sums = GlobalMut::new(sums, 4);
        sums.set(block, block as u32); // against: sum_of_block_before
        let before = if wrong && block > 0 {
            sums.get(block - 1) // expect: sum_of_block_before GlobalRace
        } else {
            sums.get(block)
        };
        GlobalMut::new(to, 4).set(block, before);
    }
}

pub const FAMILY: Family = Family {
    name: "global_races",
    source: include_str!("global_races.rs"),
    pairs: &[
        pair("index_of_block", Indigo, |t| {
            t.map(
                t.launch(2, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { index_of_block(to, t.wrong) },
                0..64,
            )
        }),
        pair("plain_sum", DataRaceBench, |t| {
            let from = numbers(64);
            t.update(
                t.launch(2, 32),
                [0],
                // SAFETY: as the crate says of launches.
                |sum| unsafe { plain_sum(from.as_ptr(), sum, t.wrong) },
                [2016],
            )
        }),
        pair("plain_maximum", Indigo, |t| {
            let from = numbers(64);
            t.update(
                t.launch(2, 32),
                [0],
                // SAFETY: as the crate says of launches.
                |most| unsafe { plain_maximum(from.as_ptr(), most, t.wrong) },
                [63],
            )
        }),
        pair("plain_histogram", DataRaceBench, |t| {
            let from = numbers(64);
            t.update(
                t.launch(2, 32),
                [0; 4],
                // SAFETY: as the crate says of launches.
                |bins| unsafe { plain_histogram(from.as_ptr(), bins, t.wrong) },
                [16; 4],
            )
        }),
        pair("atomic_and_plain", Scor, |t| {
            t.update(
                t.launch(2, 32),
                [0],
                // SAFETY: as the crate says of launches.
                |count| unsafe { atomic_and_plain(count, t.wrong) },
                [64],
            )
        }),
        pair("stencil_in_place", DataRaceBench, |t| {
            let from = numbers(64);
            let after = std::array::from_fn(|i| (i + (i + 1) % 64) as u32);
            t.update(
                t.launch(2, 32),
                [1; 64],
                // SAFETY: as the crate says of launches.
                |to| unsafe { stencil_in_place(from.as_ptr(), to, t.wrong) },
                after,
            )
        }),
        pair("aliasing_pointers", GpuVerify, |t| {
            let before = std::array::from_fn(|i| i as u32);
            let distance = if t.wrong { 1 } else { 64 };
            let after = std::array::from_fn(|i| i as u32 % 64);
            t.update::<128>(
                t.launch(2, 32),
                before,
                // SAFETY: as the crate says of launches.
                |data| unsafe { shift(data, data.add(distance)) },
                after,
            )
        }),
        pair("overlapping_chunks", GpuVerify, |t| {
            t.map(
                t.launch(4, 1),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { overlapping_chunks(to, t.wrong) },
                0..64,
            )
        }),
        pair("stride_of_block", Indigo, |t| {
            t.map(
                t.launch(2, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { stride_of_block(to, t.wrong) },
                [1; 128],
            )
        }),
        pair("transpose_by_both", GpuVerify, |t| {
            let before = std::array::from_fn(|i| i as u32);
            let after = std::array::from_fn(|i| (4 * (i % 4) + i / 4) as u32);
            t.update::<16>(
                t.launch(1, (4, 4)),
                before,
                // SAFETY: as the crate says of launches.
                |data| unsafe { transpose_in_place(data, t.wrong) },
                after,
            )
        }),
        pair("hand_over_in_block", GpuVerify, |t| {
            let scratch = numbers(32);
            let launch = t.launch(1, 32);
            t.map(
                launch,
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { hand_over(scratch.as_mut_ptr(), to, t.wrong) },
                (0..32).rev(),
            )
        }),
        pair("barrier_between_blocks", GpuVerify, |t| {
            t.map(
                t.launch(2, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, data| unsafe { hand_over_to_block(data, t.wrong) },
                [1; 64],
            )
        }),
        pair("one_result_a_block", GpuVerify, |t| {
            t.map(
                t.launch(2, 32),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { one_result_a_block(to, t.wrong) },
                [0, 1],
            )
        }),
        pair("plain_counter", Indigo, |t| {
            let from = numbers(64);
            t.update(
                t.launch(2, 32),
                [0],
                // SAFETY: as the crate says of launches.
                |count| unsafe { plain_counter(from.as_ptr(), count, t.wrong) },
                [16],
            )
        }),
        pair("scatter", Indigo, |t| {
            t.map(
                t.launch(2, 32),
                64,
                // SAFETY: as the crate says of launches.
                |from, to| unsafe { scatter(from, to, t.wrong) },
                [1; 64],
            )
        }),
        pair("halves_of_words", DataRaceBench, |t| {
            t.update(
                t.launch(1, 32),
                [0; 16],
                // SAFETY: as the crate says of launches.
                |data| unsafe { halves_of_words(data, t.wrong) },
                [0x1_0001; 16],
            )
        }),
        pair("forgotten_dimension", GpuVerify, |t| {
            t.map(
                t.launch(1, (8, 4)),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { forgotten_dimension(to, t.wrong) },
                [1; 32],
            )
        }),
        pair("sum_of_block_before", Indigo, |t| {
            let sums = numbers(4);
            t.map(
                t.launch(4, 1),
                0,
                // SAFETY: as the crate says of launches.
                |_, to| unsafe { sum_of_block_before(sums.as_mut_ptr(), to, t.wrong) },
                0..4,
            )
        }),
    ],
};
