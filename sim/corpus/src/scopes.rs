//! Atomics and fences of a scope that is too small, and handshakes without the order that they need.

use cuda_sim::{GlobalBuffer, Report};
use cuda_std::atomic::mid::{
    atomic_fetch_add_u32_block, atomic_fetch_add_u32_device, atomic_fetch_add_u32_system, atomic_fetch_exch_u32_block,
    atomic_fetch_exch_u32_device, atomic_load_32_block, atomic_load_32_device, atomic_store_32_block,
    atomic_store_32_device, atomic_store_32_system, block_thread_fence, device_thread_fence,
};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::pair::Suite::*;
use crate::pair::{Family, Twin, numbers, pair};

/// A counter of all blocks with atomics of block scope.
#[kernel]
unsafe fn counter(count: *mut u32, wrong: bool) {
    unsafe {
        if wrong {
            atomic_fetch_add_u32_block(count, Relaxed, 1); // expect: counter_of_block_scope AtomicScope
        } else {
            atomic_fetch_add_u32_device(count, Relaxed, 1);
        }
    }
}

/// A counter of which one block adds at block scope.
#[kernel]
unsafe fn mixed_counter(count: *mut u32, wrong: bool) {
    unsafe {
        if wrong && thread::block_idx_x() == 1 {
            atomic_fetch_add_u32_block(count, Relaxed, 1); // expect: counter_of_mixed_scopes AtomicScope
        } else {
            atomic_fetch_add_u32_system(count, Relaxed, 1); // against: counter_of_mixed_scopes
        }
    }
}

/// A counter of one block each, for which block scope is enough, next to those of others or not.
#[kernel]
unsafe fn own_counter(counts: *mut u32, wrong: bool) {
    let block = thread::block_idx_x() as usize;
    unsafe {
        let own = counts.add(if wrong { block / 2 } else { block });
        atomic_fetch_add_u32_block(own, Relaxed, 1); // expect: counter_of_two_blocks AtomicScope
    }
}

/// What a handshake between two blocks lacks.
#[derive(Clone, Copy, PartialEq)]
enum Lacks {
    Nothing,
    Release,
    Acquire,
    Both,
    ReleaseScope,
    AcquireScope,
}

/// Block 0 writes a value and sets a flag; block 1 waits for the flag and reads the value.
#[kernel]
unsafe fn handshake(value: *mut u32, flag: *mut u32, to: *mut u32, lacks: Lacks) {
    unsafe {
        let value = GlobalMut::new(value, 1);
        if thread::block_idx_x() == 0 {
            value.set(0, 7); // against: no_release; no_acquire; relaxed_flag
            match lacks {
                Lacks::Release | Lacks::Both => atomic_store_32_device(flag, Relaxed, 1),
                // expect: release_scope_flag AtomicScope
                Lacks::ReleaseScope => atomic_store_32_block(flag, Release, 1),
                _ => atomic_store_32_device(flag, Release, 1),
            }
        } else {
            match lacks {
                Lacks::Acquire | Lacks::Both => while atomic_load_32_device(flag, Relaxed) == 0 {},
                // expect: acquire_scope AtomicScope
                Lacks::AcquireScope => while atomic_load_32_block(flag, Acquire) == 0 {},
                _ => while atomic_load_32_device(flag, Acquire) == 0 {},
            }
            // expect: no_release GlobalRace; no_acquire GlobalRace; relaxed_flag GlobalRace
            GlobalMut::new(to, 1).set(0, value.get(0));
        }
    }
}

fn shake(t: Twin, lacks: Lacks) -> Report {
    let (value, flag) = (GlobalBuffer::uninit(1), GlobalBuffer::zeroed(1));
    let lacks = if t.wrong { lacks } else { Lacks::Nothing };
    let kernel = |_, to| unsafe { handshake(value.as_mut_ptr(), flag.as_mut_ptr(), to, lacks) };
    t.map(t.launch(2, 1), 0, kernel, [7])
}

/// The same by fences around relaxed atomics.
#[kernel]
unsafe fn fenced_handshake(value: *mut u32, flag: *mut u32, to: *mut u32, lacks: Lacks) {
    unsafe {
        let value = GlobalMut::new(value, 1);
        if thread::block_idx_x() == 0 {
            value.set(0, 7); // against: no_fence_before_flag; fence_of_block_before_flag
            match lacks {
                Lacks::Release => {}
                Lacks::ReleaseScope => block_thread_fence(AcqRel),
                _ => device_thread_fence(AcqRel),
            }
            atomic_store_32_device(flag, Relaxed, 1);
        } else {
            while atomic_load_32_device(flag, Relaxed) == 0 {}
            match lacks {
                Lacks::Acquire => {}
                Lacks::AcquireScope => block_thread_fence(SeqCst),
                _ => device_thread_fence(AcqRel),
            }
            // expect: no_fence_before_flag GlobalRace; no_fence_after_flag GlobalRace
            // expect: fence_of_block_before_flag GlobalRace; fence_of_block_after_flag GlobalRace
            let seen = value.get(0);
            GlobalMut::new(to, 1).set(0, seen);
        }
    }
}

fn shake_fenced(t: Twin, lacks: Lacks) -> Report {
    let (value, flag) = (GlobalBuffer::uninit(1), GlobalBuffer::zeroed(1));
    let lacks = if t.wrong { lacks } else { Lacks::Nothing };
    let kernel = |_, to| unsafe { fenced_handshake(value.as_mut_ptr(), flag.as_mut_ptr(), to, lacks) };
    t.map(t.launch(2, 1), 0, kernel, [7])
}

/// The fence stands after the flag.
#[kernel]
unsafe fn late_fence(value: *mut u32, flag: *mut u32, to: *mut u32, wrong: bool) {
    unsafe {
        let value = GlobalMut::new(value, 1);
        if thread::block_idx_x() == 0 {
            value.set(0, 7); // against: fence_after_flag
            if !wrong {
                thread::device_fence();
            }
            atomic_store_32_device(flag, Relaxed, 1);
            thread::device_fence();
        } else {
            while atomic_load_32_device(flag, Relaxed) == 0 {}
            thread::device_fence();
            GlobalMut::new(to, 1).set(0, value.get(0)); // expect: fence_after_flag GlobalRace
        }
    }
}

/// The flag itself is a plain word.
#[kernel]
unsafe fn plain_flag(value: *mut u32, flag: *mut u32, to: *mut u32, wrong: bool) {
    unsafe {
        let value = GlobalMut::new(value, 1);
        if thread::block_idx_x() == 0 {
            value.set(0, 7);
            thread::device_fence();
            if wrong {
                GlobalMut::new(flag, 1).set(0, 1); // expect: plain_flag GlobalRace
            } else {
                atomic_store_32_device(flag, Release, 1);
            }
        } else {
            while atomic_load_32_device(flag, Acquire) == 0 {} // against: plain_flag
            GlobalMut::new(to, 1).set(0, value.get(0));
        }
    }
}

/// The last block adds up the sums of all blocks.
#[kernel]
unsafe fn last_block(sums: *mut u32, count: *mut u32, total: *mut u32, lacks: Lacks) {
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    unsafe {
        let sums = GlobalMut::new(sums, blocks);
        // against: last_block_fence; last_block_fence_scope; last_block_second_fence
        sums.set(block, block as u32);
        match lacks {
            Lacks::Release => {}
            Lacks::ReleaseScope => block_thread_fence(AcqRel),
            _ => device_thread_fence(AcqRel),
        }
        let before = match lacks {
            // expect: last_block_counter AtomicScope
            Lacks::Both => atomic_fetch_add_u32_block(count, Relaxed, 1),
            _ => atomic_fetch_add_u32_device(count, Relaxed, 1),
        };
        if before as usize == blocks - 1 {
            if lacks != Lacks::Acquire {
                device_thread_fence(AcqRel);
            }
            // expect: last_block_fence GlobalRace; last_block_fence_scope GlobalRace
            // expect: last_block_second_fence GlobalRace
            let sum = (0..blocks).map(|block| sums.get(block)).sum();
            GlobalMut::new(total, 1).set(0, sum);
        }
    }
}

fn add_up(t: Twin, lacks: Lacks) -> Report {
    let (sums, count) = (GlobalBuffer::uninit(4), GlobalBuffer::zeroed(1));
    let lacks = if t.wrong { lacks } else { Lacks::Nothing };
    let kernel = |_, total| unsafe { last_block(sums.as_mut_ptr(), count.as_mut_ptr(), total, lacks) };
    t.map(t.launch(4, 1), 0, kernel, [6])
}

/// Thread 0 publishes what the whole block has written, with a barrier before or not.
#[kernel]
unsafe fn publish_for_block(values: *mut u32, flag: *mut u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
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
#[kernel]
unsafe fn acquire_for_block(values: *mut u32, flag: *mut u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
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
#[kernel]
unsafe fn relay(value: *mut u32, flags: *mut u32, to: *mut u32, wrong: bool) {
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
#[kernel]
unsafe fn written_again(value: *mut u32, flag: *mut u32, to: *mut u32, wrong: bool) {
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

/// A barrier of the whole grid, by a counter.
#[kernel]
unsafe fn grid_barrier(values: *mut u32, count: *mut u32, to: *mut u32, lacks: Lacks) {
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x());
    unsafe {
        let values = GlobalMut::new(values, 4);
        values.set(block, block as u32); // against: grid_barrier_order
        match lacks {
            Lacks::Both => atomic_fetch_add_u32_device(count, Relaxed, 1),
            // expect: grid_barrier_scope AtomicScope
            Lacks::ReleaseScope => atomic_fetch_add_u32_block(count, AcqRel, 1),
            _ => atomic_fetch_add_u32_device(count, AcqRel, 1),
        };
        let order = if lacks == Lacks::Both { Relaxed } else { Acquire };
        while atomic_load_32_device(count, order) < blocks {}
        GlobalMut::new(to, 4).set(block, values.get(3 - block)); // expect: grid_barrier_order GlobalRace
    }
}

fn meet(t: Twin, lacks: Lacks) -> Report {
    let (values, count) = (numbers(4), GlobalBuffer::zeroed(1));
    let lacks = if t.wrong { lacks } else { Lacks::Nothing };
    let kernel = |_, to| unsafe { grid_barrier(values.as_mut_ptr(), count.as_mut_ptr(), to, lacks) };
    t.map(t.launch(4, 1), 0, kernel, [3, 2, 1, 0])
}

/// Steps of a cellular automaton, rule 110: two blocks exchange the cells at their border.
#[kernel]
unsafe fn rule_110(from: *const u32, to: *mut u32, flags: *mut u32, wrong: bool) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let block = thread::block_idx_x() as usize;
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
#[kernel]
unsafe fn convolution(from: *const u32, halo: *mut u32, to: *mut u32, wrong: bool) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    let block = thread::block_idx_x() as usize;
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
    name: "scopes",
    source: include_str!("scopes.rs"),
    pairs: &[
        pair("counter_of_block_scope", Scor, |t| {
            t.update(t.launch(2, 32), [0], |count| unsafe { counter(count, t.wrong) }, [64])
        }),
        pair("counter_of_mixed_scopes", Scor, |t| {
            t.update(
                t.launch(3, 32),
                [0],
                |count| unsafe { mixed_counter(count, t.wrong) },
                [96],
            )
        }),
        pair("counter_of_two_blocks", Scor, |t| {
            t.update(
                t.launch(4, 32),
                [0; 4],
                |counts| unsafe { own_counter(counts, t.wrong) },
                [32; 4],
            )
        }),
        pair("no_release", Scor, |t| shake(t, Lacks::Release)),
        pair("no_acquire", Scor, |t| shake(t, Lacks::Acquire)),
        pair("relaxed_flag", Scor, |t| shake(t, Lacks::Both)),
        pair("release_scope_flag", Scor, |t| shake(t, Lacks::ReleaseScope)),
        pair("acquire_scope", Scor, |t| shake(t, Lacks::AcquireScope)),
        pair("no_fence_before_flag", Scor, |t| shake_fenced(t, Lacks::Release)),
        pair("no_fence_after_flag", Scor, |t| shake_fenced(t, Lacks::Acquire)),
        pair("fence_of_block_before_flag", Scor, |t| {
            shake_fenced(t, Lacks::ReleaseScope)
        }),
        pair("fence_of_block_after_flag", Scor, |t| {
            shake_fenced(t, Lacks::AcquireScope)
        }),
        pair("fence_after_flag", Scor, |t| {
            let (value, flag) = (GlobalBuffer::uninit(1), GlobalBuffer::zeroed(1));
            let kernel = |_, to| unsafe { late_fence(value.as_mut_ptr(), flag.as_mut_ptr(), to, t.wrong) };
            t.map(t.launch(2, 1), 0, kernel, [7])
        }),
        pair("plain_flag", Scor, |t| {
            let (value, flag) = (GlobalBuffer::uninit(1), GlobalBuffer::zeroed(1));
            let kernel = |_, to| unsafe { plain_flag(value.as_mut_ptr(), flag.as_mut_ptr(), to, t.wrong) };
            t.map(t.launch(2, 1), 0, kernel, [7])
        }),
        pair("last_block_fence", Scor, |t| add_up(t, Lacks::Release)),
        pair("last_block_fence_scope", Scor, |t| add_up(t, Lacks::ReleaseScope)),
        pair("last_block_second_fence", Scor, |t| add_up(t, Lacks::Acquire)),
        pair("last_block_counter", Scor, |t| add_up(t, Lacks::Both)),
        pair("published_without_barrier", Scor, |t| {
            let (values, flag) = (GlobalBuffer::uninit(32), GlobalBuffer::zeroed(1));
            let kernel = |_, to| unsafe { publish_for_block(values.as_mut_ptr(), flag.as_mut_ptr(), to, t.wrong) };
            t.map(t.launch(2, 32), 0, kernel, (0..32).rev())
        }),
        pair("acquired_without_barrier", Scor, |t| {
            let (values, flag) = (GlobalBuffer::uninit(32), GlobalBuffer::zeroed(1));
            let kernel = |_, to| unsafe { acquire_for_block(values.as_mut_ptr(), flag.as_mut_ptr(), to, t.wrong) };
            t.map(t.launch(2, 32), 0, kernel, (0..32).rev())
        }),
        pair("relay_without_acquire", Scor, |t| {
            let (value, flags) = (GlobalBuffer::uninit(1), GlobalBuffer::zeroed(2));
            let kernel = |_, to| unsafe { relay(value.as_mut_ptr(), flags.as_mut_ptr(), to, t.wrong) };
            t.map(t.launch(3, 1), 0, kernel, [7])
        }),
        pair("written_after_release", Scor, |t| {
            let (value, flag) = (GlobalBuffer::uninit(1), GlobalBuffer::zeroed(1));
            let kernel = |_, to| unsafe { written_again(value.as_mut_ptr(), flag.as_mut_ptr(), to, t.wrong) };
            t.map(t.launch(2, 1), 0, kernel, [7])
        }),
        pair("grid_barrier_order", Scor, |t| meet(t, Lacks::Both)),
        pair("grid_barrier_scope", Scor, |t| meet(t, Lacks::ReleaseScope)),
        pair("automaton_border", Scor, |t| {
            let from = GlobalBuffer::from_slice(&std::array::from_fn::<u32, 64, _>(|i| (i as u32 * 7) % 3 % 2));
            let (to, flags) = (GlobalBuffer::uninit(128), GlobalBuffer::zeroed(2));
            t.launch(2, 32)
                .run(|| unsafe { rule_110(from.as_ptr(), to.as_mut_ptr(), flags.as_mut_ptr(), t.wrong) })
        }),
        pair("convolution_halo", Scor, |t| {
            let halo = GlobalBuffer::zeroed(2);
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
