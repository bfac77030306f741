//! Cost of the accesses of a block's warps, by source location.
//!
//! The simulator runs threads one after another; the hardware executes one instruction for all lanes of a warp. To
//! count as the hardware does, accesses are combined: the `n`-th execution of a location by one lane and the `n`-th by
//! another are the same instruction, counted from the last rendezvous of the whole warp. For each warp and location the
//! executions that are not complete are kept, in windows of [`Traffic::WINDOW`]. An execution is complete when every
//! lane has passed it or waits; [`banks`] then evaluates it.
//!
//! This is exact as long as lanes that execute a location equally often do it together, as they do on hardware where
//! branches reconverge. When all of a warp's windows are in use, the oldest executions are closed although some lanes
//! have not passed them. A lane that reaches one of these is evaluated alone and counted in [`Traffic::approximate`].
//! Accesses at locations beyond the bound below are only counted there.
//!
//! # Memory
//!
//! For each warp, 148 bytes for each location, up to [`Traffic::LOCATIONS`], and 8.25 KiB for each window, up to
//! [`Traffic::WINDOWS`]: 5.3 KiB a thread for a kernel of 20 locations, never more than 35 KiB a thread.

use std::ops::Range;

use super::banks::{self, SharedAccess};
use super::source_locations::AccessClass;
use super::{LANES, Op};
use crate::access::{Instruction, Space};

/// The accesses of a worker's blocks.
pub(crate) struct Traffic {
    warps: Vec<Warp>,
    /// At `location << warp_bits | warp`.
    executions: Vec<Executions>,
    warp_bits: u32,
    /// The windows, [`Traffic::WINDOW`] entries each.
    entries: Vec<Entry>,
    /// For each window, the next one of the same own.
    following: Vec<u32>,
    /// Windows that are not in use.
    free: Vec<u32>,
    totals: Vec<LocationTraffic>,
    approximate: u64,
}

#[derive(Default)]
struct Warp {
    /// Mask of lanes that do not exist.
    missing: u32,
    /// Locations with counters that are not 0.
    touched: Vec<u32>,
    /// Windows in use.
    windows: usize,
}

/// The executions of one source location by one warp.
#[derive(Clone)]
struct Executions {
    /// How often each lane has executed the location.
    executed: [u32; LANES],
    /// The first execution that is not complete.
    first: u32,
    /// The first that no lane has reached.
    next: u32,
    /// The first window, if any execution is open; the others follow it.
    window: u32,
    /// The execution that is the first entry of the first window.
    base: u32,
    touched: bool,
    class: AccessClass,
}

/// One execution.
#[derive(Clone)]
struct Entry {
    /// Lanes that have reached it, or do not exist.
    lanes: u32,
    addresses: [u64; LANES],
}

/// A lane that is about to join others in an execution: see [`Traffic::join`].
pub(crate) struct Joining<'a> {
    executed: &'a mut u32,
    address: &'a mut u64,
    entry_lanes: &'a mut u32,
    /// The lanes that have reached it then.
    lanes: u32,
}

impl Joining<'_> {
    /// Records the lane's access.
    #[inline(always)]
    pub(crate) fn record(self, address: u64) {
        *self.executed = self.executed.wrapping_add(1);
        *self.address = address;
        *self.entry_lanes = self.lanes;
    }
}

/// Cost of one source location.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LocationTraffic {
    /// Instructions of warps.
    pub(crate) requests: u64,
    /// Lanes that took part, over all requests.
    pub(crate) lanes: u64,
    /// Wavefronts of shared memory, or sectors of global memory.
    pub(crate) actual: u64,
    /// How many there would be at best: [`Wavefronts::ideal`](banks::Wavefronts::ideal),
    /// [`Sectors::ideal`](banks::Sectors::ideal).
    pub(crate) ideal: u64,
    /// Bytes that the lanes access, those that several access once for each.
    pub(crate) bytes: u64,
}

impl LocationTraffic {
    /// A transfer that one thread issues, in ascending `pieces` of adjacent bytes. It takes the units of `unit` bytes
    /// that they touch.
    pub(crate) fn of_transfer(unit: u64, pieces: impl Iterator<Item = Range<u64>>) -> Self {
        let mut transfer = Self {
            requests: 1,
            lanes: 1,
            ..Self::default()
        };
        // The units below are counted.
        let mut next = 0;
        for piece in pieces.filter(|piece| !piece.is_empty()) {
            let end = piece.end.div_ceil(unit);
            transfer.bytes += piece.end - piece.start;
            transfer.actual += end.saturating_sub(next.max(piece.start / unit));
            next = next.max(end);
        }
        transfer.ideal = transfer.bytes.div_ceil(unit);
        transfer
    }

    /// Adds another worker's counts of the same location.
    pub(crate) fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.lanes += other.lanes;
        self.actual += other.actual;
        self.ideal += other.ideal;
        self.bytes += other.bytes;
    }

    fn count(&mut self, class: AccessClass, missing: u32, Entry { lanes, addresses }: &Entry) {
        let mut lanes = lanes & !missing;
        // Without a branch for each lane: most often none is skipped.
        if addresses
            .iter()
            .fold(false, |any, &address| any | (address == Traffic::SKIPPED))
        {
            let skipped = |lane: &usize| addresses[*lane] == Traffic::SKIPPED;
            lanes &= !(0..LANES).filter(skipped).fold(0_u32, |lanes, lane| lanes | 1 << lane);
        }
        if lanes == 0 {
            return;
        }
        let bytes = u32::from(class.bytes);
        let (actual, ideal) = match class.space {
            Space::Shared => {
                let access = match class.op {
                    // The rows of a matrix are no loads of single lanes, which may share a word.
                    _ if class.instruction == Instruction::Matrix => SharedAccess::Store,
                    Op::Read | Op::AtomicLoad => SharedAccess::Load,
                    Op::Write | Op::AtomicStore => SharedAccess::Store,
                    Op::AtomicUpdate => SharedAccess::Atomic,
                };
                let wavefronts = banks::wavefronts(addresses, lanes, bytes, access);
                (wavefronts.actual, wavefronts.ideal)
            }
            Space::Global => {
                let sectors = banks::sectors(addresses, lanes, bytes);
                (sectors.actual, sectors.ideal)
            }
        };
        self.add(Self {
            requests: 1,
            lanes: lanes.count_ones().into(),
            actual: actual.into(),
            ideal: ideal.into(),
            bytes: u64::from(lanes.count_ones()) * u64::from(bytes),
        });
    }
}

impl Traffic {
    /// In place of an address: a guard makes the lane skip the location.
    pub(crate) const SKIPPED: u64 = u64::MAX;
    /// Executions in a window: when a lane has filled one, the others should catch up.
    pub(crate) const WINDOW: u32 = 32;
    /// Windows of a warp, over all locations.
    pub(crate) const WINDOWS: usize = 64;
    /// SourceLocations that are evaluated.
    pub(crate) const LOCATIONS: usize = 4096;

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
            executions: Vec::new(),
            warp_bits: threads.div_ceil(LANES).next_power_of_two().trailing_zeros(),
            entries: Vec::new(),
            following: Vec::new(),
            free: Vec::new(),
            totals: Vec::new(),
            approximate: 0,
        }
    }

    /// `thread` executes `location`, of class `class`, at `address`: an offset into shared memory, or an address in
    /// global memory.
    ///
    /// Returns whether the thread has run far ahead of its warp: the other lanes should run before it goes on, and
    /// [`Traffic::settle`] be called.
    #[inline(always)]
    pub(crate) fn record(&mut self, thread: u16, location: u16, class: AccessClass, address: u64) -> bool {
        let (warp, lane) = (usize::from(thread) / LANES, usize::from(thread) % LANES);
        let index = usize::from(location) << self.warp_bits | warp;
        let Some(own) = self.executions.get_mut(index) else {
            return self.record_new(thread, location, class, address);
        };
        let execution = own.executed[lane];
        let ahead = execution.wrapping_sub(own.first);
        if ahead >= own.next.wrapping_sub(own.first) {
            return self.record_first(thread, location, class, address);
        }
        own.executed[lane] = execution.wrapping_add(1);
        let (mut window, mut offset) = (own.window, execution.wrapping_sub(own.base));
        while offset >= Self::WINDOW {
            window = self.following[window as usize];
            offset -= Self::WINDOW;
        }
        let is_last = offset == Self::WINDOW - 1 && own.next == own.executed[lane];
        let entry = &mut self.entries[(window * Self::WINDOW + offset) as usize];
        entry.addresses[lane] = address;
        entry.lanes |= 1 << lane;
        if entry.lanes == u32::MAX {
            self.complete(index, ahead + 1);
            return false;
        }
        is_last
    }

    /// The common case of [`Traffic::record`]: another lane has reached the execution, others have not, and it is in
    /// the first window. [`Joining::record`] records it. `None` in any other case.
    #[inline(always)]
    pub(crate) fn join(&mut self, thread: u16, location: u16) -> Option<Joining<'_>> {
        let (warp, lane) = (usize::from(thread) / LANES, usize::from(thread) % LANES);
        let own = self
            .executions
            .get_mut(usize::from(location) << self.warp_bits | warp)?;
        let execution = own.executed[lane];
        let is_open = execution.wrapping_sub(own.first) < own.next.wrapping_sub(own.first);
        let offset = execution.wrapping_sub(own.base);
        // With the last one of a window the lane may be far ahead of its warp.
        if !is_open || offset >= Self::WINDOW - 1 {
            return None;
        }
        let entry = self.entries.get_mut((own.window * Self::WINDOW + offset) as usize)?;
        let lanes = entry.lanes | 1 << lane;
        (lanes != u32::MAX).then_some(Joining {
            executed: &mut own.executed[lane],
            lanes,
            address: &mut entry.addresses[lane],
            entry_lanes: &mut entry.lanes,
        })
    }

    /// [`Traffic::record`] at a new location.
    #[cold]
    fn record_new(&mut self, thread: u16, location: u16, class: AccessClass, address: u64) -> bool {
        if usize::from(location) >= Self::LOCATIONS {
            self.approximate += 1;
            return false;
        }
        let own = Executions {
            executed: [0; LANES],
            first: 0,
            next: 0,
            window: 0,
            base: 0,
            touched: false,
            class,
        };
        let locations = usize::from(location) + 1;
        self.executions.resize(locations << self.warp_bits, own);
        self.extend_totals(locations);
        self.record_first(thread, location, class, address)
    }

    fn extend_totals(&mut self, locations: usize) {
        if self.totals.len() < locations {
            self.totals.resize(locations, LocationTraffic::default());
        }
    }

    /// Counts an instruction that is executed as a whole, at `location`.
    pub(crate) fn add(&mut self, location: u16, traffic: LocationTraffic) {
        self.extend_totals(usize::from(location) + 1);
        self.totals[usize::from(location)].add(traffic);
    }

    /// [`Traffic::record`] for an execution that no other lane has reached, or that is closed.
    #[inline(never)]
    fn record_first(&mut self, thread: u16, location: u16, class: AccessClass, address: u64) -> bool {
        let (warp, lane) = (usize::from(thread) / LANES, usize::from(thread) % LANES);
        let index = usize::from(location) << self.warp_bits | warp;
        let missing = self.warps[warp].missing;
        let lanes = missing | 1 << lane;
        let alone = || Entry {
            lanes,
            addresses: [address; LANES],
        };
        let own = &mut self.executions[index];
        let execution = own.executed[lane];
        own.executed[lane] = execution.wrapping_add(1);
        if execution != own.next {
            // Closed: no lane is beyond the last execution that any lane has reached.
            self.approximate += 1;
            self.totals[usize::from(location)].count(class, missing, &alone());
            return false;
        }
        own.next = execution.wrapping_add(1);
        if !own.touched {
            own.touched = true;
            own.class = class;
            self.warps[warp].touched.push(index as u32);
        }
        if own.first == execution {
            if lanes == u32::MAX {
                own.first = own.next;
                self.totals[usize::from(location)].count(class, missing, &alone());
                return false;
            }
            own.base = execution;
        }
        let offset = execution.wrapping_sub(own.base);
        if offset.is_multiple_of(Self::WINDOW) {
            self.open_window(warp, index);
        }
        let own = &self.executions[index];
        let window = self.window_at(own, execution);
        let offset = execution.wrapping_sub(own.base) % Self::WINDOW;
        // Other lanes' addresses are those of an earlier execution until they reach this one.
        let entry = &mut self.entries[(window * Self::WINDOW + offset) as usize];
        entry.lanes = lanes;
        entry.addresses[lane] = address;
        offset == Self::WINDOW - 1 || self.warps[warp].windows + 4 > Self::WINDOWS
    }

    /// The window of an open execution.
    fn window_at(&self, own: &Executions, execution: u32) -> u32 {
        let windows = execution.wrapping_sub(own.base) / Self::WINDOW;
        (0..windows).fold(own.window, |window, _| self.following[window as usize])
    }

    /// Opens a window for the last execution, which is its first entry.
    fn open_window(&mut self, warp: usize, index: usize) {
        if self.warps[warp].windows == Self::WINDOWS {
            // The other lanes were not given a chance to catch up.
            let own = &mut self.executions[index];
            let last = own.next.wrapping_sub(1);
            if own.first == last {
                // All windows are with other locations.
                own.next = last;
                self.close(warp, u32::MAX);
                self.executions[index].next = last.wrapping_add(1);
            } else {
                let closed = own.base.wrapping_add(Self::WINDOW).wrapping_sub(own.first);
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
        let own = &self.executions[index];
        let last = own.next.wrapping_sub(1);
        if last == own.base {
            self.executions[index].window = window;
        } else {
            let before = self.window_at(own, last.wrapping_sub(1));
            self.following[before as usize] = window;
        }
    }

    /// Evaluates the first `count` open executions.
    fn complete(&mut self, index: usize, count: u32) {
        let (location, warp) = (index >> self.warp_bits, index & ((1 << self.warp_bits) - 1));
        let (own, warp, total) = (
            &mut self.executions[index],
            &mut self.warps[warp],
            &mut self.totals[location],
        );
        for _ in 0..count {
            let offset = own.first.wrapping_sub(own.base);
            total.count(
                own.class,
                warp.missing,
                &self.entries[(own.window * Self::WINDOW + offset) as usize],
            );
            own.first = own.first.wrapping_add(1);
            if offset + 1 == Self::WINDOW || own.first == own.next {
                self.free.push(own.window);
                warp.windows -= 1;
                own.window = self.following[own.window as usize];
                own.base = own.base.wrapping_add(Self::WINDOW);
            }
        }
    }

    /// Whether the warp has executed anything since its executions count from 0: if not, [`Traffic::settle`] does
    /// nothing.
    pub(crate) fn is_open(&self, warp: u16) -> bool {
        !self.warps[usize::from(warp)].touched.is_empty()
    }

    /// The lanes of `warp` have run as far as they can; those in `waiting` wait at a barrier or for other lanes, have
    /// exited or do not exist.
    ///
    /// Evaluates the executions that all other lanes have passed. If all lanes wait, executions count from 0 again.
    pub(crate) fn settle(&mut self, warp: u16, waiting: u32) {
        let warp = usize::from(warp);
        self.close(warp, waiting);
        if waiting | self.warps[warp].missing == u32::MAX {
            self.restart(warp);
        }
    }

    /// All threads of the block have reached its barrier, or exited.
    pub(crate) fn barrier(&mut self) {
        for warp in 0..self.warps.len() {
            if !self.warps[warp].touched.is_empty() {
                self.close(warp, u32::MAX);
                self.restart(warp);
            }
        }
    }

    /// Evaluates the executions that all lanes of a warp outside `waiting` have passed.
    fn close(&mut self, warp: usize, waiting: u32) {
        let waiting = waiting | self.warps[warp].missing;
        let touched = std::mem::take(&mut self.warps[warp].touched);
        for &index in &touched {
            let index = index as usize;
            let own = &self.executions[index];
            let open = own.next.wrapping_sub(own.first);
            if open == 0 {
                continue;
            }
            // A lane that reached closed executions may still be at one: it keeps all others open.
            let passed = (0..LANES).filter(|lane| waiting >> lane & 1 == 0).map(|lane| {
                let ahead = own.executed[lane].wrapping_sub(own.first);
                if ahead > open { 0 } else { ahead }
            });
            let count = passed.min().unwrap_or(open);
            self.complete(index, count);
        }
        self.warps[warp].touched = touched;
    }

    /// Restarts the counters of a warp without open executions.
    fn restart(&mut self, warp: usize) {
        let Self { warps, executions, .. } = self;
        for index in warps[warp].touched.drain(..) {
            let own = &mut executions[index as usize];
            own.executed = [0; LANES];
            (own.first, own.next) = (0, 0);
            own.touched = false;
        }
    }

    /// Cost of each location so far, by number. A location without a complete execution has no requests.
    pub(crate) fn totals(&self) -> &[LocationTraffic] {
        &self.totals
    }

    /// Accesses that could not be combined with those of other lanes: evaluated alone, or at locations from
    /// [`Traffic::LOCATIONS`] on and not evaluated.
    pub(crate) fn approximate(&self) -> u64 {
        self.approximate
    }
}
