//! The last accesses to each word of a block's shared memory.
//!
//! For each cell of memory the shadow keeps the last plain write, two plain reads, and, where there are any, two atomic
//! loads and two atomic writes (stores and updates), each with epoch, thread and source location. That is enough:
//!
//! - One write, because everything that is ordered after a later write is ordered after an earlier one - as long as
//!   writes were themselves ordered, that is, until the first race on the cell.
//! - Two reads, by different threads, since the next writer may be one of them. Of three unordered reads, two by
//!   different warps are kept if there are any; a read that is ordered before a later one is replaced by it.
//!
//! # Detected faults
//!
//! There are no false positives. In a kernel whose threads are ordered by barriers of the block, and barriers of
//! whole warps, the first race on each cell is always found. With finer order (barriers of some lanes, release and
//! acquire) a race can be missed: between a write and a read by a third thread of one interval that was not kept, when
//! both reads that were kept are ordered before the write.
//!
//! After a race the newer access takes the cell: a write replaces all records, and a read is reported against the same
//! write only once, by any thread. One mistake in a loop is not reported forever.
//!
//! # Cells
//!
//! Cells are words of 4 bytes until the first access that is not made of whole words; from then on, for later blocks
//! too, they are as fine as that access. Neighbours in one word never race falsely. Memory: 24 bytes a cell, 64 more
//! once there are atomics.
//!
//! Source: the state per location and its updates are FastTrack's (Flanagan and Freund, PLDI 2009), with its unbounded
//! set of readers cut to two.

use super::clock::Clocks;
use super::{LANES, Op};

/// A recorded access: `epoch << 32 | op << 28 | thread << 16 | location`; 0 if there is none.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Record(u64);

impl Record {
    const THREAD: u64 = 0xfff << 16;
    const WARP: u64 = Self::THREAD & !((LANES as u64 - 1) << 16);
    /// In place of an [`Op`]: a write whose race was reported.
    const SETTLED: u64 = 15 << 28;

    #[inline]
    fn new(epoch: u32, op: Op, thread: u16, location: u16) -> Self {
        debug_assert!(thread < 1 << 12, "thread {thread}");
        Self(u64::from(epoch) << 32 | (op as u64) << 28 | u64::from(thread) << 16 | u64::from(location))
    }

    fn epoch(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn thread(self) -> u16 {
        ((self.0 & Self::THREAD) >> 16) as u16
    }

    fn op(self) -> Op {
        Op::from_code(self.0 >> 28 & 15)
    }

    /// Whether it is from before `epoch`.
    #[inline]
    fn is_before(self, epoch: u32) -> bool {
        self.0 < u64::from(epoch) << 32
    }

    #[inline]
    fn same_thread(self, other: Self) -> bool {
        (self.0 ^ other.0) & Self::THREAD == 0
    }

    #[inline]
    fn same_warp(self, other: Self) -> bool {
        (self.0 ^ other.0) & Self::WARP == 0
    }

    fn is_settled(self) -> bool {
        self.0 & Self::SETTLED == Self::SETTLED
    }

    fn settled(self) -> Self {
        Self(self.0 | Self::SETTLED)
    }

    fn conflict(self) -> Conflict {
        Conflict {
            thread: self.thread(),
            location: self.0 as u16,
            op: self.op(),
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Cell {
    write: Record,
    reads: [Record; 2],
}

#[derive(Clone, Copy, Default)]
struct AtomicCell {
    loads: [Record; 2],
    writes: [Record; 2],
}

/// An earlier access that is not ordered with the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// Its thread.
    pub(crate) thread: u16,
    /// The number of its source location.
    pub(crate) location: u16,
    /// Its operation.
    pub(crate) op: Op,
}

/// The verdict on an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// It reads bytes that no thread of this block has written.
    pub(crate) uninitialized: bool,
    /// It races with this one.
    pub(crate) conflict: Option<Conflict>,
}

/// The shadow of the shared memory of the block that a worker runs; reused for its next block.
pub(crate) struct SharedShadow {
    cells: Vec<Cell>,
    /// As many as there are cells, or none.
    atomics: Vec<AtomicCell>,
    /// A cell is `1 << cell_shift` bytes.
    cell_shift: u32,
    block_start: u32,
    /// The block has executed atomics: `atomics` is valid.
    has_atomics: bool,
    /// Bytes of an access to one cell that need not check `atomics`: 0 if all must.
    plain_bytes: usize,
}

impl SharedShadow {
    /// Of no memory.
    pub(crate) fn new() -> Self {
        Self {
            cells: Vec::new(),
            atomics: Vec::new(),
            cell_shift: 2,
            block_start: 0,
            has_atomics: false,
            plain_bytes: 4,
        }
    }

    /// Starts a block with `bytes` of shared memory, none of it written. Epochs below `block_start`
    /// ([`Clocks::block_start`]) are not of it.
    pub(crate) fn start_block(&mut self, bytes: usize, block_start: u32) {
        self.block_start = block_start;
        self.has_atomics = false;
        self.plain_bytes = 1 << self.cell_shift;
        self.grow(bytes);
    }

    /// Checks and records an access of `thread` to `bytes` bytes from `offset` on, at `location`.
    ///
    /// If several cells have faults, the first one is returned. Bounds are not checked here: the shadow grows
    /// as needed.
    #[inline]
    pub(crate) fn access(
        &mut self,
        clocks: &Clocks,
        offset: usize,
        bytes: usize,
        thread: u16,
        op: Op,
        location: u16,
    ) -> Verdict {
        let is_aligned = offset & bytes.wrapping_sub(1) == 0;
        if !op.is_atomic() && is_aligned && self.access_common(clocks, offset, bytes, thread, op, location) {
            return Verdict::default();
        }
        self.access_any(clocks, offset, bytes, thread, op, location)
    }

    /// The common case of [`Self::access`] for a plain, aligned access: records it if this block has written these
    /// bytes, and it is certainly without a fault. If not, nothing has changed.
    #[inline(always)]
    pub(crate) fn access_common(
        &mut self,
        clocks: &Clocks,
        offset: usize,
        bytes: usize,
        thread: u16,
        op: Op,
        location: u16,
    ) -> bool {
        // As wide as a cell.
        if bytes == self.plain_bytes
            && !clocks.is_fine()
            && let Some(cell) = self.cells.get_mut(offset >> bytes.trailing_zeros())
            && !cell.write.is_before(self.block_start)
        {
            let now = Now::new(clocks, thread, op, location, self.block_start);
            return now.is_common(cell, |earlier| now.certainly_follows(earlier));
        }
        false
    }

    /// The last plain writes of this block to the `bytes` bytes from `offset` on, each with its epoch.
    pub(crate) fn last_writes(&self, offset: usize, bytes: usize) -> impl Iterator<Item = (Conflict, u32)> {
        let cells = offset >> self.cell_shift..(offset + bytes).div_ceil(1 << self.cell_shift);
        let writes = cells.filter_map(|cell| Some(self.cells.get(cell)?.write));
        let of_block = writes.filter(|write| !write.is_before(self.block_start));
        // A reported race replaces the operation.
        of_block.map(|write| {
            let op = Op::Write;
            (Conflict { op, ..write.conflict() }, write.epoch())
        })
    }

    /// The plain reads of this block since the last write to each of the `bytes` bytes from `offset` on, as far as they
    /// are kept, each with its epoch. Neighbours with the same one have it once.
    pub(crate) fn last_reads(&self, offset: usize, bytes: usize) -> impl Iterator<Item = (Conflict, u32)> {
        let cells = offset >> self.cell_shift..(offset + bytes).div_ceil(1 << self.cell_shift);
        let mut before = [Record::default(); 2];
        let reads = cells.filter_map(|cell| Some(self.cells.get(cell)?.reads));
        let new = reads.flat_map(move |reads| {
            let is_new = std::mem::replace(&mut before, reads) != reads;
            reads.into_iter().filter(move |_| is_new)
        });
        let of_block = new.filter(|read| !read.is_before(self.block_start));
        of_block.map(|read| (read.conflict(), read.epoch()))
    }

    /// [`Self::access`] in general.
    #[inline(never)]
    fn access_any(
        &mut self,
        clocks: &Clocks,
        offset: usize,
        bytes: usize,
        thread: u16,
        op: Op,
        location: u16,
    ) -> Verdict {
        let mut verdict = Verdict::default();
        if bytes == 0 {
            return verdict;
        }
        let end = offset + bytes;
        let shift = (offset | bytes).trailing_zeros();
        if shift < self.cell_shift {
            self.refine(shift);
        }
        self.grow(end);
        if op.is_atomic() && !self.has_atomics {
            self.has_atomics = true;
            self.plain_bytes = 0;
            self.atomics.resize(self.cells.len(), AtomicCell::default());
        }
        let now = Now::new(clocks, thread, op, location, self.block_start);
        for index in offset >> self.cell_shift..end >> self.cell_shift {
            let cell = &mut self.cells[index];
            let atomics = if self.has_atomics {
                self.atomics.get_mut(index)
            } else {
                None
            };
            if op.is_atomic() || atomics.is_some() || !now.is_common(cell, |earlier| now.follows(earlier)) {
                now.judge(cell, atomics, &mut verdict);
            }
        }
        verdict
    }

    /// Makes the cells `1 << shift` bytes wide. Each part inherits its cell's records.
    fn refine(&mut self, shift: u32) {
        let parts = 1 << (self.cell_shift - shift);
        self.cells = self
            .cells
            .iter()
            .flat_map(|&cell| std::iter::repeat_n(cell, parts))
            .collect();
        self.atomics = self
            .atomics
            .iter()
            .flat_map(|&cell| std::iter::repeat_n(cell, parts))
            .collect();
        self.cell_shift = shift;
        if !self.has_atomics {
            self.plain_bytes = 1 << shift;
        }
    }

    fn grow(&mut self, bytes: usize) {
        let cells = bytes.div_ceil(1 << self.cell_shift);
        if cells > self.cells.len() {
            self.cells.resize(cells, Cell::default());
        }
        if self.has_atomics && self.atomics.len() < self.cells.len() {
            self.atomics.resize(self.cells.len(), AtomicCell::default());
        }
    }
}

/// The current access.
struct Now<'a> {
    clocks: &'a Clocks,
    record: Record,
    op: Op,
    block_start: u32,
    interval_start: u32,
}

impl<'a> Now<'a> {
    #[inline(always)]
    fn new(clocks: &'a Clocks, thread: u16, op: Op, location: u16, block_start: u32) -> Self {
        Self {
            clocks,
            record: Record::new(clocks.epoch(thread), op, thread, location),
            op,
            block_start,
            interval_start: clocks.interval_start(),
        }
    }

    /// Whether an earlier access is ordered before this one by a barrier or by program order.
    #[inline]
    fn certainly_follows(&self, earlier: Record) -> bool {
        earlier.is_before(self.interval_start) || earlier.same_thread(self.record)
    }

    /// Whether an earlier access is ordered before this one.
    fn follows(&self, earlier: Record) -> bool {
        self.certainly_follows(earlier)
            || self.clocks.is_fine() && {
                let thread = self.record.thread();
                self.clocks.ordered(earlier.thread(), earlier.epoch(), thread)
            }
    }

    /// The common case of a plain access, with `follows` for the order. Records the access, or returns false: the cell
    /// must be judged.
    #[inline(always)]
    fn is_common(&self, cell: &mut Cell, follows: impl Fn(Record) -> bool) -> bool {
        let Cell { write, reads: [a, b] } = *cell;
        if !follows(write) {
            return false;
        }
        if self.op == Op::Write {
            let common = follows(a) && follows(b);
            if common {
                *cell = Cell {
                    write: self.record,
                    reads: [Record::default(); 2],
                };
            }
            return common;
        }
        if write.is_before(self.block_start) {
            return false;
        }
        if follows(a) {
            // The two reads are never of one thread: else the next reader's would be lost.
            cell.reads = [self.record, if follows(b) { Record::default() } else { b }];
        } else if follows(b) || a.same_warp(b) && !a.same_warp(self.record) {
            cell.reads[1] = self.record;
        }
        true
    }

    /// Checks all records of the cell, reports into `verdict`, and records the access.
    #[cold]
    fn judge(&self, cell: &mut Cell, atomics: Option<&mut AtomicCell>, verdict: &mut Verdict) {
        let mut none = AtomicCell::default();
        let atomics = atomics.unwrap_or(&mut none);
        let mut writes = std::iter::once(&cell.write).chain(&atomics.writes);
        let written = writes.any(|write| !write.is_before(self.block_start));
        verdict.uninitialized |= self.op.reads() && !written;

        // Writes come first in reports. A record is reported only once.
        let mut found: Option<Record> = None;
        let races = |earlier: Record| !earlier.is_settled() && !self.follows(earlier);
        for write in std::iter::once(&mut cell.write).chain(&mut atomics.writes) {
            let conflicts = self.op.conflicts_with(write.op());
            if conflicts && races(*write) {
                found = found.or(Some(*write));
                *write = write.settled();
            }
        }
        for read in cell.reads.iter_mut().chain(&mut atomics.loads) {
            if self.op.conflicts_with(read.op()) && races(*read) {
                found = found.or(Some(*read));
                *read = Record::default();
            }
        }
        if let (None, Some(found)) = (verdict.conflict, found) {
            verdict.conflict = Some(found.conflict());
        }

        match self.op {
            Op::Write => {
                *cell = Cell {
                    write: self.record,
                    reads: [Record::default(); 2],
                };
                *atomics = AtomicCell::default();
            }
            Op::Read => self.keep(&mut cell.reads),
            Op::AtomicLoad => self.keep(&mut atomics.loads),
            Op::AtomicStore | Op::AtomicUpdate => self.keep(&mut atomics.writes),
        }
    }

    /// Records the access among two of its kind.
    fn keep(&self, [a, b]: &mut [Record; 2]) {
        let replaces = |earlier: Record| earlier.is_settled() || self.follows(earlier);
        match (replaces(*a), replaces(*b)) {
            (true, true) => (*a, *b) = (self.record, Record::default()),
            (true, false) => *a = self.record,
            (false, true) => *b = self.record,
            (false, false) if a.same_warp(*b) && !a.same_warp(self.record) => *b = self.record,
            (false, false) => {}
        }
    }
}
