//! What the accesses of a block's warps cost the memory system, per site.
//!
//! The simulator runs threads one after another; the hardware executes one instruction for all lanes of a warp. To
//! count as the hardware does, accesses are put together again: the `n`-th execution of a site by one lane and the
//! `n`-th by another are the same instruction, counted from the last point where all lanes of the warp met. For each
//! warp and site the executions that are not complete are kept, in windows of [`Traffic::WINDOW`]; one is complete when
//! every lane has passed it or waits, and is then evaluated as [`banks`] says.
//!
//! This is exact as long as lanes that execute a site equally often do it together, as they do on hardware where
//! branches reconverge. When all of a warp's windows are in use, the oldest executions are closed although some lanes
//! have not passed them. A lane that comes to one of these is evaluated alone and counted in [`Traffic::approximate`].
//! Accesses at sites beyond the bound below are only counted there.
//!
//! # Memory
//!
//! For each warp, 148 bytes for each site, up to [`Traffic::SITES`], and 8.25 KiB for each window, up to
//! [`Traffic::WINDOWS`]: 5.3 KiB a thread for a kernel of 20 sites, never more than 35 KiB a thread.

use super::banks::{self, SharedAccess};
use super::sites::{SiteKind, SiteSpace};
use super::{LANES, Op};

/// The accesses of a worker's blocks.
pub(crate) struct Traffic {
    warps: Vec<Warp>,
    /// At `site << warp_bits | warp`.
    slots: Vec<Slot>,
    warp_bits: u32,
    /// The windows, [`Traffic::WINDOW`] entries each.
    entries: Vec<Entry>,
    /// For each window, the next one of the same slot.
    following: Vec<u32>,
    /// Windows that are not in use.
    free: Vec<u32>,
    totals: Vec<SiteTraffic>,
    approximate: u64,
}

#[derive(Default)]
struct Warp {
    /// Lanes that do not exist.
    missing: u32,
    /// Slots with counters that are not 0.
    touched: Vec<u32>,
    /// Windows in use.
    windows: usize,
}

/// The executions of one site by one warp.
#[derive(Clone)]
struct Slot {
    /// How often each lane has executed the site.
    executed: [u32; LANES],
    /// The first execution that is not complete.
    first: u32,
    /// The first that nobody has come to.
    next: u32,
    /// The first window, if any execution is open; the others follow it.
    window: u32,
    /// The execution that is the first entry of the first window.
    base: u32,
    touched: bool,
    kind: SiteKind,
}

/// One execution.
#[derive(Clone)]
struct Entry {
    /// Lanes that have come to it, or do not exist.
    lanes: u32,
    addresses: [u64; LANES],
}

/// What one site costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SiteTraffic {
    /// Instructions of warps.
    pub(crate) requests: u64,
    /// Lanes that took part, over all requests.
    pub(crate) lanes: u64,
    /// Wavefronts of shared memory, or sectors of global memory.
    pub(crate) actual: u64,
    /// How many there would be at best: [`Wavefronts::ideal`](banks::Wavefronts::ideal),
    /// [`Sectors::ideal`](banks::Sectors::ideal).
    pub(crate) ideal: u64,
}

impl SiteTraffic {
    /// Adds what another worker counted at the same site.
    pub(crate) fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.lanes += other.lanes;
        self.actual += other.actual;
        self.ideal += other.ideal;
    }

    fn count(&mut self, kind: SiteKind, missing: u32, Entry { lanes, addresses }: &Entry) {
        let here = |lane: &usize| lanes & !missing & 1 << lane != 0 && addresses[*lane] != Traffic::SKIPPED;
        let lanes = (0..LANES).filter(here).fold(0_u32, |lanes, lane| lanes | 1 << lane);
        if lanes == 0 {
            return;
        }
        let bytes = u32::from(kind.bytes);
        let (actual, ideal) = match kind.space {
            SiteSpace::Shared => {
                let access = match kind.op {
                    Op::Read | Op::AtomicLoad => SharedAccess::Load,
                    Op::Write | Op::AtomicStore => SharedAccess::Store,
                    Op::AtomicUpdate => SharedAccess::Atomic,
                };
                let wavefronts = banks::wavefronts(addresses, lanes, bytes, access);
                (wavefronts.actual, wavefronts.ideal)
            }
            SiteSpace::Global => {
                let sectors = banks::sectors(addresses, lanes, bytes);
                (sectors.actual, sectors.ideal)
            }
        };
        self.add(Self {
            requests: 1,
            lanes: lanes.count_ones().into(),
            actual: actual.into(),
            ideal: ideal.into(),
        });
    }
}

impl Traffic {
    /// In place of an address: the lane comes to the site and passes over it, because of a guard.
    pub(crate) const SKIPPED: u64 = u64::MAX;
    /// Executions in a window: when a lane has filled one, the others should catch up.
    pub(crate) const WINDOW: u32 = 32;
    /// Windows of a warp, over all sites.
    pub(crate) const WINDOWS: usize = 64;
    /// Sites that are evaluated.
    pub(crate) const SITES: usize = 4096;

    /// For blocks of `threads` threads.
    pub(crate) fn new(threads: usize) -> Self {
        let missing = |warp: usize| match threads - warp * LANES {
            lanes @ 0..LANES => u32::MAX << lanes,
            _ => 0,
        };
        Self {
            warps: (0..threads.div_ceil(LANES))
                .map(|warp| Warp {
                    missing: missing(warp),
                    ..Warp::default()
                })
                .collect(),
            slots: Vec::new(),
            warp_bits: threads.div_ceil(LANES).next_power_of_two().trailing_zeros(),
            entries: Vec::new(),
            following: Vec::new(),
            free: Vec::new(),
            totals: Vec::new(),
            approximate: 0,
        }
    }

    /// `thread` executes `site`, which is of `kind`, at `address`: an offset into shared memory, or an address in
    /// global memory.
    ///
    /// Returns whether the thread has run far ahead of its warp: the other lanes should run before it goes on, and
    /// [`Traffic::settle`] be called.
    #[inline]
    pub(crate) fn record(&mut self, thread: u16, site: u16, kind: SiteKind, address: u64) -> bool {
        let (warp, lane) = (usize::from(thread) / LANES, usize::from(thread) % LANES);
        let index = usize::from(site) << self.warp_bits | warp;
        let Some(slot) = self.slots.get_mut(index) else {
            return self.record_new(thread, site, kind, address);
        };
        let execution = slot.executed[lane];
        let ahead = execution.wrapping_sub(slot.first);
        if ahead >= slot.next.wrapping_sub(slot.first) {
            return self.record_first(thread, site, kind, address);
        }
        slot.executed[lane] = execution.wrapping_add(1);
        let (mut window, mut offset) = (slot.window, execution.wrapping_sub(slot.base));
        while offset >= Self::WINDOW {
            window = self.following[window as usize];
            offset -= Self::WINDOW;
        }
        let is_last = offset == Self::WINDOW - 1 && slot.next == slot.executed[lane];
        let entry = &mut self.entries[(window * Self::WINDOW + offset) as usize];
        entry.addresses[lane] = address;
        entry.lanes |= 1 << lane;
        if entry.lanes == u32::MAX {
            self.complete(index, ahead + 1);
            return false;
        }
        is_last
    }

    /// [`Traffic::record`] at a site that has no slots yet.
    #[cold]
    fn record_new(&mut self, thread: u16, site: u16, kind: SiteKind, address: u64) -> bool {
        if usize::from(site) >= Self::SITES {
            self.approximate += 1;
            return false;
        }
        let slot = Slot {
            executed: [0; LANES],
            first: 0,
            next: 0,
            window: 0,
            base: 0,
            touched: false,
            kind,
        };
        let sites = usize::from(site) + 1;
        self.slots.resize(sites << self.warp_bits, slot);
        self.totals.resize(sites, SiteTraffic::default());
        self.record_first(thread, site, kind, address)
    }

    /// [`Traffic::record`] for an execution that no other lane has come to, or that is closed.
    #[inline(never)]
    fn record_first(&mut self, thread: u16, site: u16, kind: SiteKind, address: u64) -> bool {
        let (warp, lane) = (usize::from(thread) / LANES, usize::from(thread) % LANES);
        let index = usize::from(site) << self.warp_bits | warp;
        let mut addresses = [0; LANES];
        addresses[lane] = address;
        let missing = self.warps[warp].missing;
        let entry = Entry {
            lanes: missing | 1 << lane,
            addresses,
        };
        let slot = &mut self.slots[index];
        let execution = slot.executed[lane];
        slot.executed[lane] = execution.wrapping_add(1);
        if execution != slot.next {
            // Closed: nobody can be beyond the last one that somebody came to.
            self.approximate += 1;
            self.totals[usize::from(site)].count(kind, missing, &entry);
            return false;
        }
        slot.next = execution.wrapping_add(1);
        if !slot.touched {
            slot.touched = true;
            slot.kind = kind;
            self.warps[warp].touched.push(index as u32);
        }
        if slot.first == execution {
            if entry.lanes == u32::MAX {
                slot.first = slot.next;
                self.totals[usize::from(site)].count(kind, missing, &entry);
                return false;
            }
            slot.base = execution;
        }
        let offset = execution.wrapping_sub(slot.base);
        if offset.is_multiple_of(Self::WINDOW) {
            self.open_window(warp, index);
        }
        let slot = &self.slots[index];
        let window = self.window_at(slot, execution);
        let offset = execution.wrapping_sub(slot.base) % Self::WINDOW;
        self.entries[(window * Self::WINDOW + offset) as usize] = entry;
        offset == Self::WINDOW - 1 || self.warps[warp].windows + 4 > Self::WINDOWS
    }

    /// The window of an open execution.
    fn window_at(&self, slot: &Slot, execution: u32) -> u32 {
        let windows = execution.wrapping_sub(slot.base) / Self::WINDOW;
        (0..windows).fold(slot.window, |window, _| self.following[window as usize])
    }

    /// Gives a slot a window for its last execution, the first one in it.
    fn open_window(&mut self, warp: usize, index: usize) {
        if self.warps[warp].windows == Self::WINDOWS {
            // Nobody let the other lanes catch up.
            let slot = &mut self.slots[index];
            let last = slot.next.wrapping_sub(1);
            if slot.first == last {
                // All windows are with other sites.
                slot.next = last;
                self.close(warp, u32::MAX);
                self.slots[index].next = last.wrapping_add(1);
            } else {
                let closed = slot.base.wrapping_add(Self::WINDOW).wrapping_sub(slot.first);
                self.complete(index, closed);
            }
        }
        let window = self.free.pop().unwrap_or_else(|| {
            let window = self.following.len();
            let entry = Entry {
                lanes: 0,
                addresses: [0; LANES],
            };
            self.following.push(0);
            self.entries.resize((window + 1) * Self::WINDOW as usize, entry);
            window as u32
        });
        self.warps[warp].windows += 1;
        let slot = &self.slots[index];
        let last = slot.next.wrapping_sub(1);
        if last == slot.base {
            self.slots[index].window = window;
        } else {
            let before = self.window_at(slot, last.wrapping_sub(1));
            self.following[before as usize] = window;
        }
    }

    /// Evaluates the first `count` open executions of a slot.
    fn complete(&mut self, index: usize, count: u32) {
        let (site, warp) = (index >> self.warp_bits, index & ((1 << self.warp_bits) - 1));
        let (slot, warp, total) = (&mut self.slots[index], &mut self.warps[warp], &mut self.totals[site]);
        for _ in 0..count {
            let offset = slot.first.wrapping_sub(slot.base);
            total.count(
                slot.kind,
                warp.missing,
                &self.entries[(slot.window * Self::WINDOW + offset) as usize],
            );
            slot.first = slot.first.wrapping_add(1);
            if offset + 1 == Self::WINDOW || slot.first == slot.next {
                self.free.push(slot.window);
                warp.windows -= 1;
                slot.window = self.following[slot.window as usize];
                slot.base = slot.base.wrapping_add(Self::WINDOW);
            }
        }
    }

    /// The lanes of `warp` have run as far as they can; those in `waiting` wait at a barrier or for other lanes, have
    /// exited or do not exist.
    ///
    /// Evaluates what all other lanes have passed. If all lanes wait, they have met: executions count from 0 again.
    pub(crate) fn settle(&mut self, warp: u16, waiting: u32) {
        let warp = usize::from(warp);
        if self.warps[warp].touched.is_empty() {
            return;
        }
        self.close(warp, waiting);
        if waiting | self.warps[warp].missing == u32::MAX {
            self.meet(warp);
        }
    }

    /// All threads of the block have met, or ended.
    pub(crate) fn barrier(&mut self) {
        for warp in 0..self.warps.len() {
            if !self.warps[warp].touched.is_empty() {
                self.close(warp, u32::MAX);
                self.meet(warp);
            }
        }
    }

    /// Evaluates what the lanes of a warp that are not in `waiting` have passed.
    fn close(&mut self, warp: usize, waiting: u32) {
        let waiting = waiting | self.warps[warp].missing;
        let touched = std::mem::take(&mut self.warps[warp].touched);
        for &index in &touched {
            let index = index as usize;
            let slot = &self.slots[index];
            let open = slot.next.wrapping_sub(slot.first);
            if open == 0 {
                continue;
            }
            // A lane that came to closed executions may still be at one: it keeps all others open.
            let passed = (0..LANES).filter(|lane| waiting >> lane & 1 == 0).map(|lane| {
                let ahead = slot.executed[lane].wrapping_sub(slot.first);
                if ahead > open { 0 } else { ahead }
            });
            let count = passed.min().unwrap_or(open);
            self.complete(index, count);
        }
        self.warps[warp].touched = touched;
    }

    /// Lets the counters of a warp without open executions begin again.
    fn meet(&mut self, warp: usize) {
        let Self { warps, slots, .. } = self;
        for index in warps[warp].touched.drain(..) {
            let slot = &mut slots[index as usize];
            slot.executed = [0; LANES];
            (slot.first, slot.next) = (0, 0);
            slot.touched = false;
        }
    }

    /// What each site cost so far, in the order of their numbers; a site without a complete execution has no requests.
    pub(crate) fn totals(&self) -> &[SiteTraffic] {
        &self.totals
    }

    /// Accesses that could not be put together with those of other lanes: evaluated alone, or at sites from
    /// [`Traffic::SITES`] on and not evaluated.
    pub(crate) fn approximate(&self) -> u64 {
        self.approximate
    }
}
