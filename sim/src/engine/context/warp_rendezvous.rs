//! Rendezvous of a warp's lanes: `sync_warp`, exchanges of values, instructions of the whole warp.

use std::array;
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;

use crate::device::{LaneWords, WarpValues};
use crate::fault::{FaultKind, SourceLocation};

use super::threads::{Status, Thread};
use super::{BlockContext, WARP};

/// The kind of a warp rendezvous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WarpOp {
    /// `sync_warp`: orders memory.
    Sync,
    /// A shuffle, vote or the like: orders nothing.
    Exchange,
    /// An instruction of the whole warp, at one source location: orders nothing.
    Instruction,
    /// `activemask`: of the lanes that are at one source location when no other lane of the warp can run.
    ActiveMask,
}

/// A lane's operands and results of a warp rendezvous.
#[derive(Default)]
pub(super) struct LaneExchange {
    /// The mask of the rendezvous that the lane waits at.
    mask: Cell<u32>,
    /// The name of the function that the lane waits in.
    function: Cell<&'static str>,
    /// Result of the last exchange.
    values: RefCell<Option<Rc<WarpValues>>>,
    /// Operand of an instruction of the whole warp.
    words: Cell<LaneWords>,
    /// All lanes' operands of the last one.
    gathered: RefCell<Option<Rc<[LaneWords; WARP]>>>,
}

impl LaneExchange {
    /// Drops the results.
    pub(super) fn clear(&self) {
        self.values.take();
        self.gathered.take();
    }
}

impl BlockContext {
    /// The lanes of the running thread's warp that execute `activemask` at `location` together: as many as possible.
    pub(crate) fn active_mask(&self, location: &'static Location<'static>) -> u32 {
        if self.is_unwinding() {
            return 1 << self.lane();
        }
        self.wait(Status::Warp(WarpOp::ActiveMask), location);
        self.threads.running().value.get() as u32
    }

    /// Completes every `activemask` of the warp, none of whose lanes can run; returns whether there was any.
    pub(super) fn complete_active_masks(&self, warp: usize) -> bool {
        let lanes = self.threads.lanes(warp);
        let waits = |thread: &Thread| thread.is(Status::Warp(WarpOp::ActiveMask));
        let waiting: Vec<usize> = (0..lanes.len()).filter(|&lane| waits(&lanes[lane])).collect();
        for &lane in &waiting {
            let is_here = |&&other: &&usize| lanes[other].location.get() == lanes[lane].location.get();
            let mask = waiting
                .iter()
                .filter(is_here)
                .fold(0_u32, |mask, other| mask | 1 << other);
            lanes[lane].value.set(mask.into());
        }
        for &lane in &waiting {
            lanes[lane].status.set(Status::Ready);
        }
        !waiting.is_empty()
    }

    fn live_lanes(&self, warp: usize) -> u32 {
        let lanes = self.threads.lanes(warp).iter().enumerate();
        lanes
            .filter(|(_, thread)| !thread.is(Status::Exited))
            .fold(0, |mask, (lane, _)| mask | 1 << lane)
    }

    /// Waits for the lanes of `mask`.
    fn rendezvous(
        &self,
        (op, function): (WarpOp, &'static str),
        mask: u32,
        value: u64,
        location: &'static Location<'static>,
    ) {
        let lane = self.lane();
        if mask >> lane & 1 == 0 {
            self.fatal(FaultKind::WarpMask { mask, lane }, Some(location), None);
        }
        let thread = self.threads.running();
        thread.exchange.mask.set(mask);
        thread.exchange.function.set(function);
        thread.value.set(value);
        self.wait(Status::Warp(op), location);
    }

    /// `sync_warp`.
    pub(crate) fn sync_warp(&self, mask: u32, location: &'static Location<'static>) {
        if !self.is_unwinding() {
            self.rendezvous((WarpOp::Sync, "sync_warp"), mask, 0, location);
        }
    }

    /// Exchanges `value` with the lanes of `mask`, which are in the same `function`; returns the values of all of them.
    pub(crate) fn exchange(
        &self,
        function: &'static str,
        mask: u32,
        value: u64,
        location: &'static Location<'static>,
    ) -> Rc<WarpValues> {
        if self.is_unwinding() {
            let lane = self.lane();
            return Rc::new(WarpValues {
                lane,
                mask: 1 << lane,
                values: [value; WARP],
            });
        }
        self.rendezvous((WarpOp::Exchange, function), mask, value, location);
        let values = self.threads.running().exchange.values.take();
        values.expect("the rendezvous leaves its values")
    }

    /// All lanes' operands of the whole warp's instruction at `location`.
    pub(crate) fn gather(&self, words: LaneWords, location: &'static Location<'static>) -> Rc<[LaneWords; WARP]> {
        if self.is_unwinding() {
            return Rc::new([words; WARP]);
        }
        let thread = self.threads.running();
        thread.exchange.words.set(words);
        let op = (WarpOp::Instruction, "an instruction of the whole warp");
        self.rendezvous(op, u32::MAX, 0, location);
        let gathered = thread.exchange.gathered.take();
        gathered.expect("the rendezvous leaves the operands")
    }

    /// Whether all lanes that `thread` waits for wait for it, but in another function: ends the block.
    fn meets_another_function<'a>(
        &self,
        warp: usize,
        thread: &Thread,
        mut participants: impl Iterator<Item = (usize, &'a Thread)> + Clone,
    ) -> bool {
        let key = |thread: &Thread| (thread.status.get(), thread.exchange.function.get());
        let meets = |other: &Thread| {
            let waits = matches!(other.status.get(), Status::Warp(op) if op != WarpOp::ActiveMask);
            waits && other.exchange.mask.get() == thread.exchange.mask.get()
        };
        if !participants.clone().all(|(_, other)| meets(other)) {
            return false;
        }
        let Some((lane, other)) = participants.find(|(_, other)| key(other) != key(thread)) else {
            return false;
        };
        let number = warp * WARP
            + self
                .threads
                .lanes(warp)
                .iter()
                .position(|lane| std::ptr::eq(lane, thread))
                .unwrap_or(0);
        let kind = FaultKind::WarpMismatch {
            here: thread.exchange.function.get().to_owned(),
            there: other.exchange.function.get().to_owned(),
        };
        let there = other
            .location
            .get()
            .map(|location| self.other_thread(warp * WARP + lane, location));
        self.record(number, kind, thread.location.get().map(SourceLocation::from), there);
        self.faults.abort();
        true
    }

    /// The running thread reads the value of a lane that takes no part in the exchange: undefined on a GPU. Returns
    /// bits that differ from lane to lane and from run to run.
    pub(crate) fn absent_lane(&self, lane: u32) -> u64 {
        let thread = self.threads.running();
        let mask = thread.exchange.mask.get();
        self.fault(FaultKind::AbsentLane { mask, lane }, thread.location.get(), None);
        // splitmix64.
        let seed =
            u64::from(self.launch.config.poison) << 32 | u64::from(lane) << 16 | self.threads.running_number() as u64;
        let mut bits = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// Whether a rendezvous of the warp can be complete now that `thread` has stopped: where it waits, its own, if all
    /// lanes of its mask wait; where it has exited, any. Lanes arrive one by one, and only the last arrival is worth a
    /// look at all of them.
    pub(super) fn may_complete(&self, warp: usize, thread: &Thread) -> bool {
        let Status::Warp(op) = thread.status.get() else {
            return thread.is(Status::Exited);
        };
        let mask = thread.exchange.mask.get();
        let lanes = self.threads.lanes(warp).iter().enumerate();
        let mut members = lanes.filter(|(lane, _)| mask >> lane & 1 == 1);
        op != WarpOp::ActiveMask
            && members.all(|(_, other)| match other.status.get() {
                Status::Warp(_) => other.exchange.mask.get() == mask,
                other => other == Status::Exited,
            })
    }

    /// Completes every rendezvous of the warp whose lanes have all arrived; returns whether there was any.
    ///
    /// A rendezvous has the lanes of one mask that have not exited and execute the same operation (PTX ISA,
    /// "bar.warp.sync", "shfl.sync": the executing thread waits for all non-exited threads of the mask). An instruction
    /// of the whole warp needs all 32 lanes, at one source location ("ldmatrix": undefined if any thread has exited, or
    /// if they do not execute the same one): if one is missing, the others wait forever.
    pub(super) fn complete_warp_rendezvous(&self, warp: usize) -> bool {
        let live = self.live_lanes(warp);
        let lanes = self.threads.lanes(warp);
        let mut completed = false;
        for thread in lanes {
            let Status::Warp(op) = thread.status.get() else {
                continue;
            };
            if op == WarpOp::ActiveMask {
                continue;
            }
            let mask = thread.exchange.mask.get();
            let (whole, location) = (op == WarpOp::Instruction, thread.location.get());
            if whole && lanes.len() < WARP {
                continue;
            }
            let members = if whole { mask } else { mask & live };
            let is_member = |&(lane, _): &(usize, &Thread)| members >> lane & 1 == 1;
            let has_arrived = |other: &Thread| {
                other.is(Status::Warp(op))
                    && other.exchange.mask.get() == mask
                    && (!whole || other.location.get() == location)
            };
            let participants = || lanes.iter().enumerate().filter(is_member);
            if self.meets_another_function(warp, thread, participants()) {
                return false;
            }
            if !participants().all(|(_, other)| has_arrived(other)) {
                continue;
            }
            match op {
                WarpOp::Sync => {
                    let first = (warp * WARP) as u16;
                    let threads = participants().map(|(lane, _)| first + lane as u16);
                    self.analysis.borrow_mut().sync.join(threads);
                }
                WarpOp::ActiveMask => {}
                WarpOp::Instruction => {
                    let words = Rc::new(array::from_fn(|lane| lanes[lane].exchange.words.get()));
                    for other in lanes {
                        other.exchange.gathered.replace(Some(Rc::clone(&words)));
                    }
                }
                WarpOp::Exchange => {
                    let mut values = [0; WARP];
                    participants().for_each(|(lane, other)| values[lane] = other.value.get());
                    for (lane, other) in participants() {
                        other.exchange.values.replace(Some(Rc::new(WarpValues {
                            lane: lane as u32,
                            mask: members,
                            values,
                        })));
                    }
                }
            }
            participants().for_each(|(_, other)| other.status.set(Status::Ready));
            self.threads.note_progress();
            completed = true;
        }
        completed
    }
}
