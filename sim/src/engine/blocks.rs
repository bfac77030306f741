//! The turns of the blocks of a cluster, which run together. Most clusters are of one block.
//!
//! Each block runs until none of its threads can go on. When that is so for all of them, the barrier of the cluster
//! opens, or the bytes of a copy arrive, or pollers get another turn, or the cluster is stuck.

use crate::schedule::Turns;

use super::slot::{Slot, Status, Thread};

/// A block and its order.
struct Block<'a> {
    slot: &'a Slot,
    turns: Turns,
    order: Vec<Vec<usize>>,
}

/// What a block did in its turn.
#[derive(PartialEq, Eq)]
enum Pass {
    /// It can go on.
    Moved,
    /// Its threads wait.
    Waits,
    /// Its threads have ended.
    Over,
}

/// Runs the blocks that the slots were prepared for to their end.
pub(super) fn run_blocks(slots: &[Slot], spawn: &dyn Fn()) {
    let mut blocks: Vec<Block<'_>> = slots.iter().map(Block::new).collect();
    let progress = || slots.iter().map(|slot| slot.progress.get()).sum::<u64>();
    let mut seen_progress = progress();
    let mut idle_passes = 0;
    loop {
        let mut passes = Vec::with_capacity(blocks.len());
        for block in &mut blocks {
            passes.push(block.pass());
            if block.slot.aborted.get() {
                break;
            }
        }
        if slots.iter().any(|slot| slot.aborted.get()) || passes.iter().all(|pass| *pass == Pass::Over) {
            break;
        }
        // One that had its turn may have been woken by a later block, also by one that has ended with it.
        let is_ready = |thread: &Thread| thread.status.get() == Status::Ready;
        let woken = || slots.iter().any(|slot| slot.threads.iter().any(is_ready));
        // As late as can be: a copy's bytes arrive when nobody can go on without them.
        if passes.contains(&Pass::Moved)
            || woken()
            || slots[0].open_cluster_barrier(slots)
            || blocks
                .iter_mut()
                .any(|block| block.slot.complete_copy(&mut block.turns))
        {
            continue;
        }
        let pollers = || {
            let polling = |thread: &&Thread| thread.status.get() == Status::Polling;
            slots.iter().flat_map(|slot| &slot.threads).filter(polling)
        };
        if pollers().next().is_none() {
            slots.iter().for_each(Slot::deadlock);
            break;
        }
        if std::mem::replace(&mut seen_progress, progress()) == seen_progress {
            idle_passes += 1;
        } else {
            idle_passes = 0;
        }
        if idle_passes > 1 && slots[0].give_way(spawn).is_err() {
            slots.iter().for_each(Slot::deadlock);
            break;
        }
        pollers().for_each(|thread| thread.status.set(Status::Ready));
    }
    // One block's fault ends all.
    let aborted = slots.iter().any(|slot| slot.aborted.get());
    for slot in slots {
        slot.aborted.set(aborted);
        slot.end_block();
    }
}

impl<'a> Block<'a> {
    fn new(slot: &'a Slot) -> Self {
        let mut turns = Turns::of_block(slot.run.schedule, slot.block.get());
        let order = slot.order(&mut turns);
        Self { slot, turns, order }
    }

    /// Lets every thread run until it has to wait, and whole warpgroups and the block meet.
    fn pass(&mut self) -> Pass {
        let slot = self.slot;
        for warp in &self.order {
            slot.run_warp(warp);
            if slot.aborted.get() {
                return Pass::Over;
            }
        }
        if slot.threads.iter().all(|thread| thread.status.get() == Status::Exited) {
            return Pass::Over;
        }
        if slot.hold_warpgroups() || slot.woken.take() {
            return Pass::Moved;
        }
        if slot.open_barrier() {
            if !self.turns.is_fixed() {
                self.order = slot.order(&mut self.turns);
            }
            return Pass::Moved;
        }
        Pass::Waits
    }
}
