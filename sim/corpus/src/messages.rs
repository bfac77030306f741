//! Values that blocks hand to one another: after a flag, through a third block, at the borders of their parts.

use cuda_sim::GlobalBuffer;
use cuda_std::atomic::mid::{
    atomic_fetch_exch_u32_block, atomic_fetch_exch_u32_device, atomic_load_32_device, atomic_store_32_device,
    atomic_store_32_system,
};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::pair::Suite::*;
use crate::pair::{Family, pair};

/// Thread 0 publishes what the whole block has written, with a barrier before or not.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn publish_for_block(values: *mut u32, flag: *mut u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let values = GlobalMut::new(values, 32);
        if thread::block_idx_x() == 0 {
            values.set(t, t as u32); // against: published_without_barrier
            if !wrong {
                thread::sync_threads();
            }
            if t == 0 {
                atomic_store_32_device(flag, Release, 1);
            }
        } else {
            while atomic_load_32_device(flag, Acquire) == 0 {}
            let value = values.get(31 - t); // expect: published_without_barrier GlobalRace
            GlobalMut::new(to, 32).set(t, value);
        }
    }
}

/// Thread 0 alone acquires for its block, with a barrier after or not.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn acquire_for_block(values: *mut u32, flag: *mut u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let values = GlobalMut::new(values, 32);
        if thread::block_idx_x() == 0 {
            values.set(t, t as u32);
            thread::sync_threads();
            if t == 0 {
                atomic_store_32_device(flag, Release, 1);
            }
        } else {
            if t == 0 {
                while atomic_load_32_device(flag, Acquire) == 0 {}
            }
            if !wrong {
                thread::sync_threads();
            }
            let value = values.get(31 - t); // expect: acquired_without_barrier GlobalRace
            GlobalMut::new(to, 32).set(t, value);
        }
    }
}

/// A message through a third block, which only forwards the flag.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn relay(value: *mut u32, flags: *mut u32, to: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let value = GlobalMut::new(value, 1);
        match thread::block_idx_x() {
            0 => {
                value.set(0, 7); // against: relay_without_acquire
                atomic_store_32_device(flags, Release, 1);
            }
            1 => {
                let order = if wrong { Relaxed } else { Acquire };
                while atomic_load_32_device(flags, order) == 0 {}
                atomic_store_32_device(flags.add(1), Release, 1);
            }
            _ => {
                while atomic_load_32_device(flags.add(1), Acquire) == 0 {}
                GlobalMut::new(to, 1).set(0, value.get(0)); // expect: relay_without_acquire GlobalRace
            }
        }
    }
}

/// The value is written again after its release, whose scope is wider than it needs to be.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn written_again(value: *mut u32, flag: *mut u32, to: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let value = GlobalMut::new(value, 1);
        if thread::block_idx_x() == 0 {
            value.set(0, 7);
            atomic_store_32_system(flag, Release, 1);
            if wrong {
                value.set(0, 8); // expect: written_after_release GlobalRace
            }
        } else {
            while atomic_load_32_device(flag, Acquire) == 0 {}
            GlobalMut::new(to, 1).set(0, value.get(0)); // against: written_after_release
        }
    }
}

/// Steps of a cellular automaton, rule 110: two blocks exchange the cells at their border.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn rule_110(from: *const u32, to: *mut u32, flags: *mut u32, wrong: bool) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let block = thread::block_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let (from, to) = (Global::new(from, 64), GlobalMut::new(to, 128));
        let rule = |left: u32, centre: u32, right: u32| 110 >> (4 * left + 2 * centre + right) & 1;
        let first = rule(from.get((i + 63) % 64), from.get(i), from.get((i + 1) % 64));
        to.set(i, first); // against: automaton_border
        thread::sync_threads();
        if t == 0 {
            if wrong {
                atomic_store_32_device(flags.add(block), Relaxed, 1);
                while atomic_load_32_device(flags.add(1 - block), Relaxed) == 0 {}
            } else {
                atomic_store_32_device(flags.add(block), Release, 1);
                while atomic_load_32_device(flags.add(1 - block), Acquire) == 0 {}
            }
        }
        thread::sync_threads();
        // expect: automaton_border GlobalRace
        let (left, right) = (to.get((i + 63) % 64), to.get((i + 1) % 64));
        to.set(64 + i, rule(left, to.get(i), right));
    }
}

/// A convolution whose blocks hand their last element to the next block.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn convolution(from: *const u32, halo: *mut u32, to: *mut u32, wrong: bool) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let block = thread::block_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let from = Global::new(from, 64);
        let tile = Shared::new(shared_array![u32; 33], 33);
        tile.set(t + 1, from.get(i));
        if t == 31 {
            // 0 means that there is nothing yet.
            let value = 1 + from.get(i);
            if wrong {
                // expect: convolution_halo AtomicScope
                atomic_fetch_exch_u32_block(halo.add(block), Relaxed, value);
            } else {
                atomic_fetch_exch_u32_device(halo.add(block), Relaxed, value);
            }
        }
        if t == 0 {
            let mut left = 1;
            if block > 0 {
                left = atomic_load_32_device(halo.add(block - 1), Relaxed); // against: convolution_halo
                while left == 0 {
                    left = atomic_load_32_device(halo.add(block - 1), Relaxed);
                }
            }
            tile.set(0, left - 1);
        }
        thread::sync_threads();
        GlobalMut::new(to, 64).set(i, tile.get(t) + tile.get(t + 1));
    }
}

pub const FAMILY: Family = Family {
    name: "messages",
    source: include_str!("messages.rs"),
    pairs: &[
        pair("published_without_barrier", Scor, |t| {
            let (values, flag) = (GlobalBuffer::uninit(32), GlobalBuffer::zeroed(1));
            // SAFETY: as the crate says of launches.
            let kernel = |_, to| unsafe { publish_for_block(values.as_mut_ptr(), flag.as_mut_ptr(), to, t.wrong) };
            t.map(t.launch(2, 32), 0, kernel, (0..32).rev())
        }),
        pair("acquired_without_barrier", Scor, |t| {
            let (values, flag) = (GlobalBuffer::uninit(32), GlobalBuffer::zeroed(1));
            // SAFETY: as the crate says of launches.
            let kernel = |_, to| unsafe { acquire_for_block(values.as_mut_ptr(), flag.as_mut_ptr(), to, t.wrong) };
            t.map(t.launch(2, 32), 0, kernel, (0..32).rev())
        }),
        pair("relay_without_acquire", Scor, |t| {
            let (value, flags) = (GlobalBuffer::uninit(1), GlobalBuffer::zeroed(2));
            // SAFETY: as the crate says of launches.
            let kernel = |_, to| unsafe { relay(value.as_mut_ptr(), flags.as_mut_ptr(), to, t.wrong) };
            t.map(t.launch(3, 1), 0, kernel, [7])
        }),
        pair("written_after_release", Scor, |t| {
            let (value, flag) = (GlobalBuffer::uninit(1), GlobalBuffer::zeroed(1));
            // SAFETY: as the crate says of launches.
            let kernel = |_, to| unsafe { written_again(value.as_mut_ptr(), flag.as_mut_ptr(), to, t.wrong) };
            t.map(t.launch(2, 1), 0, kernel, [7])
        }),
        pair("automaton_border", Scor, |t| {
            let from = GlobalBuffer::from_slice(&std::array::from_fn::<u32, 64, _>(|i| (i as u32 * 7) % 3 % 2));
            let (to, flags) = (GlobalBuffer::uninit(128), GlobalBuffer::zeroed(2));
            t.launch(2, 32)
                // SAFETY: as the crate says of launches.
                .run(|| unsafe { rule_110(from.as_ptr(), to.as_mut_ptr(), flags.as_mut_ptr(), t.wrong) })
        }),
        pair("convolution_halo", Scor, |t| {
            let halo = GlobalBuffer::zeroed(2);
            // SAFETY: as the crate says of launches.
            let kernel = |from, to| unsafe { convolution(from, halo.as_mut_ptr(), to, t.wrong) };
            t.map(
                t.launch(2, 32),
                64,
                kernel,
                (0..64).map(|i| (2 * i as u32).saturating_sub(1)),
            )
        }),
    ],
};
