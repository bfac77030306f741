//! The last accesses of one run to each word of a buffer in global memory.
//!
//! The same state as in [`shadow`](super::shadow), with the block added: for each cell the last plain write, two plain
//! reads, and where there are any, two atomic loads and two atomic writes. Only atomics order blocks, so two reads of
//! different blocks are kept if there are any: a later write races with one of them.
//!
//! # Detected faults
//!
//! There are no false positives. Without order between blocks, and with barriers of blocks and whole warps within them,
//! the first race on each cell is always found. With finer order a race can be missed as in shared memory; and where
//! atomics order blocks, one with a read of a third block when both kept reads are ordered. As there, a record is
//! reported only once.
//!
//! # Threads
//!
//! Workers share a shadow. Chunks of 4 KiB of the buffer are allocated when first accessed; each has a lock. The most
//! frequent access, another read of words that are never written, takes no lock: two reads by different blocks are
//! recorded, and this one adds nothing. A concurrent write either is seen, or finds those two.
//!
//! # Memory
//!
//! For each byte of a chunk that is read or written half a byte, 1 if two threads read, as long as all accesses are
//! plain ones to whole words of 4 bytes and few blocks, barriers and lines are involved ([`compact`]). Otherwise, for
//! each byte that is read, 8 bytes; that is written, 4; with atomics, 16 more. From the first access on that is not
//! made of whole words, as many for each cell of 2 or 1 bytes, in that chunk.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::Op;
use super::tensor_maps::MapWrite;

mod compact;
mod record;

use compact::Compact;
use record::Record;

const CHUNK_SHIFT: u32 = 12;
const CHUNK_BYTES: usize = 1 << CHUNK_SHIFT;
/// Cells are at most this wide: `1 << 2` bytes.
const WIDEST_SHIFT: u8 = 2;

/// An access to device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GlobalAccess {
    /// [Number](super::grid_clock::block_number) of the block. Blocks from 2^48 - 2 on are not distinguished.
    pub(crate) block: u64,
    /// The thread within the block.
    pub(crate) thread: u16,
    /// The thread's epoch, [`Clocks::epoch`](super::clock::Clocks::epoch).
    pub(crate) epoch: u32,
    /// Its operation.
    pub(crate) op: Op,
    /// Its location, in the numbering of the caller.
    pub(crate) location: u32,
    /// Whether the thread knows anything of other blocks at all: if not, `other_block_ordered` would always say no.
    pub(crate) knows_blocks: bool,
}

/// An earlier access that is not ordered with the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GlobalConflict {
    /// Its block.
    pub(crate) block: u64,
    /// Its thread.
    pub(crate) thread: u16,
    /// Its operation.
    pub(crate) op: Op,
    /// Its location.
    pub(crate) location: u32,
}

/// The shadow of one buffer.
pub(crate) struct GlobalShadow {
    chunks: Box<[OnceLock<Box<Chunk>>]>,
}

#[derive(Default)]
struct Chunk {
    /// Held while cells change.
    lock: Mutex<()>,
    /// Where records are kept while they are plain accesses to whole words.
    compact: Compact,
    /// Where they are kept from then on.
    wide: OnceLock<Box<Wide>>,
}

#[derive(Default)]
struct Wide {
    /// Cells are `1 << (2 - level)` bytes wide.
    level: AtomicU8,
    levels: [Cells; 1 + WIDEST_SHIFT as usize],
}

/// The cells of a chunk, all of one width.
#[derive(Default)]
struct Cells {
    writes: OnceLock<Box<[AtomicRecord]>>,
    reads: OnceLock<Box<[[AtomicRecord; 2]]>>,
    atomics: OnceLock<Box<[AtomicCell]>>,
}

#[derive(Default)]
struct AtomicCell {
    loads: [AtomicRecord; 2],
    writes: [AtomicRecord; 2],
}

/// A [`Record`] that several workers read.
#[derive(Default)]
struct AtomicRecord {
    accessor: AtomicU64,
    event: AtomicU64,
}

impl GlobalShadow {
    /// The shadow of a buffer of `bytes` bytes without accesses.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            chunks: (0..bytes.div_ceil(CHUNK_BYTES)).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Checks and records an access to `bytes` bytes from `offset` on; returns the access that it races with.
    ///
    /// `same_block_ordered(thread, epoch)` and `other_block_ordered(block, thread, epoch)` tell whether an earlier
    /// access is ordered before this one. If it races in several cells, the first race is returned. Bytes outside the
    /// buffer have no cells.
    #[inline]
    pub(crate) fn access(
        &self,
        access: GlobalAccess,
        offset: usize,
        bytes: usize,
        same_block_ordered: impl Fn(u16, u32) -> bool,
        other_block_ordered: impl Fn(u64, u16, u32) -> bool,
    ) -> Option<GlobalConflict> {
        if access.op == Op::Read && !access.knows_blocks && self.is_old_news(access.block, offset, bytes) {
            return None;
        }
        self.access_cells(access, offset, bytes, same_block_ordered, other_block_ordered)
    }

    /// [`Self::access`] in general.
    #[inline(never)]
    fn access_cells(
        &self,
        access: GlobalAccess,
        offset: usize,
        bytes: usize,
        same_block_ordered: impl Fn(u16, u32) -> bool,
        other_block_ordered: impl Fn(u64, u16, u32) -> bool,
    ) -> Option<GlobalConflict> {
        let ordered = |earlier: Record| {
            if earlier.accessor == 0 {
                true
            } else if earlier.is_of_block(access.block) {
                earlier.thread() == access.thread || same_block_ordered(earlier.thread(), earlier.epoch())
            } else {
                other_block_ordered(earlier.block(), earlier.thread(), earlier.epoch())
            }
        };
        let end = offset + bytes;
        let mut found = None;
        for index in offset >> CHUNK_SHIFT..end.div_ceil(CHUNK_BYTES).min(self.chunks.len()) {
            let chunk = self.chunks[index].get_or_init(Box::default);
            let start = index << CHUNK_SHIFT;
            let (from, to) = (offset.max(start) - start, (end - start).min(CHUNK_BYTES));
            let conflict = chunk.access(access, from, to, &ordered);
            found = found.or(conflict);
        }
        found
    }

    /// The last plain write to the byte at `offset`, if there was one.
    #[cold]
    pub(crate) fn last_write(&self, offset: usize) -> Option<GlobalConflict> {
        // A reported race replaces the operation.
        self.last_write_record(offset).map(|write| GlobalConflict {
            op: Op::Write,
            ..write.conflict()
        })
    }

    /// The block, the thread and the epoch of the last plain write to the byte at `offset`, and its location.
    pub(crate) fn last_writer(&self, offset: usize) -> Option<(MapWrite, u32)> {
        let write = self.last_write_record(offset)?;
        let writer = MapWrite {
            block: write.block(),
            thread: write.thread(),
            epoch: write.epoch(),
        };
        Some((writer, write.conflict().location))
    }

    fn last_write_record(&self, offset: usize) -> Option<Record> {
        let chunk = self.chunks.get(offset >> CHUNK_SHIFT)?.get()?;
        let _guard = chunk.lock.lock();
        let offset = offset & (CHUNK_BYTES - 1);
        let write = match chunk.wide.get() {
            None => chunk.compact.last_write(offset >> WIDEST_SHIFT),
            Some(wide) => {
                let level = wide.level.load(Ordering::Relaxed);
                wide.levels[usize::from(level)].writes.get()?[offset >> (WIDEST_SHIFT - level)].load()
            }
        };
        (write.accessor != 0).then_some(write)
    }

    /// Whether a plain read by `block` adds nothing: these cells were never written, and two other blocks of its
    /// launch have read each.
    #[inline]
    fn is_old_news(&self, block: u64, offset: usize, bytes: usize) -> bool {
        let Some(chunk) = self.chunks.get(offset >> CHUNK_SHIFT).and_then(OnceLock::get) else {
            return false;
        };
        let offset = offset & (CHUNK_BYTES - 1);
        // Records, and a level, that were left meanwhile still say that two blocks have read before.
        let Some(wide) = chunk.wide.get() else {
            let cells = offset >> WIDEST_SHIFT..(offset + bytes).div_ceil(1 << WIDEST_SHIFT);
            return chunk.compact.is_old_news(Record::block_bits(block), cells);
        };
        let level = wide.level.load(Ordering::Acquire);
        let shift = WIDEST_SHIFT - level;
        let cells = &wide.levels[usize::from(level)];
        let range = offset >> shift..(offset + bytes).div_ceil(1 << shift);
        let Some(reads) = cells.reads.get().and_then(|reads| reads.get(range.clone())) else {
            return false;
        };
        // The reads are looked at first: if they are from after a write, that write is seen below.
        let block = Record::block_bits(block);
        let two_blocks = |[a, b]: &[AtomicRecord; 2]| {
            let (a, b) = (
                a.accessor.load(Ordering::Acquire) >> 16,
                b.accessor.load(Ordering::Acquire) >> 16,
            );
            Record::are_two_others(a, b, block)
        };
        if !reads.iter().all(two_blocks) {
            return false;
        }
        let untouched = |record: &AtomicRecord| record.accessor.load(Ordering::Acquire) == 0;
        let unwritten = cells
            .writes
            .get()
            .is_none_or(|writes| writes[range.clone()].iter().all(untouched));
        unwritten
            && cells.atomics.get().is_none_or(|atomics| {
                atomics[range]
                    .iter()
                    .all(|records| records.writes.iter().all(untouched))
            })
    }
}

impl Chunk {
    /// [`GlobalShadow::access`] to the bytes `from..to` of the chunk.
    fn access(
        &self,
        access: GlobalAccess,
        from: usize,
        to: usize,
        ordered: &impl Fn(Record) -> bool,
    ) -> Option<GlobalConflict> {
        let _guard = self.lock.lock();
        // Only holders of the lock change the level.
        let needed = WIDEST_SHIFT - ((from | to).trailing_zeros() as u8).min(WIDEST_SHIFT);
        let (mut found, mut from) = (None, from);
        let wide = match self.wide.get() {
            Some(wide) => wide,
            None => {
                if needed == 0 {
                    let cells = from >> WIDEST_SHIFT..to >> WIDEST_SHIFT;
                    let (conflict, next) = self.compact.judge(access, cells, ordered);
                    (found, from) = (conflict, next << WIDEST_SHIFT);
                    if from == to {
                        return found.map(Record::conflict);
                    }
                }
                self.widen()
            }
        };
        let mut level = wide.level.load(Ordering::Relaxed);
        if level < needed {
            wide.refine(level, needed);
            level = needed;
        }
        let shift = WIDEST_SHIFT - level;
        let cells = &wide.levels[usize::from(level)];
        let count = CHUNK_BYTES >> shift;
        for index in from >> shift..to >> shift {
            let conflict = cells.judge(access, index, count, ordered);
            found = found.or(conflict);
        }
        found.map(Record::conflict)
    }

    /// Leaves the compact records. They remain for readers without the lock.
    #[cold]
    fn widen(&self) -> &Wide {
        self.wide.get_or_init(|| {
            let wide = Box::<Wide>::default();
            let cells = &wide.levels[0];
            if let Some(writes) = self.compact.all_writes() {
                cells.writes.get_or_init(|| writes.map(AtomicRecord::of).collect());
            }
            if let Some(reads) = self.compact.all_reads() {
                cells
                    .reads
                    .get_or_init(|| reads.map(|both| both.map(AtomicRecord::of)).collect());
            }
            wide
        })
    }
}

impl Wide {
    /// Goes from one level to a finer one. Each part inherits its cell's records.
    #[cold]
    fn refine(&self, from: u8, to: u8) {
        let (coarse, fine) = (&self.levels[usize::from(from)], &self.levels[usize::from(to)]);
        let parts = 1 << (to - from);
        if let Some(writes) = coarse.writes.get() {
            fine.writes.get_or_init(|| {
                writes
                    .iter()
                    .flat_map(|record| (0..parts).map(|_| record.copy()))
                    .collect()
            });
        }
        if let Some(reads) = coarse.reads.get() {
            fine.reads.get_or_init(|| {
                reads
                    .iter()
                    .flat_map(|records| (0..parts).map(|_| copies(records)))
                    .collect()
            });
        }
        if let Some(atomics) = coarse.atomics.get() {
            let copy = |records: &AtomicCell| AtomicCell {
                loads: copies(&records.loads),
                writes: copies(&records.writes),
            };
            fine.atomics.get_or_init(|| {
                atomics
                    .iter()
                    .flat_map(|records| (0..parts).map(move |_| copy(records)))
                    .collect()
            });
        }
        self.level.store(to, Ordering::Release);
    }
}

fn copies([a, b]: &[AtomicRecord; 2]) -> [AtomicRecord; 2] {
    [a.copy(), b.copy()]
}

fn fresh<T: Default>(count: usize) -> Box<[T]> {
    (0..count).map(|_| T::default()).collect()
}

impl Cells {
    /// Checks and records an access to cell `index` of `count`. The chunk's lock is held.
    fn judge(
        &self,
        access: GlobalAccess,
        index: usize,
        count: usize,
        ordered: &impl Fn(Record) -> bool,
    ) -> Option<Record> {
        let mut found: Option<Record> = None;
        let races = |earlier: Record| {
            earlier.accessor != 0
                && !earlier.is_settled()
                && access.op.conflicts_with(earlier.op())
                && !ordered(earlier)
        };
        // A record is reported only once.
        let mut check_writes = |records: &[AtomicRecord]| {
            for record in records {
                let write = record.load();
                if races(write) {
                    found = found.or(Some(write));
                    record.store(write.settled());
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
        let mut check_reads = |records: &[AtomicRecord]| {
            for record in records {
                let read = record.load();
                if races(read) {
                    found = found.or(Some(read));
                    record.store(Record::default());
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

        let record = Record::new(access);
        match access.op {
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
                for record in reads.into_iter().flatten() {
                    record.store(Record::default());
                }
                if let Some(atomics) = atomics {
                    atomics
                        .loads
                        .iter()
                        .chain(&atomics.writes)
                        .for_each(|record| record.store(Record::default()));
                }
            }
        }
        found
    }
}

/// Records an access among two of its kind: see [`shadow`](super::shadow), with blocks farther apart than warps.
fn keep([a, b]: &[AtomicRecord; 2], record: Record, ordered: &impl Fn(Record) -> bool) {
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

impl AtomicRecord {
    fn of(record: Record) -> Self {
        Self {
            accessor: AtomicU64::new(record.accessor),
            event: AtomicU64::new(record.event),
        }
    }

    fn load(&self) -> Record {
        Record {
            accessor: self.accessor.load(Ordering::Relaxed),
            event: self.event.load(Ordering::Relaxed),
        }
    }

    fn store(&self, record: Record) {
        self.event.store(record.event, Ordering::Relaxed);
        self.accessor.store(record.accessor, Ordering::Release);
    }

    fn copy(&self) -> Self {
        Self::of(self.load())
    }
}
