//! Records of a chunk in two bytes each.
//!
//! Neighbouring cells are most often accessed by neighbouring threads of a block, at one line, between the same
//! barriers. All of that but the thread is kept once, in a table of at most 63 entries, and a record is the number of
//! its entry and its thread. Entries are never replaced; a chunk that needs more of them, atomics, or the threads that
//! stand for asynchronous operations is kept in full.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU64, Ordering};

use super::super::Op;
use super::record::Record;
use super::{CHUNK_BYTES, GlobalAccess, WIDEST_SHIFT};

const CELLS: usize = CHUNK_BYTES >> WIDEST_SHIFT;
const THREAD_BITS: u32 = 10;
/// Entries that a chunk always has room for, and the most that numbers can tell apart.
const FIRST: usize = 4;
const MOST: usize = (1 << (16 - THREAD_BITS)) - 1;

type Codes = OnceLock<Box<[AtomicU16; CELLS]>>;

/// The records of a chunk. Whoever changes them holds the chunk's lock.
#[derive(Default)]
pub(super) struct Compact {
    writes: Codes,
    reads: [Codes; 2],
    /// Entries in use.
    entries: AtomicU8,
    /// The entry that was used last.
    hint: AtomicU8,
    first: [Entry; FIRST],
    rest: OnceLock<Box<[Entry; MOST - FIRST]>>,
}

/// A record without its thread.
#[derive(Default)]
struct Entry {
    accessor: AtomicU64,
    event: AtomicU64,
}

impl Entry {
    fn load(&self) -> Record {
        Record {
            accessor: self.accessor.load(Ordering::Relaxed),
            event: self.event.load(Ordering::Relaxed),
        }
    }
}

fn fresh<T: Default, const N: usize>() -> Box<[T; N]> {
    let all: Box<[T]> = (0..N).map(|_| T::default()).collect();
    all.try_into().ok().expect("as many as were made")
}

/// The code of a cell, 0 if there is none.
#[inline]
fn code(codes: &Codes, cell: usize) -> u16 {
    codes.get().map_or(0, |codes| codes[cell].load(Ordering::Acquire))
}

#[inline]
fn store(codes: &Codes, cell: usize, code: u16) {
    codes.get_or_init(fresh)[cell].store(code, Ordering::Release);
}

/// Removes a record, where there are any.
#[inline]
fn clear(codes: &Codes, cell: usize) {
    if let Some(codes) = codes.get() {
        codes[cell].store(0, Ordering::Release);
    }
}

impl Compact {
    fn entry(&self, number: usize) -> &Entry {
        match number.checked_sub(FIRST) {
            None => &self.first[number],
            Some(number) => &self.rest.get_or_init(fresh)[number],
        }
    }

    #[inline]
    fn record(&self, code: u16) -> Record {
        if code == 0 {
            return Record::default();
        }
        let thread = code & ((1 << THREAD_BITS) - 1);
        self.entry(usize::from(code >> THREAD_BITS) - 1)
            .load()
            .with_thread(thread)
    }

    /// The code of a record; `None` if there is no entry left for it.
    #[inline]
    fn code_of(&self, record: Record) -> Option<u16> {
        let thread = record.thread();
        if thread >> THREAD_BITS != 0 {
            return None;
        }
        let wanted = record.without_thread();
        let hint = usize::from(self.hint.load(Ordering::Relaxed));
        let entries = usize::from(self.entries.load(Ordering::Relaxed));
        let number = if hint < entries && self.entry(hint).load() == wanted {
            hint
        } else {
            let number = self.find_or_add(wanted, entries)?;
            self.hint.store(number as u8, Ordering::Relaxed);
            number
        };
        Some((number as u16 + 1) << THREAD_BITS | thread)
    }

    fn find_or_add(&self, wanted: Record, entries: usize) -> Option<usize> {
        if let Some(known) = (0..entries).rev().find(|&number| self.entry(number).load() == wanted) {
            return Some(known);
        }
        if entries == MOST {
            return None;
        }
        let entry = self.entry(entries);
        entry.event.store(wanted.event, Ordering::Relaxed);
        entry.accessor.store(wanted.accessor, Ordering::Relaxed);
        self.entries.store(entries as u8 + 1, Ordering::Relaxed);
        Some(entries)
    }

    /// Checks and records an access to `cells`; returns the access that it races with, and the first cell for which
    /// there is no room here.
    pub(super) fn judge(
        &self,
        access: GlobalAccess,
        cells: Range<usize>,
        ordered: &impl Fn(Record) -> bool,
    ) -> (Option<Record>, usize) {
        let mut found = None;
        if access.op.is_atomic() {
            return (None, cells.start);
        }
        let record = Record::new(access);
        for cell in cells.clone() {
            match self.judge_cell(access.op, record, cell, ordered) {
                Some(conflict) => found = found.or(conflict),
                None => return (found, cell),
            }
        }
        (found, cells.end)
    }

    /// Checks and records a plain access to a cell. `None` if there is no room: nothing has changed.
    #[inline]
    fn judge_cell(
        &self,
        op: Op,
        record: Record,
        cell: usize,
        ordered: &impl Fn(Record) -> bool,
    ) -> Option<Option<Record>> {
        let races = |earlier: Record| {
            earlier.accessor != 0 && !earlier.is_settled() && op.conflicts_with(earlier.op()) && !ordered(earlier)
        };
        let write = self.record(code(&self.writes, cell));
        let mut found = Some(write).filter(|&write| races(write));
        let [a, b] = [0, 1].map(|slot| self.record(code(&self.reads[slot], cell)));
        if op == Op::Write {
            let own = self.code_of(record)?;
            found = found.or_else(|| [a, b].into_iter().find(|&read| races(read)));
            // The write comes first: see `is_old_news`.
            store(&self.writes, cell, own);
            self.reads.iter().for_each(|codes| clear(codes, cell));
            return Some(found);
        }
        // A record is reported only once.
        let settled = match found {
            Some(write) => Some(self.code_of(write.settled())?),
            None => None,
        };
        let replaces = |earlier: Record| earlier.accessor == 0 || earlier.is_settled() || ordered(earlier);
        let slot = match (replaces(a), replaces(b)) {
            (true, _) => Some(0),
            (false, true) => Some(1),
            (false, false) => (a.distance(record) > a.distance(b)).then_some(1),
        };
        if let Some(slot) = slot {
            store(&self.reads[slot], cell, self.code_of(record)?);
            if slot == 0 && replaces(b) {
                clear(&self.reads[1], cell);
            }
        }
        if let Some(settled) = settled {
            store(&self.writes, cell, settled);
        }
        Some(found)
    }

    /// See [`super::GlobalShadow::is_old_news`]: whether two other blocks of the launch have read each cell, and none
    /// has written it.
    #[inline]
    pub(super) fn is_old_news(&self, block: u64, cells: Range<usize>) -> bool {
        let (Some(a), Some(b)) = (self.reads[0].get(), self.reads[1].get()) else {
            return false;
        };
        let block_of = |code: &AtomicU16| match code.load(Ordering::Acquire) {
            0 => 0,
            code => {
                self.entry(usize::from(code >> THREAD_BITS) - 1)
                    .accessor
                    .load(Ordering::Relaxed)
                    >> 16
            }
        };
        let two_blocks = |cell: usize| {
            let (a, b) = (block_of(&a[cell]), block_of(&b[cell]));
            Record::are_two_others(a, b, block)
        };
        cells.end <= CELLS
            && cells.clone().all(two_blocks)
            && self
                .writes
                .get()
                .is_none_or(|writes| writes[cells].iter().all(|code| code.load(Ordering::Acquire) == 0))
    }

    /// The last write to a cell.
    pub(super) fn last_write(&self, cell: usize) -> Record {
        self.record(code(&self.writes, cell))
    }

    /// The last write to each cell, if there was any.
    pub(super) fn all_writes(&self) -> Option<impl Iterator<Item = Record>> {
        self.writes.get()?;
        Some((0..CELLS).map(|cell| self.last_write(cell)))
    }

    /// The reads of each cell, if there was any.
    pub(super) fn all_reads(&self) -> Option<impl Iterator<Item = [Record; 2]>> {
        self.reads.iter().find_map(OnceLock::get)?;
        Some((0..CELLS).map(|cell| [0, 1].map(|slot| self.record(code(&self.reads[slot], cell)))))
    }
}
