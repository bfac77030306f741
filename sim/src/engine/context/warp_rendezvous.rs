//! Rendezvous of a warp's lanes: `sync_warp`, exchanges of values, instructions of the whole warp.

use std::array;
use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::rc::Rc;

use crate::device::{LaneWords, WarpValues};
use crate::fault::FaultKind;

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
}

/// A lane's operands and results of a warp rendezvous.
#[derive(Default)]
pub(super) struct LaneExchange {
    /// The mask of the rendezvous that the lane waits at.
    mask: Cell<u32>,
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
    /// The lanes of the running thread's warp that have not exited.
    pub(crate) fn active_mask(&self) -> u32 {
        self.live_lanes(self.threads.running_number() / WARP)
    }

    fn live_lanes(&self, warp: usize) -> u32 {
        let lanes = self.threads.lanes(warp).iter().enumerate();
        lanes
            .filter(|(_, thread)| !thread.is(Status::Exited))
            .fold(0, |mask, (lane, _)| mask | 1 << lane)
    }

    /// Waits for the lanes of `mask`.
    fn rendezvous(&self, op: WarpOp, mask: u32, value: u64, location: &'static Location<'static>) {
        let lane = self.lane();
        if mask >> lane & 1 == 0 {
            self.fatal(FaultKind::WarpMask { mask, lane }, Some(location), None);
        }
        let thread = self.threads.running();
        thread.exchange.mask.set(mask);
        thread.value.set(value);
        self.wait(Status::Warp(op), location);
    }

    /// `sync_warp`.
    pub(crate) fn sync_warp(&self, mask: u32, location: &'static Location<'static>) {
        if !self.is_unwinding() {
            self.rendezvous(WarpOp::Sync, mask, 0, location);
        }
    }

    /// Exchanges `value` with the lanes of `mask`; returns the values of all of them.
    pub(crate) fn exchange(&self, mask: u32, value: u64, location: &'static Location<'static>) -> Rc<WarpValues> {
        if self.is_unwinding() {
            let lane = self.lane();
            return Rc::new(WarpValues {
                lane,
                mask: 1 << lane,
                values: [value; WARP],
            });
        }
        self.rendezvous(WarpOp::Exchange, mask, value, location);
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
        self.rendezvous(WarpOp::Instruction, u32::MAX, 0, location);
        let gathered = thread.exchange.gathered.take();
        gathered.expect("the rendezvous leaves the operands")
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
            if !participants().all(|(_, other)| has_arrived(other)) {
                continue;
            }
            match op {
                WarpOp::Sync => {
                    let first = (warp * WARP) as u16;
                    let threads = participants().map(|(lane, _)| first + lane as u16);
                    self.analysis.borrow_mut().sync.join(threads);
                }
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
