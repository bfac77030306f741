//! Atomics and fences of a scope that is too small, and handshakes without the order that they need.

use cuda_sim::{GlobalBuffer, Report};
use cuda_std::atomic::mid::{
    atomic_fetch_add_u32_block, atomic_fetch_add_u32_device, atomic_fetch_add_u32_system, atomic_load_32_block,
    atomic_load_32_device, atomic_store_32_block, atomic_store_32_device, block_thread_fence, device_thread_fence,
};
use cuda_std::{kernel, thread};
use cuda_views::GlobalMut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::pair::Suite::*;
use crate::pair::{Family, Twin, numbers, pair};

/// A counter of all blocks with atomics of block scope.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn counter(count: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if wrong {
            atomic_fetch_add_u32_block(count, Relaxed, 1); // expect: counter_of_block_scope AtomicScope
        } else {
            atomic_fetch_add_u32_device(count, Relaxed, 1);
        }
    }
}

/// A counter of which one block adds at block scope.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn mixed_counter(count: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if wrong && thread::block_idx_x() == 1 {
            atomic_fetch_add_u32_block(count, Relaxed, 1); // expect: counter_of_mixed_scopes AtomicScope
        } else {
            atomic_fetch_add_u32_system(count, Relaxed, 1); // against: counter_of_mixed_scopes
        }
    }
}

/// A counter of one block each, for which block scope is enough, next to those of others or not.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn own_counter(counts: *mut u32, wrong: bool) {
    let block = thread::block_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
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
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn handshake(value: *mut u32, flag: *mut u32, to: *mut u32, lacks: Lacks) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
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
    // SAFETY: as the crate says of launches.
    let kernel = |_, to| unsafe { handshake(value.as_mut_ptr(), flag.as_mut_ptr(), to, lacks) };
    t.map(t.launch(2, 1), 0, kernel, [7])
}

/// The same by fences around relaxed atomics.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn fenced_handshake(value: *mut u32, flag: *mut u32, to: *mut u32, lacks: Lacks) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
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
    // SAFETY: as the crate says of launches.
    let kernel = |_, to| unsafe { fenced_handshake(value.as_mut_ptr(), flag.as_mut_ptr(), to, lacks) };
    t.map(t.launch(2, 1), 0, kernel, [7])
}

/// The fence stands after the flag.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn late_fence(value: *mut u32, flag: *mut u32, to: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
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
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn plain_flag(value: *mut u32, flag: *mut u32, to: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
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
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn last_block(sums: *mut u32, count: *mut u32, total: *mut u32, lacks: Lacks) {
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
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
    // SAFETY: as the crate says of launches.
    let kernel = |_, total| unsafe { last_block(sums.as_mut_ptr(), count.as_mut_ptr(), total, lacks) };
    t.map(t.launch(4, 1), 0, kernel, [6])
}

/// A barrier of the whole grid, by a counter.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn grid_barrier(values: *mut u32, count: *mut u32, to: *mut u32, lacks: Lacks) {
    let (block, blocks) = (thread::block_idx_x() as usize, thread::grid_dim_x());
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
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

fn pass_grid_barrier(t: Twin, lacks: Lacks) -> Report {
    let (values, count) = (numbers(4), GlobalBuffer::zeroed(1));
    let lacks = if t.wrong { lacks } else { Lacks::Nothing };
    // SAFETY: as the crate says of launches.
    let kernel = |_, to| unsafe { grid_barrier(values.as_mut_ptr(), count.as_mut_ptr(), to, lacks) };
    t.map(t.launch(4, 1), 0, kernel, [3, 2, 1, 0])
}

pub const FAMILY: Family = Family {
    name: "scopes",
    source: include_str!("scopes.rs"),
    pairs: &[
        pair("counter_of_block_scope", Scor, |t| {
            // SAFETY: as the crate says of launches.
            t.update(t.launch(2, 32), [0], |count| unsafe { counter(count, t.wrong) }, [64])
        }),
        pair("counter_of_mixed_scopes", Scor, |t| {
            t.update(
                t.launch(3, 32),
                [0],
                // SAFETY: as the crate says of launches.
                |count| unsafe { mixed_counter(count, t.wrong) },
                [96],
            )
        }),
        pair("counter_of_two_blocks", Scor, |t| {
            t.update(
                t.launch(4, 32),
                [0; 4],
                // SAFETY: as the crate says of launches.
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
            // SAFETY: as the crate says of launches.
            let kernel = |_, to| unsafe { late_fence(value.as_mut_ptr(), flag.as_mut_ptr(), to, t.wrong) };
            t.map(t.launch(2, 1), 0, kernel, [7])
        }),
        pair("plain_flag", Scor, |t| {
            let (value, flag) = (GlobalBuffer::uninit(1), GlobalBuffer::zeroed(1));
            // SAFETY: as the crate says of launches.
            let kernel = |_, to| unsafe { plain_flag(value.as_mut_ptr(), flag.as_mut_ptr(), to, t.wrong) };
            t.map(t.launch(2, 1), 0, kernel, [7])
        }),
        pair("last_block_fence", Scor, |t| add_up(t, Lacks::Release)),
        pair("last_block_fence_scope", Scor, |t| add_up(t, Lacks::ReleaseScope)),
        pair("last_block_second_fence", Scor, |t| add_up(t, Lacks::Acquire)),
        pair("last_block_counter", Scor, |t| add_up(t, Lacks::Both)),
        pair("grid_barrier_order", Scor, |t| pass_grid_barrier(t, Lacks::Both)),
        pair("grid_barrier_scope", Scor, |t| {
            pass_grid_barrier(t, Lacks::ReleaseScope)
        }),
    ],
};
