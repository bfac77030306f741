//! The scheduler of a cluster's blocks, which run together. Most clusters have one block.
//!
//! Each block runs until none of its threads can. When that holds for all blocks, the cluster's barrier opens, or a
//! bulk copy completes, or polling threads get another turn, or the cluster is deadlocked.

use crate::schedule::Turns;

use super::BlockContext;
use super::threads::{Status, Thread};

/// A block and the order of its threads.
struct Block<'a> {
    context: &'a BlockContext,
    turns: Turns,
    order: Vec<Vec<usize>>,
}

/// The outcome of a block's turn.
#[derive(PartialEq, Eq)]
enum Pass {
    /// Threads can run again.
    Moved,
    /// All threads wait.
    Waits,
    /// All threads have exited, or the block is aborted.
    Over,
}

/// Runs the blocks that the contexts were started for to their end.
pub(in crate::engine) fn run_cluster(contexts: &[BlockContext], spawn: &dyn Fn()) {
    let mut blocks: Vec<Block<'_>> = contexts.iter().map(Block::new).collect();
    let progress = || contexts.iter().map(|context| context.threads.progress()).sum::<u64>();
    let is_aborted = || contexts.iter().any(|context| context.faults.is_aborted());
    let news = || contexts.iter().map(|context| context.threads.news()).sum::<u64>();
    let (mut seen_progress, mut seen_news) = (progress(), news());
    let mut idle_passes = 0;
    loop {
        let mut passes = Vec::with_capacity(blocks.len());
        for block in &mut blocks {
            passes.push(block.pass());
            if block.context.faults.is_aborted() {
                break;
            }
        }
        if is_aborted() || passes.iter().all(|pass| *pass == Pass::Over) {
            break;
        }
        // A later block may have woken a thread of one that had its turn, also of one that exited with it.
        let is_ready = |thread: &Thread| thread.is(Status::Ready);
        let woken = || contexts.iter().any(|context| context.threads.iter().any(is_ready));
        // Copies complete as late as possible: when no thread can run without them.
        if passes.contains(&Pass::Moved)
            || woken()
            || contexts[0].open_cluster_barrier(contexts)
            || blocks
                .iter_mut()
                .any(|block| block.context.complete_copy(&mut block.turns))
        {
            continue;
        }
        let pollers = || {
            let threads = contexts.iter().flat_map(|context| context.threads.iter());
            threads.filter(|thread| thread.is(Status::Polling))
        };
        if pollers().next().is_none() {
            contexts.iter().for_each(BlockContext::deadlock);
            break;
        }
        if std::mem::replace(&mut seen_progress, progress()) == seen_progress {
            idle_passes += 1;
        } else {
            idle_passes = 0;
        }
        let has_news = std::mem::replace(&mut seen_news, news()) != seen_news;
        if idle_passes > 1 && contexts[0].give_way(has_news, spawn).is_err() {
            contexts.iter().for_each(BlockContext::deadlock);
            break;
        }
        pollers().for_each(|thread| thread.status.set(Status::Ready));
    }
    // A fault of one block ends all.
    let aborted = is_aborted();
    for context in contexts {
        if aborted {
            context.faults.abort();
        }
        context.end_block();
    }
}

impl<'a> Block<'a> {
    fn new(context: &'a BlockContext) -> Self {
        let mut turns = Turns::of_block(context.run.schedule, context.id.get().linear);
        let order = context.order(&mut turns);
        Self { context, turns, order }
    }

    /// Runs each thread until it waits; completes the rendezvous of warpgroups and the block's barrier.
    fn pass(&mut self) -> Pass {
        let context = self.context;
        for warp in &self.order {
            context.run_warp(warp);
            if context.faults.is_aborted() {
                return Pass::Over;
            }
        }
        if context.threads.have_exited() {
            return Pass::Over;
        }
        if context.complete_warpgroups() || context.threads.take_woken() {
            return Pass::Moved;
        }
        if context.open_barrier() {
            if !self.turns.is_fixed() {
                self.order = context.order(&mut self.turns);
            }
            return Pass::Moved;
        }
        Pass::Waits
    }
}
