//! Locks, queues and work stealing by atomics.

use cuda_sim::{GlobalBuffer, Report};
use cuda_std::atomic::mid::{
    atomic_compare_and_swap_u32_block, atomic_compare_and_swap_u32_device, atomic_fetch_add_u32_block,
    atomic_fetch_add_u32_device, atomic_fetch_exch_u32_block, atomic_fetch_exch_u32_device, atomic_load_32_device,
    atomic_store_32_block, atomic_store_32_device,
};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{GlobalMut, Shared};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::pair::Suite::*;
use crate::pair::{Family, Twin, numbers, pair};

/// What is wrong with a lock.
#[derive(Clone, Copy, PartialEq)]
enum Lock {
    Right,
    TakenRelaxed,
    GivenRelaxed,
    OfBlockScope,
    GivenToBlock,
    GivenPlainly,
    Absent,
    Kept,
}

/// Thread 0 of each block adds to a sum under a spin lock.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn locked_sum(lock: *mut u32, sum: *mut u32, how: Lock) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        match how {
            Lock::Absent => {}
            Lock::TakenRelaxed => while atomic_compare_and_swap_u32_device(lock, 0, 1, Relaxed) != 0 {},
            // expect: lock_of_block_scope AtomicScope
            Lock::OfBlockScope => while atomic_compare_and_swap_u32_block(lock, 0, 1, Acquire) != 0 {},
            // expect: lock_never_released Deadlock
            // against: unlock_by_plain_store
            _ => while atomic_compare_and_swap_u32_device(lock, 0, 1, Acquire) != 0 {},
        }
        let sum = GlobalMut::new(sum, 1);
        // expect: lock_without_acquire GlobalRace; unlock_without_release GlobalRace; no_lock GlobalRace
        let before = sum.get(0);
        // against: lock_without_acquire; unlock_without_release; no_lock
        sum.set(0, before + 1);
        match how {
            Lock::Absent | Lock::Kept => {}
            Lock::GivenRelaxed => atomic_store_32_device(lock, Relaxed, 0),
            Lock::OfBlockScope => atomic_store_32_block(lock, Release, 0),
            // expect: unlock_of_block_scope AtomicScope
            Lock::GivenToBlock => atomic_store_32_block(lock, Release, 0),
            // expect: unlock_by_plain_store GlobalRace
            Lock::GivenPlainly => GlobalMut::new(lock, 1).set(0, 0),
            _ => atomic_store_32_device(lock, Release, 0),
        }
    }
}

fn add_under(t: Twin, how: Lock) -> Report {
    let lock = GlobalBuffer::zeroed(1);
    let how = if t.wrong { how } else { Lock::Right };
    t.update(
        t.launch(4, 1),
        [0],
        // SAFETY: as the crate says of launches.
        |sum| unsafe { locked_sum(lock.as_mut_ptr(), sum, how) },
        [4],
    )
}

/// An update that is lost between an atomic load and an atomic store.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn load_then_store(count: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        if wrong {
            let before = atomic_load_32_device(count, Relaxed);
            // expect without line: lost_update ScheduleDependent
            atomic_store_32_device(count, Relaxed, before + 1);
        } else {
            atomic_fetch_add_u32_device(count, Relaxed, 1);
        }
    }
}

/// Two locks, taken in opposite orders by two blocks.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn two_locks(locks: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let first = if wrong { thread::block_idx_x() as usize } else { 0 };
        for lock in [first, 1 - first] {
            // expect: locks_in_opposite_orders Deadlock
            while atomic_compare_and_swap_u32_device(locks.add(lock), 0, 1, Acquire) != 0 {}
        }
        for lock in [first, 1 - first] {
            atomic_store_32_device(locks.add(lock), Release, 0);
        }
    }
}

/// A ticket lock.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn ticket_lock(tickets: *mut u32, sum: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let (next, serving) = (tickets, tickets.add(1));
        let ticket = atomic_fetch_add_u32_device(next, Relaxed, 1);
        while atomic_load_32_device(serving, Acquire) != ticket {}
        let sum = GlobalMut::new(sum, 1);
        let before = sum.get(0); // expect: ticket_lock GlobalRace
        sum.set(0, before + 1); // against: ticket_lock
        atomic_fetch_add_u32_device(serving, if wrong { Relaxed } else { Release }, 1);
    }
}

/// A lock of a block in shared memory, where the first thread of each warp takes turns.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn shared_lock(to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let cells = Shared::new(shared_array![u32; 2], 2);
        if t < 2 {
            cells.set(t as usize, 0);
        }
        thread::sync_threads();
        if t.is_multiple_of(32) {
            let lock = cells.as_mut_ptr();
            while atomic_compare_and_swap_u32_block(lock, 0, 1, Acquire) != 0 {}
            let before = cells.get(1); // expect: shared_lock SharedRace
            cells.set(1, before + 1); // against: shared_lock
            atomic_store_32_block(lock, if wrong { Relaxed } else { Release }, 0);
        }
        thread::sync_threads();
        if t == 0 {
            GlobalMut::new(to, 1).set(0, cells.get(1));
        }
    }
}

/// Work stealing: an owner takes from its queue at block scope, and thieves come from other blocks.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn steal(heads: *mut u32, done: *mut u32, wrong: bool) {
    let block = thread::block_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let (own, other) = (heads.add(block), heads.add(1 - block));
        let take_own = |head| {
            if wrong {
                atomic_fetch_add_u32_block(head, Relaxed, 1) // expect: stolen_at_block_scope AtomicScope
            } else {
                atomic_fetch_add_u32_device(head, Relaxed, 1)
            }
        };
        while take_own(own) < 8 {
            atomic_fetch_add_u32_device(done, Relaxed, 1);
        }
        // against: stolen_at_block_scope
        while atomic_fetch_add_u32_device(other, Relaxed, 1) < 8 {
            atomic_fetch_add_u32_device(done, Relaxed, 1);
        }
    }
}

/// A queue: a place is taken atomically, the item is written plainly, and the count is published or not.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn queue(items: *mut u32, tail: *mut u32, ready: *mut u32, to: *mut u32, wrong: bool) {
    let block = thread::block_idx_x();
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let items = GlobalMut::new(items, 3);
        if block < 3 {
            let place = atomic_fetch_add_u32_device(tail, Relaxed, 1);
            items.set(place as usize, 10); // against: queue_item
            atomic_fetch_add_u32_device(ready, if wrong { Relaxed } else { Release }, 1);
        } else {
            while atomic_load_32_device(ready, Acquire) < 3 {}
            let sum = (0..3).map(|place| items.get(place)).sum(); // expect: queue_item GlobalRace
            GlobalMut::new(to, 1).set(0, sum);
        }
    }
}

/// A consumer waits for the count of items, which is raised before the item is written or after.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn early_consumer(items: *mut u32, tail: *mut u32, to: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let items = GlobalMut::new(items, 1);
        if thread::block_idx_x() == 0 {
            if wrong {
                atomic_fetch_add_u32_device(tail, AcqRel, 1);
                items.set(0, 10); // expect: queue_place_before_item GlobalRace
            } else {
                items.set(0, 10);
                atomic_fetch_add_u32_device(tail, AcqRel, 1);
            }
        } else {
            while atomic_load_32_device(tail, Acquire) == 0 {}
            GlobalMut::new(to, 1).set(0, items.get(0)); // against: queue_place_before_item
        }
    }
}

/// A single slot that is exchanged: the receiver of a message reads its body.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn mailbox(bodies: *mut u32, slot: *mut u32, to: *mut u32, wrong: bool) {
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let bodies = GlobalMut::new(bodies, 8);
        if thread::block_idx_x() == 0 {
            bodies.set(5, 50);
            if wrong {
                atomic_fetch_exch_u32_block(slot, AcqRel, 5); // expect: mailbox_scope AtomicScope
            } else {
                atomic_fetch_exch_u32_device(slot, AcqRel, 5);
            }
        } else {
            let mut message = 0;
            while message == 0 {
                message = atomic_fetch_exch_u32_device(slot, AcqRel, 0); // against: mailbox_scope
            }
            GlobalMut::new(to, 1).set(0, bodies.get(message as usize));
        }
    }
}

/// Work items that blocks take in turn, with a shared cell that is overwritten while it is read.
///
/// # Safety
/// As the [crate] says of kernels.
#[kernel]
unsafe fn persistent(next: *mut u32, to: *mut u32, wrong: bool) {
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the caller's promise; what views and atomics refuse is not executed.
    unsafe {
        let (cell, to) = (Shared::new(shared_array![u32; 1], 1), GlobalMut::new(to, 8 * 32));
        loop {
            if t == 0 {
                // expect: work_item_overwritten SharedRace
                cell.set(0, atomic_fetch_add_u32_device(next, Relaxed, 1));
            }
            thread::sync_threads();
            let item = cell.get(0) as usize; // against: work_item_overwritten
            if item >= 8 {
                break;
            }
            to.set(32 * item + t, item as u32);
            if !wrong {
                thread::sync_threads();
            }
        }
    }
}

pub const FAMILY: Family = Family {
    name: "locks",
    source: include_str!("locks.rs"),
    pairs: &[
        pair("lock_without_acquire", Scor, |t| add_under(t, Lock::TakenRelaxed)),
        pair("unlock_without_release", Scor, |t| add_under(t, Lock::GivenRelaxed)),
        pair("lock_of_block_scope", Scor, |t| add_under(t, Lock::OfBlockScope)),
        pair("unlock_of_block_scope", Scor, |t| add_under(t, Lock::GivenToBlock)),
        pair("unlock_by_plain_store", Scor, |t| add_under(t, Lock::GivenPlainly)),
        pair("no_lock", DataRaceBench, |t| add_under(t, Lock::Absent)),
        pair("lock_never_released", Synccheck, |t| add_under(t, Lock::Kept)),
        pair("lost_update", DataRaceBench, |t| {
            t.update(
                t.launch(2, 32),
                [0],
                // SAFETY: as the crate says of launches.
                |count| unsafe { load_then_store(count, t.wrong) },
                [64],
            )
        }),
        pair("locks_in_opposite_orders", GpuVerify, |t| {
            t.update(
                t.launch(2, 1),
                [0; 2],
                // SAFETY: as the crate says of launches.
                |locks| unsafe { two_locks(locks, t.wrong) },
                [0; 2],
            )
        }),
        pair("ticket_lock", Scor, |t| {
            let tickets = GlobalBuffer::zeroed(2);
            t.update(
                t.launch(4, 1),
                [0],
                // SAFETY: as the crate says of launches.
                |sum| unsafe { ticket_lock(tickets.as_mut_ptr(), sum, t.wrong) },
                [4],
            )
        }),
        pair("shared_lock", GpuVerify, |t| {
            // SAFETY: as the crate says of launches.
            t.map(t.launch(1, 96), 0, |_, to| unsafe { shared_lock(to, t.wrong) }, [3])
        }),
        pair("stolen_at_block_scope", Scor, |t| {
            let heads = GlobalBuffer::zeroed(2);
            t.update(
                t.launch(2, 1),
                [0],
                // SAFETY: as the crate says of launches.
                |done| unsafe { steal(heads.as_mut_ptr(), done, t.wrong) },
                [16],
            )
        }),
        pair("queue_item", Scor, |t| {
            let (items, tail, ready) = (GlobalBuffer::uninit(3), numbers(1), numbers(1));
            // SAFETY: as the crate says of launches.
            let kernel = |_, to| unsafe {
                queue(items.as_mut_ptr(), tail.as_mut_ptr(), ready.as_mut_ptr(), to, t.wrong);
            };
            t.map(t.launch(4, 1), 0, kernel, [30])
        }),
        pair("queue_place_before_item", Scor, |t| {
            let (items, tail) = (numbers(1), GlobalBuffer::zeroed(1));
            // SAFETY: as the crate says of launches.
            let kernel = |_, to| unsafe { early_consumer(items.as_mut_ptr(), tail.as_mut_ptr(), to, t.wrong) };
            t.map(t.launch(2, 1), 0, kernel, [10])
        }),
        pair("mailbox_scope", Scor, |t| {
            let (bodies, slot) = (numbers(8), GlobalBuffer::zeroed(1));
            // SAFETY: as the crate says of launches.
            let kernel = |_, to| unsafe { mailbox(bodies.as_mut_ptr(), slot.as_mut_ptr(), to, t.wrong) };
            t.map(t.launch(2, 1), 0, kernel, [50])
        }),
        pair("work_item_overwritten", Scor, |t| {
            let next = GlobalBuffer::zeroed(1);
            // SAFETY: as the crate says of launches.
            let kernel = |_, to| unsafe { persistent(next.as_mut_ptr(), to, t.wrong) };
            t.map(t.launch(2, 32), 0, kernel, (0..256).map(|i| i / 32))
        }),
    ],
};
