//! What a block's threads know of other blocks: the order that device-wide atomics and fences make.
//!
//! [`GridClock`] is a set of [`Known`]s, one for each block that something is known of. Clocks are handed on along
//! chains of atomics - a counter that every block raises, a flag that each block passes to the next - and each link
//! keeps its own version, so versions share what they have in common: a clock is a list of immutable, sorted runs of
//! decreasing length, as in a log-structured merge tree. Copying one costs a reference for each of its at most 64 runs;
//! adding a block costs O(log n) on average; a question, a binary search in each run.

use std::sync::Arc;

use super::clock::BlockClock;

/// What is known of one block.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The block's linear index.
    pub(crate) block: u64,
    /// Everything with a smaller stamp is known: the block's last barrier before the publication.
    pub(crate) below: u32,
    /// What is known of single threads beyond that.
    pub(crate) clock: Arc<BlockClock>,
}

impl Known {
    fn includes(&self, thread: u16, stamp: u32) -> bool {
        stamp < self.below || self.clock.includes(thread, stamp)
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

/// What is known of all blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct GridClock {
    /// Sorted by block within a run; a block may be in several.
    runs: Vec<Run>,
}

impl GridClock {
    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Whether what `thread` of `block` did at `stamp` is known.
    pub(crate) fn ordered(&self, block: u64, thread: u16, stamp: u32) -> bool {
        self.of_block(block).any(|known| known.includes(thread, stamp))
    }

    /// What is known of `block`, in parts.
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

    /// Adds all that `other` knows.
    pub(crate) fn merge(&mut self, other: &Self) {
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
                let both = if Arc::ptr_eq(x, y) {
                    Arc::clone(x)
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

/// What each thread of the block that a worker runs knows of other blocks.
#[derive(Default)]
pub(crate) struct GridKnowledge {
    /// What all threads know.
    common: GridClock,
    /// What single threads know beyond that, `common` included; empty where it is no more, and shorter than the block
    /// if nobody needed it.
    own: Vec<GridClock>,
}

impl GridKnowledge {
    /// Nothing is known.
    pub(crate) fn clear(&mut self) {
        self.common = GridClock::default();
        self.own.clear();
    }

    /// What `thread` knows.
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

    /// Some threads have met: each learns what the others know.
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

    /// All threads of the block have met.
    pub(crate) fn barrier(&mut self) {
        for own in self.own.drain(..) {
            self.common.merge(&own);
        }
    }
}
