//! The scheduler of a cluster's blocks, which run together. Most clusters have one block.
//!
//! Each block runs until none of its threads can. When that holds for all blocks, the cluster's barrier opens, or a
//! bulk copy completes, or polling threads get another turn, or the cluster is deadlocked.

use std::rc::Rc;
use std::sync::Arc;

use crate::engine::fiber::Stacks;
use crate::engine::grid::{Next, Place, Stuck};
use crate::engine::launched_grid::LaunchedGrid;
use crate::engine::run::Run;
use crate::engine::watchdog::WorkerWatch;
use crate::schedule::Turns;

use super::threads::{Status, Thread};
use super::{BlockContext, GridTurn, WARP};

/// The blocks of a cluster, and how far their scheduler is. A worker uses it for one cluster after the other; while
/// clusters wait for others, it has several.
pub(in crate::engine) struct Cluster {
    contexts: Vec<BlockContext>,
    turn: Rc<GridTurn>,
    blocks: Vec<Block>,
    seen_progress: u64,
    seen_news: u64,
    idle_passes: u32,
    /// Its threads use the worker's stacks.
    is_loaded: bool,
}

/// The order of a block's threads.
struct Block {
    turns: Turns,
    order: Vec<Vec<usize>>,
}

/// Why a cluster stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Pause {
    /// It has ended.
    Over,
    /// Other blocks run first.
    GivesWay,
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

impl Cluster {
    /// Contexts for clusters of a launch, one after the other. `watchdog` and `stacks` are the worker's.
    ///
    /// # Errors
    /// The system has no memory for them.
    pub(in crate::engine) fn new(
        run: &Arc<Run>,
        launch: &Arc<LaunchedGrid>,
        watchdog: &Arc<WorkerWatch>,
        stacks: &Rc<Stacks>,
    ) -> std::io::Result<Self> {
        let turn = Rc::new(GridTurn::default());
        let size = launch.config.cluster.count().max(1);
        let context = |rank| {
            let (turn, watchdog, stacks) = (Rc::clone(&turn), Arc::clone(watchdog), Rc::clone(stacks));
            BlockContext::new(Arc::clone(run), Arc::clone(launch), rank as u32, turn, watchdog, stacks)
        };
        let contexts = (0..size).map(context).collect::<Result<Vec<_>, _>>()?;
        BlockContext::connect(&contexts);
        Ok(Self {
            contexts,
            turn,
            blocks: Vec::new(),
            seen_progress: 0,
            seen_news: 0,
            idle_passes: 0,
            is_loaded: false,
        })
    }

    /// The contexts of the blocks.
    pub(in crate::engine) fn contexts(&self) -> &[BlockContext] {
        &self.contexts
    }

    /// Starts the cluster at `position` in the order of the schedule, whose blocks have the linear indices `blocks`.
    pub(in crate::engine) fn start(&mut self, place: Place, position: u64, blocks: impl Iterator<Item = u64>) {
        self.turn.start(place);
        let size = self.contexts.len() as u64;
        for ((rank, context), block) in (0..).zip(&self.contexts).zip(blocks) {
            context.start_block(position * size + rank, block);
        }
        self.blocks = self.contexts.iter().map(Block::new).collect();
        (self.seen_progress, self.seen_news) = (self.progress(), self.news());
        self.idle_passes = 0;
        self.is_loaded = true;
    }

    /// The place of the cluster, which has ended.
    pub(in crate::engine) fn finish(&mut self) -> Place {
        self.is_loaded = false;
        self.turn.finish()
    }

    /// Leaves the worker's stacks to other clusters; returns how many bytes that takes.
    pub(in crate::engine) fn park(&mut self) -> usize {
        if !std::mem::replace(&mut self.is_loaded, false) {
            return 0;
        }
        self.contexts.iter().map(BlockContext::park_threads).sum()
    }

    /// Takes the worker's stacks back, and waits for the cluster's turn.
    pub(in crate::engine) fn unpark(&mut self) {
        if !std::mem::replace(&mut self.is_loaded, true) {
            self.contexts.iter().for_each(BlockContext::unpark_threads);
        }
        self.contexts[0].take_token();
    }

    fn progress(&self) -> u64 {
        self.contexts.iter().map(|context| context.threads.progress()).sum()
    }

    fn news(&self) -> u64 {
        self.contexts.iter().map(|context| context.threads.news()).sum()
    }

    fn is_aborted(&self) -> bool {
        self.contexts.iter().any(|context| context.faults.is_aborted())
    }

    fn pollers(&self) -> impl Iterator<Item = &Thread> {
        let threads = self.contexts.iter().flat_map(|context| context.threads.iter());
        threads.filter(|thread| thread.is(Status::Polling) || thread.is(Status::Grid))
    }

    /// Runs the blocks to their end, or until they wait for others.
    pub(in crate::engine) fn run(&mut self) -> Pause {
        loop {
            let mut passes = Vec::with_capacity(self.blocks.len());
            for (context, block) in self.contexts.iter().zip(&mut self.blocks) {
                passes.push(context.pass(block));
                if context.faults.is_aborted() || context.threads.leaves_its_block() {
                    break;
                }
            }
            if self.contexts.iter().any(|context| context.threads.leaves_its_block()) {
                self.contexts
                    .iter()
                    .for_each(|context| context.threads.end_preemption());
                match self.contexts[0].yield_turn() {
                    Next::Park => return Pause::GivesWay,
                    Next::Stay => continue,
                }
            }
            if self.is_aborted() || passes.iter().all(|pass| *pass == Pass::Over) {
                break;
            }
            // A later block may have woken a thread of one that had its turn, also of one that exited with it.
            let is_ready = |thread: &Thread| thread.is(Status::Ready);
            let woken = || self.contexts.iter().any(|context| context.threads.iter().any(is_ready));
            // Copies complete as late as possible: when no thread can run without them.
            if passes.contains(&Pass::Moved)
                || woken()
                || self.contexts[0].open_cluster_barrier(&self.contexts)
                || (self.contexts.iter().zip(&mut self.blocks))
                    .any(|(context, block)| context.complete_copy(&mut block.turns))
            {
                continue;
            }
            if self.pollers().next().is_none() {
                self.contexts.iter().for_each(BlockContext::deadlock);
                break;
            }
            // They are not stuck: the launch before this one ends, or it is stuck.
            let wait_for_grid = self.pollers().all(|thread| thread.is(Status::Grid));
            if wait_for_grid && self.contexts[0].run.grid.is_closed() {
                self.contexts[0].faults.abort();
                break;
            }
            let progress = self.progress();
            if std::mem::replace(&mut self.seen_progress, progress) == progress {
                self.idle_passes += 1;
            } else {
                self.idle_passes = 0;
            }
            let next = if self.idle_passes > 1 {
                let news = self.news();
                let has_news = std::mem::replace(&mut self.seen_news, news) != news;
                self.contexts[0].give_way(has_news || wait_for_grid)
            } else {
                Ok(Next::Stay)
            };
            match next {
                Ok(_) => self.pollers().for_each(|thread| thread.status.set(Status::Ready)),
                Err(Stuck::NoProgress) => self.contexts.iter().for_each(BlockContext::deadlock),
                Err(Stuck::Stopped) => self.contexts[0].faults.abort(),
            }
            if next == Ok(Next::Park) {
                return Pause::GivesWay;
            }
            if next.is_err() {
                break;
            }
        }
        // A fault of one block ends all.
        let aborted = self.is_aborted();
        if !aborted {
            self.contexts.iter().for_each(BlockContext::check_visits);
        }
        for context in &self.contexts {
            if aborted {
                context.faults.abort();
            }
            context.end_block();
        }
        Pause::Over
    }
}

impl Block {
    fn new(context: &BlockContext) -> Self {
        let mut turns = Turns::of_block(context.run.schedule, context.id.get().number);
        let order = context.order(&mut turns);
        Self { turns, order }
    }
}

impl BlockContext {
    /// Runs each thread until it waits; completes the rendezvous of warpgroups and the block's barrier.
    fn pass(&self, block: &mut Block) -> Pass {
        for number in 0..block.order.len() {
            self.run_warp(&block.order[number]);
            if self.faults.is_aborted() {
                return Pass::Over;
            }
            if self.threads.leaves_its_block() {
                // The next warp's turn is next.
                block.order.rotate_left(number + 1);
                return Pass::Moved;
            }
        }
        if self.threads.iter().any(|thread| thread.is(Status::Ready)) {
            // A thread was pre-empted.
            return Pass::Moved;
        }
        if self.faults.is_ending() {
            self.faults.abort();
            return Pass::Over;
        }
        if self.threads.have_exited() {
            return Pass::Over;
        }
        if self.complete_warpgroups() || self.threads.take_woken() {
            return Pass::Moved;
        }
        if self.open_barrier() {
            if !block.turns.is_fixed() {
                block.order = self.order(&mut block.turns);
            }
            return Pass::Moved;
        }
        Pass::Waits
    }

    /// Takes the threads' stacks away; returns how many bytes are kept instead.
    fn park_threads(&self) -> usize {
        let fibers = self.threads.iter().map(|thread| thread.fiber.borrow_mut());
        // SAFETY: the scheduler runs, and none of them is resumed before `unpark_threads`.
        let used = fibers.map(|mut fiber| fiber.as_mut().map_or(0, |fiber| unsafe { fiber.park() }));
        used.sum()
    }

    /// Gives the threads their stacks back.
    fn unpark_threads(&self) {
        for thread in self.threads.iter() {
            if let Some(fiber) = thread.fiber.borrow_mut().as_mut() {
                // SAFETY: the worker has parked the cluster that ran before.
                unsafe { fiber.unpark() };
            }
        }
    }

    /// The number of a thread's stack among those of the worker.
    pub(super) fn stack_slot(&self, thread: usize) -> usize {
        self.cluster.rank() as usize * self.threads.len().next_multiple_of(WARP) + thread
    }
}
