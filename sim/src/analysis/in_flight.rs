//! Pending asynchronous copies into a block's shared memory: those that their threads have not waited for (PTX ISA,
//! "cp.async").
//!
//! A thread's copies since its last commit become a group with the next one; a wait finishes all groups but the latest
//! few. Until then no other access may touch the bytes that a copy writes.
//!
//! Copies are of whole, aligned words of 4 bytes, and no two pending ones have a word in common: the caller checks
//! before it starts one.
//!
//! The words of an mbarrier are kept here, too: only mbarrier operations may access them.

use std::panic::Location;

/// A pending copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AsyncCopy {
    /// Offset in shared memory of the first byte that it writes; `None` if accesses are not checked.
    pub(crate) offset: Option<usize>,
    /// The address of that byte.
    pub(crate) to: *mut u8,
    /// Bytes that it writes: 4, 8 or 16.
    pub(crate) bytes: usize,
    /// The address of the first byte that it reads.
    pub(crate) from: *const u8,
    /// Bytes that it reads, at most `bytes`.
    pub(crate) valid: usize,
    /// The bytes that it writes.
    pub(crate) data: [u8; 16],
    /// Where it was started.
    pub(crate) location: &'static Location<'static>,
}

/// The pending copy, or the mbarrier, that an access overlaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    /// Its thread.
    pub(crate) thread: u16,
    /// Where it was started.
    pub(crate) location: &'static Location<'static>,
    /// Whether its thread has committed it to a group.
    pub(crate) committed: bool,
    /// It is an mbarrier; thread and location are those of its initialization.
    pub(crate) is_mbarrier: bool,
}

/// An mbarrier that was initialized and not invalidated.
struct Claim {
    offset: usize,
    thread: u16,
    location: &'static Location<'static>,
}

/// The pending copies of a block.
pub(crate) struct InFlight {
    /// By thread.
    threads: Vec<Thread>,
    /// Number of copies and mbarriers.
    count: usize,
    /// By word of shared memory, the thread that copies to it, plus 1, or [`InFlight::MBARRIER`]; 0 where neither is.
    words: Vec<u16>,
    mbarriers: Vec<Claim>,
}

#[derive(Default)]
struct Thread {
    /// Copies in the order of their starts, each with the number of its group.
    copies: Vec<(u32, AsyncCopy)>,
    /// Committed groups: the number of the next one.
    groups: u32,
}

impl InFlight {
    const WORD: usize = 4;
    const MBARRIER: u16 = u16::MAX;
    /// Bytes of an mbarrier.
    const MBARRIER_BYTES: usize = 8;

    /// No pending copies of a block of `threads` threads.
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            threads: (0..threads).map(|_| Thread::default()).collect(),
            count: 0,
            words: Vec::new(),
            mbarriers: Vec::new(),
        }
    }

    /// Starts a block: forgets the pending copies of the last one.
    pub(crate) fn start_block(&mut self) {
        if self.count > 0 {
            self.words.fill(0);
            self.count = 0;
        }
        self.mbarriers.clear();
        for thread in &mut self.threads {
            thread.copies.clear();
            thread.groups = 0;
        }
    }

    /// Whether there are neither copies nor mbarriers.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first copy that writes any of the `bytes` bytes from `offset` on.
    #[inline]
    pub(crate) fn find(&self, offset: usize, bytes: usize) -> Option<Pending> {
        if self.count == 0 {
            return None;
        }
        self.find_any(offset, bytes)
    }

    #[inline(never)]
    fn find_any(&self, offset: usize, bytes: usize) -> Option<Pending> {
        let words = offset / Self::WORD..(offset + bytes).div_ceil(Self::WORD);
        let mut words = words.filter_map(|word| Some((word, *self.words.get(word).filter(|&&thread| thread != 0)?)));
        let (word, thread) = words.next()?;
        if thread == Self::MBARRIER {
            let claim = self
                .mbarriers
                .iter()
                .find(|claim| claim.offset / Self::MBARRIER_BYTES == word * Self::WORD / Self::MBARRIER_BYTES)?;
            return Some(Pending {
                thread: claim.thread,
                location: claim.location,
                committed: false,
                is_mbarrier: true,
            });
        }
        let thread = thread - 1;
        let of = &self.threads[usize::from(thread)];
        let writes = |copy: &AsyncCopy| {
            let offset = copy.offset.unwrap_or(usize::MAX);
            (offset..offset.saturating_add(copy.bytes)).contains(&(word * Self::WORD))
        };
        let (group, copy) = of.copies.iter().find(|(_, copy)| writes(copy))?;
        Some(Pending {
            thread,
            location: copy.location,
            committed: *group < of.groups,
            is_mbarrier: false,
        })
    }

    /// `thread` initializes an mbarrier at `offset`, whose 8 bytes no copy writes.
    pub(crate) fn claim(&mut self, offset: usize, thread: u16, location: &'static Location<'static>) {
        self.mbarriers.push(Claim {
            offset,
            thread,
            location,
        });
        self.mark(offset, Self::MBARRIER_BYTES, Self::MBARRIER);
        self.count += 1;
    }

    /// The mbarrier at `offset` is invalidated.
    pub(crate) fn give_up(&mut self, offset: usize) {
        self.mbarriers.retain(|claim| claim.offset != offset);
        self.mark(offset, Self::MBARRIER_BYTES, 0);
        self.count -= 1;
    }

    /// `thread` starts a copy, whose words no other copy writes.
    pub(crate) fn start(&mut self, thread: u16, copy: AsyncCopy) {
        self.mark_copy(&copy, thread + 1);
        self.count += 1;
        let of = &mut self.threads[usize::from(thread)];
        of.copies.push((of.groups, copy));
    }

    /// `thread` commits its open group, which may be empty.
    pub(crate) fn commit(&mut self, thread: u16) {
        self.threads[usize::from(thread)].groups += 1;
    }

    /// `thread` waits until at most `pending` of its latest groups are pending. Returns the copies of the others, in
    /// the order of their starts.
    pub(crate) fn wait(&mut self, thread: u16, pending: u32) -> Vec<AsyncCopy> {
        let of = &mut self.threads[usize::from(thread)];
        let first_open = of.groups.saturating_sub(pending);
        let finished = of.copies.partition_point(|(group, _)| *group < first_open);
        let finished: Vec<AsyncCopy> = of.copies.drain(..finished).map(|(_, copy)| copy).collect();
        for copy in &finished {
            self.mark_copy(copy, 0);
        }
        self.count -= finished.len();
        finished
    }

    fn mark_copy(&mut self, copy: &AsyncCopy, value: u16) {
        if let Some(offset) = copy.offset {
            self.mark(offset, copy.bytes, value);
        }
    }

    fn mark(&mut self, offset: usize, bytes: usize, value: u16) {
        let words = offset / Self::WORD..(offset + bytes) / Self::WORD;
        if self.words.len() < words.end {
            self.words.resize(words.end, 0);
        }
        self.words[words].fill(value);
    }
}
