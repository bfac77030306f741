//! Who accessed each word of a buffer in device memory last, in one run.
//!
//! The same state as in [`shadow`](super::shadow), with the block added: for each cell the last plain write, two plain
//! reads, and where there are any, two atomic loads and two atomic writes. Blocks are not ordered but by atomics, so
//! two reads of different blocks are kept if there are any: whoever writes then races with one of them.
//!
//! # What is found
//!
//! No race is reported that is not one. Without order between blocks, and with barriers of blocks and whole warps
//! within them, the first race on each cell is always found. With finer order a race can be missed as in shared memory;
//! and where atomics order blocks, one with a read of a third block when both reads that were kept are ordered. As
//! there, what a race was reported with is not reported again.
//!
//! # Threads
//!
//! Workers share a shadow. Chunks of 4 KiB of the buffer come into being when first accessed; each has its lock. The
//! most frequent access of all, another read of what nobody writes and blocks have read before, takes no lock: two
//! reads by different blocks stand there already, and this one adds nothing. A write that comes at the same time either
//! is seen, or finds those two.
//!
//! # Memory
//!
//! For each byte of a chunk that is read, 8 bytes; that is written, 4; with atomics, 16 more. From the first access on
//! that is not made of whole words of 4 bytes, as many for each cell of 2 or 1 bytes, in that chunk.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::{LANES, Op};

const CHUNK_SHIFT: u32 = 12;
const CHUNK_BYTES: usize = 1 << CHUNK_SHIFT;
/// Cells are at most this wide: `1 << 2` bytes.
const WIDEST_SHIFT: u8 = 2;

/// An access to device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GlobalAccess {
    /// Linear index of the block. Blocks from 2^48 - 2 on are not told apart.
    pub(crate) block: u64,
    /// The thread within the block.
    pub(crate) thread: u16,
    /// The thread's stamp, [`Clocks::stamp`](super::clock::Clocks::stamp).
    pub(crate) stamp: u32,
    /// What it does.
    pub(crate) op: Op,
    /// Its site, in the numbering of the caller.
    pub(crate) site: u32,
    /// Whether the thread knows anything of other blocks at all: if not, `other_block_ordered` would always say no.
    pub(crate) knows_blocks: bool,
}

/// An earlier access that nothing orders with the one at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GlobalConflict {
    /// Its block.
    pub(crate) block: u64,
    /// Its thread.
    pub(crate) thread: u16,
    /// What it did.
    pub(crate) op: Op,
    /// Its site.
    pub(crate) site: u32,
}

/// The shadow of one buffer.
pub(crate) struct GlobalShadow {
    chunks: Box<[OnceLock<Box<Chunk>>]>,
}

#[derive(Default)]
struct Chunk {
    /// Held while cells change.
    lock: Mutex<()>,
    /// Cells are `1 << (2 - level)` bytes wide.
    level: AtomicU8,
    levels: [Cells; 1 + WIDEST_SHIFT as usize],
}

/// The cells of a chunk, all of one width.
#[derive(Default)]
struct Cells {
    writes: OnceLock<Box<[Slot]>>,
    reads: OnceLock<Box<[[Slot; 2]]>>,
    atomics: OnceLock<Box<[AtomicSlots]>>,
}

#[derive(Default)]
struct AtomicSlots {
    loads: [Slot; 2],
    writes: [Slot; 2],
}

/// A [`Record`] in memory that several workers look at.
#[derive(Default)]
struct Slot {
    who: AtomicU64,
    what: AtomicU64,
}

/// What is known of an access; all 0 where there is none.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Record {
    /// `(block + 1) << 16 | op << 12 | thread`.
    who: u64,
    /// `stamp << 32 | site`.
    what: u64,
}

impl GlobalShadow {
    /// Of a buffer of `bytes` bytes that nobody has accessed.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            chunks: (0..bytes.div_ceil(CHUNK_BYTES)).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Looks whether an access to `bytes` bytes from `offset` on races, and remembers it.
    ///
    /// `same_block_ordered(thread, stamp)` and `other_block_ordered(block, thread, stamp)` tell whether an earlier
    /// access is ordered before this one. Where it races in several cells, the first one is told. Bytes outside the
    /// buffer have no cells.
    #[inline]
    pub(crate) fn access(
        &self,
        who: GlobalAccess,
        offset: usize,
        bytes: usize,
        same_block_ordered: impl Fn(u16, u32) -> bool,
        other_block_ordered: impl Fn(u64, u16, u32) -> bool,
    ) -> Option<GlobalConflict> {
        if who.op == Op::Read && !who.knows_blocks && self.is_old_news(who.block, offset, bytes) {
            return None;
        }
        self.access_cells(who, offset, bytes, same_block_ordered, other_block_ordered)
    }

    /// [`Self::access`] in general.
    #[inline(never)]
    fn access_cells(
        &self,
        who: GlobalAccess,
        offset: usize,
        bytes: usize,
        same_block_ordered: impl Fn(u16, u32) -> bool,
        other_block_ordered: impl Fn(u64, u16, u32) -> bool,
    ) -> Option<GlobalConflict> {
        let ordered = |earlier: Record| {
            if earlier.who == 0 {
                true
            } else if earlier.is_of_block(who.block) {
                earlier.thread() == who.thread || same_block_ordered(earlier.thread(), earlier.stamp())
            } else {
                other_block_ordered(earlier.block(), earlier.thread(), earlier.stamp())
            }
        };
        let end = offset + bytes;
        let mut found = None;
        for index in offset >> CHUNK_SHIFT..end.div_ceil(CHUNK_BYTES).min(self.chunks.len()) {
            let chunk = self.chunks[index].get_or_init(Box::default);
            let start = index << CHUNK_SHIFT;
            let (from, to) = (offset.max(start) - start, (end - start).min(CHUNK_BYTES));
            let conflict = chunk.access(who, from, to, &ordered);
            found = found.or(conflict);
        }
        found
    }

    /// The last plain write to the byte at `offset`, if there was one.
    #[cold]
    pub(crate) fn last_write(&self, offset: usize) -> Option<GlobalConflict> {
        let chunk = self.chunks.get(offset >> CHUNK_SHIFT)?.get()?;
        let _guard = chunk.lock.lock();
        let level = chunk.level.load(Ordering::Relaxed);
        let cell = (offset & (CHUNK_BYTES - 1)) >> (WIDEST_SHIFT - level);
        let write = chunk.levels[usize::from(level)].writes.get()?[cell].load();
        // A race may have been reported with it, which takes the place of what it did.
        (write.who != 0).then(|| GlobalConflict {
            op: Op::Write,
            ..write.conflict()
        })
    }

    /// Whether a plain read by `block` adds nothing: nobody has ever written these cells, and two other blocks have
    /// read each.
    #[inline]
    fn is_old_news(&self, block: u64, offset: usize, bytes: usize) -> bool {
        let Some(chunk) = self.chunks.get(offset >> CHUNK_SHIFT).and_then(OnceLock::get) else {
            return false;
        };
        // A level that was left meanwhile still says that two blocks have read before.
        let level = chunk.level.load(Ordering::Acquire);
        let shift = WIDEST_SHIFT - level;
        let cells = &chunk.levels[usize::from(level)];
        let offset = offset & (CHUNK_BYTES - 1);
        let range = offset >> shift..(offset + bytes).div_ceil(1 << shift);
        let Some(reads) = cells.reads.get().and_then(|reads| reads.get(range.clone())) else {
            return false;
        };
        // The reads are looked at first: if they are from after a write, that write is seen below.
        let block = Record::block_bits(block);
        let two_blocks = |[a, b]: &[Slot; 2]| {
            let (a, b) = (a.who.load(Ordering::Acquire) >> 16, b.who.load(Ordering::Acquire) >> 16);
            a != 0 && b != 0 && a != b && a != block && b != block
        };
        if !reads.iter().all(two_blocks) {
            return false;
        }
        let untouched = |slot: &Slot| slot.who.load(Ordering::Acquire) == 0;
        let unwritten = cells
            .writes
            .get()
            .is_none_or(|writes| writes[range.clone()].iter().all(untouched));
        unwritten
            && cells
                .atomics
                .get()
                .is_none_or(|atomics| atomics[range].iter().all(|slots| slots.writes.iter().all(untouched)))
    }
}

impl Chunk {
    /// [`GlobalShadow::access`] to the bytes `from..to` of the chunk.
    fn access(
        &self,
        who: GlobalAccess,
        from: usize,
        to: usize,
        ordered: &impl Fn(Record) -> bool,
    ) -> Option<GlobalConflict> {
        let _guard = self.lock.lock();
        // Only holders of the lock change the level.
        let needed = WIDEST_SHIFT - ((from | to).trailing_zeros() as u8).min(WIDEST_SHIFT);
        let mut level = self.level.load(Ordering::Relaxed);
        if level < needed {
            self.refine(level, needed);
            level = needed;
        }
        let shift = WIDEST_SHIFT - level;
        let cells = &self.levels[usize::from(level)];
        let count = CHUNK_BYTES >> shift;
        let mut found = None;
        for index in from >> shift..to >> shift {
            let conflict = cells.judge(who, index, count, ordered);
            found = found.or(conflict);
        }
        found.map(Record::conflict)
    }

    /// Goes from one level to a finer one; what was known of a cell holds for its parts.
    #[cold]
    fn refine(&self, from: u8, to: u8) {
        let (coarse, fine) = (&self.levels[usize::from(from)], &self.levels[usize::from(to)]);
        let parts = 1 << (to - from);
        if let Some(writes) = coarse.writes.get() {
            fine.writes
                .get_or_init(|| writes.iter().flat_map(|slot| (0..parts).map(|_| slot.copy())).collect());
        }
        if let Some(reads) = coarse.reads.get() {
            fine.reads.get_or_init(|| {
                reads
                    .iter()
                    .flat_map(|slots| (0..parts).map(|_| copies(slots)))
                    .collect()
            });
        }
        if let Some(atomics) = coarse.atomics.get() {
            let copy = |slots: &AtomicSlots| AtomicSlots {
                loads: copies(&slots.loads),
                writes: copies(&slots.writes),
            };
            fine.atomics.get_or_init(|| {
                atomics
                    .iter()
                    .flat_map(|slots| (0..parts).map(move |_| copy(slots)))
                    .collect()
            });
        }
        self.level.store(to, Ordering::Release);
    }
}

fn copies([a, b]: &[Slot; 2]) -> [Slot; 2] {
    [a.copy(), b.copy()]
}

fn fresh<T: Default>(count: usize) -> Box<[T]> {
    (0..count).map(|_| T::default()).collect()
}

impl Cells {
    /// Looks whether an access races in cell `index` of `count`, and remembers it. The chunk's lock is held.
    fn judge(
        &self,
        who: GlobalAccess,
        index: usize,
        count: usize,
        ordered: &impl Fn(Record) -> bool,
    ) -> Option<Record> {
        let mut found: Option<Record> = None;
        let races = |earlier: Record| {
            earlier.who != 0 && !earlier.is_settled() && who.op.conflicts_with(earlier.op()) && !ordered(earlier)
        };
        // What a race is reported with is not reported again.
        let mut check_writes = |slots: &[Slot]| {
            for slot in slots {
                let write = slot.load();
                if races(write) {
                    found = found.or(Some(write));
                    slot.store(write.settled());
                }
            }
        };
        if let Some(writes) = self.writes.get() {
            check_writes(&writes[index..=index]);
        }
        let atomics = self.atomics.get().map(|atomics| &atomics[index]);
        if let Some(atomics) = atomics {
            check_writes(&atomics.writes);
        }
        let mut check_reads = |slots: &[Slot]| {
            for slot in slots {
                let read = slot.load();
                if races(read) {
                    found = found.or(Some(read));
                    slot.store(Record::default());
                }
            }
        };
        let reads = self.reads.get().map(|reads| &reads[index]);
        if let Some(reads) = reads {
            check_reads(reads);
        }
        if let Some(atomics) = atomics {
            check_reads(&atomics.loads);
        }

        let record = Record::new(who);
        match who.op {
            Op::Read => keep(&self.reads.get_or_init(|| fresh(count))[index], record, ordered),
            Op::AtomicLoad => keep(&self.atomics.get_or_init(|| fresh(count))[index].loads, record, ordered),
            Op::AtomicStore | Op::AtomicUpdate => {
                keep(
                    &self.atomics.get_or_init(|| fresh(count))[index].writes,
                    record,
                    ordered,
                );
            }
            Op::Write => {
                // The write comes first: see `is_old_news`.
                self.writes.get_or_init(|| fresh(count))[index].store(record);
                for slot in reads.into_iter().flatten() {
                    slot.store(Record::default());
                }
                if let Some(atomics) = atomics {
                    atomics
                        .loads
                        .iter()
                        .chain(&atomics.writes)
                        .for_each(|slot| slot.store(Record::default()));
                }
            }
        }
        found
    }
}

/// Remembers an access among two of its kind: see [`shadow`](super::shadow), with blocks farther apart than warps.
fn keep([a, b]: &[Slot; 2], record: Record, ordered: &impl Fn(Record) -> bool) {
    let replaces = |earlier: Record| earlier.is_settled() || ordered(earlier);
    let (first, second) = (a.load(), b.load());
    match (replaces(first), replaces(second)) {
        (true, true) => {
            a.store(record);
            b.store(Record::default());
        }
        (true, false) => a.store(record),
        (false, true) => b.store(record),
        (false, false) if first.distance(record) > first.distance(second) => b.store(record),
        (false, false) => {}
    }
}

impl Slot {
    fn load(&self) -> Record {
        Record {
            who: self.who.load(Ordering::Relaxed),
            what: self.what.load(Ordering::Relaxed),
        }
    }

    fn store(&self, record: Record) {
        self.what.store(record.what, Ordering::Relaxed);
        self.who.store(record.who, Ordering::Release);
    }

    fn copy(&self) -> Self {
        let Record { who, what } = self.load();
        Self {
            who: AtomicU64::new(who),
            what: AtomicU64::new(what),
        }
    }
}

impl Record {
    /// Instead of an [`Op`]: a write that a race was reported with.
    const SETTLED: u64 = 15;

    fn new(access: GlobalAccess) -> Self {
        debug_assert!(access.thread < 1 << 12, "thread {}", access.thread);
        Self {
            who: Self::block_bits(access.block) << 16 | (access.op as u64) << 12 | u64::from(access.thread),
            what: u64::from(access.stamp) << 32 | u64::from(access.site),
        }
    }

    #[inline]
    fn block_bits(block: u64) -> u64 {
        block.saturating_add(1).min((1 << 48) - 1)
    }

    fn is_of_block(self, block: u64) -> bool {
        self.who >> 16 == Self::block_bits(block)
    }

    fn block(self) -> u64 {
        (self.who >> 16).saturating_sub(1)
    }

    fn thread(self) -> u16 {
        self.who as u16 & 0xfff
    }

    fn stamp(self) -> u32 {
        (self.what >> 32) as u32
    }

    fn op(self) -> Op {
        Op::from_code(self.who >> 12 & 15)
    }

    fn is_settled(self) -> bool {
        self.who >> 12 & 15 == Self::SETTLED
    }

    fn settled(self) -> Self {
        Self {
            who: self.who | Self::SETTLED << 12,
            ..self
        }
    }

    /// 2 for different blocks, 1 for different warps of a block, 0 for the same warp.
    fn distance(self, other: Self) -> u8 {
        let other_block = self.who >> 16 != other.who >> 16;
        let other_warp = self.thread() / LANES as u16 != other.thread() / LANES as u16;
        if other_block { 2 } else { other_warp.into() }
    }

    fn conflict(self) -> GlobalConflict {
        GlobalConflict {
            block: self.block(),
            thread: self.thread(),
            op: self.op(),
            site: self.what as u32,
        }
    }
}
