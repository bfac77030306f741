//! Order among the accesses of one block's threads.
//!
//! Every access has an *epoch*: a number from one counter of the worker that runs the block, which never decreases.
//! Almost all order in a kernel comes from barriers of the whole block, and for those one comparison is enough: an
//! access with an epoch from before the last barrier is ordered before everything after it. Finer order - a barrier of
//! a warp, an atomic that publishes its thread's accesses - is kept in vector clocks: for each thread, the last epoch
//! of every other thread that it knows of. A thread's own epoch advances when others may learn of it, so that its later
//! accesses differ from those that they know.
//!
//! This is FastTrack's representation ("FastTrack: Efficient and Precise Dynamic Race Detection", Flanagan and Freund,
//! PLDI 2009; epochs where they suffice, vectors where not), with two changes: barriers order through a common epoch,
//! and epochs grow over blocks, so that neither vectors nor shadow memory are ever cleared: entries of earlier blocks
//! are smaller than any current epoch.
//!
//! *Agents* are pseudo-threads with clocks of their own: asynchronous operations that run beside their thread. Their
//! numbers follow those of the threads, from a multiple of 32 on. A barrier of the block does not wait for them: see
//! [`Agents`](super::agents::Agents).
//!
//! Memory: 4 bytes per pair of threads (4 MiB for 1,024 threads), from the first finer synchronization on.

use super::LANES;

/// The order among the threads of the block that a worker runs.
pub(crate) struct Clocks {
    /// The last epoch in use.
    counter: u32,
    /// No epoch is left: everything counts as ordered.
    exhausted: bool,
    block_start: u32,
    interval_start: u32,
    /// Something finer than a barrier happened in this interval.
    fine: bool,
    /// The epoch of each thread, unless the interval began later.
    own: Vec<u32>,
    /// `known[t * width + e]`: the last epoch of thread `e` that `t` knows of; empty until first used.
    known: Vec<u32>,
    /// Entries of a row of `known`: the threads and the agents, each rounded up to whole warps.
    width: usize,
    /// The part of `width` that is of threads.
    thread_width: usize,
    /// Which warps' entries of a row of `known` may be of this interval; valid if the interval beside it is this one.
    columns: Vec<(u32, u64)>,
}

/// A thread's knowledge of its block at a publication: for some warps, the last epoch of each thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockClock {
    /// Bit `w`: there is an entry for warp `w`.
    warps: u64,
    /// One entry for each bit of `warps`, in order.
    epochs: Vec<[u32; LANES]>,
}

impl Clocks {
    /// A counter at 0 and no block.
    pub(crate) fn new() -> Self {
        Self {
            counter: 0,
            exhausted: false,
            block_start: 0,
            interval_start: 0,
            fine: false,
            own: Vec::new(),
            known: Vec::new(),
            width: 0,
            thread_width: 0,
            columns: Vec::new(),
        }
    }

    /// Starts a block of at most 1,024 threads. Its accesses are not ordered with those of earlier blocks.
    pub(crate) fn start_block(&mut self, threads: usize) {
        debug_assert!(threads <= LANES * 32, "a block has at most 1,024 threads");
        self.own.clear();
        self.own.resize(threads, 0);
        self.columns.clear();
        self.columns.resize(threads, (0, 0));
        let width = threads.next_multiple_of(LANES);
        if self.thread_width != width {
            self.thread_width = width;
            self.width = width;
            self.known = Vec::new();
        }
        self.barrier();
        self.block_start = self.interval_start;
    }

    /// The first epoch of the block. Smaller ones are from blocks before it.
    #[inline]
    pub(crate) fn block_start(&self) -> u32 {
        self.block_start
    }

    /// The first epoch since the last barrier. Smaller ones are ordered before everything from now on.
    #[inline]
    pub(crate) fn interval_start(&self) -> u32 {
        self.interval_start
    }

    /// The epoch of the next access of `thread`.
    #[inline]
    pub(crate) fn epoch(&self, thread: u16) -> u32 {
        self.own[usize::from(thread)].max(self.interval_start)
    }

    /// Whether two different threads can be ordered within the interval at all.
    #[inline]
    pub(crate) fn is_fine(&self) -> bool {
        self.fine
    }

    /// Whether an access of this block, by `earlier_thread` at `earlier_epoch`, is ordered before the next access of
    /// `thread`.
    #[inline]
    pub(crate) fn ordered(&self, earlier_thread: u16, earlier_epoch: u32, thread: u16) -> bool {
        earlier_thread == thread
            || earlier_epoch < self.interval_start
            || self.fine && self.knows(thread, earlier_thread, earlier_epoch)
    }

    fn knows(&self, thread: u16, earlier_thread: u16, earlier_epoch: u32) -> bool {
        let entry = usize::from(thread) * self.width + usize::from(earlier_thread);
        self.exhausted || self.known.get(entry).is_some_and(|&known| known >= earlier_epoch)
    }

    /// Completes a barrier of the block: orders everything before with everything after.
    pub(crate) fn barrier(&mut self) {
        self.interval_start = self.tick();
        self.fine = self.exhausted;
    }

    /// Completes a barrier of some threads, each given once: orders everything that they did before with everything
    /// that they do after.
    pub(crate) fn join(&mut self, threads: impl Iterator<Item = u16> + Clone) {
        let mut columns = 0;
        self.ensure_rows();
        for thread in threads.clone() {
            self.know_self(thread);
            columns |= self.columns_of(thread);
        }
        for column in bits(columns) {
            let mut most = [0; LANES];
            for thread in threads.clone() {
                raise(&mut most, self.entry(thread, column));
            }
            for thread in threads.clone() {
                *self.entry_mut(thread, column) = most;
            }
        }
        let epoch = self.tick();
        for thread in threads {
            self.own[usize::from(thread)] = epoch;
            self.columns[usize::from(thread)] = (self.interval_start, columns);
        }
        self.fine = true;
    }

    /// The knowledge of `thread`, itself included. Its later accesses are not part of it.
    pub(crate) fn release(&mut self, thread: u16) -> BlockClock {
        let clock = if self.known.is_empty() {
            let mut epochs = [0; LANES];
            epochs[usize::from(thread) % LANES] = self.epoch(thread);
            BlockClock {
                warps: 1 << warp(thread),
                epochs: vec![epochs],
            }
        } else {
            self.know_self(thread);
            let warps = self.columns_of(thread);
            BlockClock {
                warps,
                epochs: bits(warps).map(|column| *self.entry(thread, column)).collect(),
            }
        };
        let epoch = self.tick();
        self.own[usize::from(thread)] = epoch;
        clock
    }

    /// Adds `clock`, of the same block, to the knowledge of `thread`.
    pub(crate) fn acquire(&mut self, thread: u16, clock: &BlockClock) {
        if clock.warps == 0 {
            return;
        }
        self.ensure_rows();
        let columns = self.columns_of(thread) | clock.warps;
        for (column, epochs) in bits(clock.warps).zip(&clock.epochs) {
            raise(self.entry_mut(thread, column), epochs);
        }
        self.columns[usize::from(thread)] = (self.interval_start, columns);
        self.fine = true;
    }

    /// The number of the first agent.
    pub(crate) fn first_agent(&self) -> u16 {
        self.thread_width as u16
    }

    /// Starts `agent` with the knowledge that all of `parents` have in common, each of them itself included. Their
    /// later accesses are not part of it. Returns its epoch.
    pub(crate) fn fork(&mut self, agent: u16, parents: impl Iterator<Item = u16>) -> u32 {
        let common = parents
            .map(|parent| self.release(parent))
            .reduce(|common, next| common.intersected(&next))
            .unwrap_or_default();
        let needed = usize::from(agent) + 1;
        if self.own.len() < needed {
            self.own.resize(needed, 0);
            self.columns.resize(needed, (0, 0));
        }
        self.widen(needed.next_multiple_of(LANES));
        self.acquire(agent, &common);
        self.advance_epoch(agent)
    }

    /// Gives the agent's or thread's later accesses a new epoch, and returns it.
    pub(crate) fn advance_epoch(&mut self, agent: u16) -> u32 {
        let epoch = self.tick();
        self.own[usize::from(agent)] = epoch;
        epoch
    }

    /// Makes `epoch`, which [`Clocks::advance_epoch`] has returned for it, the one of the agent's later accesses.
    pub(crate) fn resume_epoch(&mut self, agent: u16, epoch: u32) {
        self.own[usize::from(agent)] = epoch;
    }

    /// Calls `look` on behalf of another block, which knows only the barriers before `below` of this one: later ones
    /// order nothing for it.
    pub(crate) fn as_remote<R>(&mut self, below: Option<u32>, look: impl FnOnce(&Self) -> R) -> R {
        let Some(below) = below else { return look(self) };
        let own = (self.interval_start, self.fine);
        (self.interval_start, self.fine) = (below.min(own.0), true);
        let result = look(self);
        (self.interval_start, self.fine) = own;
        result
    }

    /// Adds the accesses of `agent` up to `epoch` to the knowledge of `thread`.
    pub(crate) fn acquire_agent(&mut self, thread: u16, agent: u16, epoch: u32) {
        let mut epochs = [0; LANES];
        epochs[usize::from(agent) % LANES] = epoch;
        let warps = 1 << warp(agent);
        let epochs = vec![epochs];
        self.acquire(thread, &BlockClock { warps, epochs });
    }

    /// Gives rows of `known` at least `width` entries.
    fn widen(&mut self, width: usize) {
        if width <= self.width {
            return;
        }
        if !self.known.is_empty() {
            let mut known = vec![0; width * width];
            for (wide, row) in known.chunks_exact_mut(width).zip(self.known.chunks_exact(self.width)) {
                wide[..row.len()].copy_from_slice(row);
            }
            self.known = known;
        }
        self.width = width;
    }

    /// Whether most epochs are used up: then, between two blocks, everything that holds epochs should be replaced, and
    /// this by [`Clocks::new`]. A block that uses up the last ones is not checked further.
    pub(crate) fn needs_reset(&self) -> bool {
        self.counter > u32::MAX / 2
    }

    fn tick(&mut self) -> u32 {
        if self.counter == u32::MAX {
            self.exhausted = true;
            self.fine = true;
        } else {
            self.counter += 1;
        }
        self.counter
    }

    fn ensure_rows(&mut self) {
        if self.known.is_empty() {
            self.known = vec![0; self.width * self.width];
        }
    }

    /// Warps of which `thread` may know something of this interval, always its own.
    fn columns_of(&self, thread: u16) -> u64 {
        let (interval, columns) = self.columns[usize::from(thread)];
        let known = if interval == self.interval_start { columns } else { 0 };
        known | 1 << warp(thread)
    }

    fn know_self(&mut self, thread: u16) {
        let epoch = self.epoch(thread);
        self.known[usize::from(thread) * self.width + usize::from(thread)] = epoch;
    }

    fn entry(&self, thread: u16, column: usize) -> &[u32; LANES] {
        let row = usize::from(thread) * self.width;
        &self.known[row..row + self.width].as_chunks().0[column]
    }

    fn entry_mut(&mut self, thread: u16, column: usize) -> &mut [u32; LANES] {
        let row = usize::from(thread) * self.width;
        &mut self.known[row..row + self.width].as_chunks_mut().0[column]
    }

    #[cfg(test)]
    pub(super) fn skip_to(&mut self, counter: u32) {
        self.counter = counter;
    }
}

impl BlockClock {
    /// Whether it includes the accesses of `thread` at `epoch`.
    pub(crate) fn includes(&self, thread: u16, epoch: u32) -> bool {
        let bit = 1 << warp(thread);
        if self.warps & bit == 0 {
            return false;
        }
        let entry = (self.warps & (bit - 1)).count_ones() as usize;
        self.epochs[entry][usize::from(thread) % LANES] >= epoch
    }

    /// Whether it includes only accesses at smaller epochs than `epoch`.
    pub(crate) fn is_before(&self, epoch: u32) -> bool {
        self.epochs.iter().flatten().all(|&known| known < epoch)
    }

    /// The intersection of two clocks of the same block.
    pub(crate) fn intersected(&self, other: &Self) -> Self {
        let (mut mine, mut theirs) = (self.epochs.iter(), other.epochs.iter());
        let mut common = Self::default();
        for column in bits(self.warps | other.warps) {
            let next = |warps: u64, entries: &mut std::slice::Iter<'_, [u32; LANES]>| {
                (warps >> column & 1 == 1).then(|| entries.next()).flatten().copied()
            };
            if let (Some(a), Some(b)) = (next(self.warps, &mut mine), next(other.warps, &mut theirs)) {
                common.warps |= 1 << column;
                common.epochs.push(std::array::from_fn(|i| a[i].min(b[i])));
            }
        }
        common
    }

    /// The union of two clocks of the same block.
    pub(crate) fn merged(&self, other: &Self) -> Self {
        let warps = self.warps | other.warps;
        let (mut mine, mut theirs) = (self.epochs.iter(), other.epochs.iter());
        let entry = |column: usize| {
            let mut entry = [0; LANES];
            for (warps, entries) in [(self.warps, &mut mine), (other.warps, &mut theirs)] {
                if warps >> column & 1 == 1
                    && let Some(known) = entries.next()
                {
                    raise(&mut entry, known);
                }
            }
            entry
        };
        Self {
            warps,
            epochs: bits(warps).map(entry).collect(),
        }
    }
}

fn warp(thread: u16) -> u32 {
    u32::from(thread) / LANES as u32
}

fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(bit)
    })
}

fn raise(epochs: &mut [u32; LANES], by: &[u32; LANES]) {
    for (epoch, &by) in epochs.iter_mut().zip(by) {
        *epoch = (*epoch).max(by);
    }
}
