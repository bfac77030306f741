//! Order between blocks, from device-wide atomics and fences: the knowledge of a block's threads about other blocks.
//!
//! [`GridClock`] is a set of [`Known`]s, one for each known block. Clocks are passed along chains of atomics - a
//! counter that every block raises, a flag that each block passes to the next - and each link keeps its own version, so
//! versions share their common parts: a clock is a list of immutable, sorted runs of decreasing length, as in a
//! log-structured merge tree. Copying one costs a reference for each of its at most 64 runs; adding a block costs O(log
//! n) on average; a question, a binary search in each run.

use std::sync::Arc;

use super::clock::BlockClock;

/// The most launches of a run: those that may overlap.
pub(crate) const LAUNCHES: usize = 64;
/// Blocks of a launch that a run of several distinguishes: 2 to this power.
const LAUNCH_SHIFT: u32 = 40;

/// The number in its run of the block with this linear index in its launch. In the first launch they are the same.
pub(crate) fn block_number(launch: u32, linear: u64) -> u64 {
    match launch {
        0 => linear,
        _ => u64::from(launch) << LAUNCH_SHIFT | linear,
    }
}

/// The launch and the linear index of a block by its number, where there are several launches.
pub(crate) fn launch_and_block(number: u64) -> (u32, u64) {
    ((number >> LAUNCH_SHIFT) as u32, number & ((1 << LAUNCH_SHIFT) - 1))
}

/// Knowledge of one block.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The block's [number](block_number).
    pub(crate) block: u64,
    /// All accesses with a smaller epoch are known: the epoch of the block's last barrier before the publication.
    pub(crate) below: u32,
    /// Knowledge of single threads beyond that.
    pub(crate) clock: Arc<BlockClock>,
}

impl Known {
    fn includes(&self, thread: u16, epoch: u32) -> bool {
        epoch < self.below || self.clock.includes(thread, epoch)
    }

    /// Whether this includes all of `other`, of the same block, by the barriers alone.
    fn covers(&self, other: &Self) -> bool {
        other.below <= self.below && other.clock.is_before(self.below)
    }

    fn merged(&self, other: &Self) -> Self {
        Self {
            block: self.block,
            below: self.below.max(other.below),
            clock: Arc::new(self.clock.merged(&other.clock)),
        }
    }
}

type Run = Arc<[Arc<Known>]>;

/// Knowledge of all blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct GridClock {
    /// Sorted by block within a run; a block may be in several.
    runs: Vec<Run>,
    /// Bit `l`: everything that launch `l` has done is known.
    launches: u64,
}

impl GridClock {
    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.launches == 0
    }

    /// Whether the accesses of `thread` of `block` at `epoch` are known.
    pub(crate) fn ordered(&self, block: u64, thread: u16, epoch: u32) -> bool {
        if self.launches != 0 && self.launches >> launch_and_block(block).0 & 1 == 1 {
            return true;
        }
        self.of_block(block).any(|known| known.includes(thread, epoch))
    }

    /// Knowledge of `block`, in parts.
    pub(crate) fn of_block(&self, block: u64) -> impl Iterator<Item = &Known> {
        self.runs.iter().filter_map(move |run| {
            let index = run.binary_search_by_key(&block, |known| known.block).ok()?;
            Some(&*run[index])
        })
    }

    /// Adds knowledge of one block.
    pub(crate) fn insert(&mut self, known: Known) {
        self.runs.push(Arc::new([Arc::new(known)]));
        self.compact();
    }

    /// Adds all that a launch has done.
    pub(crate) fn insert_launch(&mut self, launch: u32) {
        self.launches |= 1 << launch;
    }

    /// Adds the knowledge of `other`.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.launches |= other.launches;
        let mine = self.runs.len();
        for run in &other.runs {
            if !self.runs[..mine].iter().any(|own| Arc::ptr_eq(own, run)) {
                self.runs.push(run.clone());
            }
        }
        if mine > 0 && self.runs.len() > mine {
            self.runs.sort_by_key(|run| std::cmp::Reverse(run.len()));
            self.compact();
        }
    }

    /// Restores decreasing lengths, from the end of the list on.
    fn compact(&mut self) {
        let mut sorted = Vec::with_capacity(self.runs.len());
        for mut run in self.runs.drain(..) {
            while let Some(last) = sorted.pop_if(|last: &mut Run| last.len() <= run.len()) {
                run = merge_runs(&last, &run);
            }
            sorted.push(run);
        }
        self.runs = sorted;
    }
}

fn merge_runs(a: &[Arc<Known>], b: &[Arc<Known>]) -> Run {
    let mut merged: Vec<Arc<Known>> = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let next = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if x.block == y.block => {
                // Most often one is the later state of the other.
                let both = if Arc::ptr_eq(x, y) || x.covers(y) {
                    Arc::clone(x)
                } else if y.covers(x) {
                    Arc::clone(y)
                } else {
                    Arc::new(x.merged(y))
                };
                a.next();
                b.next();
                both
            }
            (Some(x), Some(y)) if x.block > y.block => {
                let next = Arc::clone(y);
                b.next();
                next
            }
            (Some(x), _) => {
                let next = Arc::clone(x);
                a.next();
                next
            }
            (None, Some(y)) => {
                let next = Arc::clone(y);
                b.next();
                next
            }
            (None, None) => return merged.into(),
        };
        merged.push(next);
    }
}

/// Knowledge about other blocks, for each thread of the block that a worker runs.
#[derive(Default)]
pub(crate) struct GridKnowledge {
    /// Knowledge that all threads share.
    common: GridClock,
    /// By thread, its knowledge including `common`; empty where there is no more than `common`. Threads beyond the end
    /// have no more either.
    own: Vec<GridClock>,
}

impl GridKnowledge {
    /// Nothing is known.
    pub(crate) fn clear(&mut self) {
        self.common = GridClock::default();
        self.own.clear();
    }

    /// The knowledge of `thread`.
    pub(crate) fn of(&self, thread: u16) -> &GridClock {
        match self.own.get(usize::from(thread)) {
            Some(own) if !own.is_empty() => own,
            _ => &self.common,
        }
    }

    /// `thread` learns `clock`.
    pub(crate) fn acquire(&mut self, thread: u16, clock: &GridClock) {
        if clock.is_empty() {
            return;
        }
        let thread = usize::from(thread);
        if self.own.len() <= thread {
            self.own.resize(thread + 1, GridClock::default());
        }
        let own = &mut self.own[thread];
        if own.is_empty() {
            *own = self.common.clone();
        }
        own.merge(clock);
    }

    /// All that any thread knows.
    pub(crate) fn of_all(&self) -> GridClock {
        let mut all = self.common.clone();
        self.own.iter().for_each(|own| all.merge(own));
        all
    }

    /// Completes a barrier of some threads: each acquires the others' knowledge.
    pub(crate) fn join(&mut self, threads: impl Iterator<Item = u16> + Clone) {
        if self.own.is_empty() {
            return;
        }
        let mut all = GridClock::default();
        for thread in threads.clone() {
            all.merge(self.of(thread));
        }
        for thread in threads {
            self.acquire(thread, &all);
        }
    }

    /// Completes a barrier of the block.
    pub(crate) fn barrier(&mut self) {
        for own in self.own.drain(..) {
            self.common.merge(&own);
        }
    }
}
