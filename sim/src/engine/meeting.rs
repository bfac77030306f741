//! Meetings of lanes: barriers of a warp, and exchanges of values.

use std::array;
use std::panic::Location;
use std::rc::Rc;

use crate::device::{LaneWords, WarpValues};

use super::slot::{Slot, Status, WARP, WarpOp};

impl Slot {
    /// Lanes of this warp that have not exited.
    pub(crate) fn active_mask(&self) -> u32 {
        let warp = self.thread.get() / WARP;
        self.live_lanes(warp)
    }

    pub(super) fn live_lanes(&self, warp: usize) -> u32 {
        let lanes = self.threads[warp * WARP..].iter().take(WARP).enumerate();
        lanes
            .filter(|(_, thread)| thread.status.get() != Status::Exited)
            .fold(0, |mask, (lane, _)| mask | 1 << lane)
    }

    /// What all lanes of the warp bring to the instruction at `site`.
    pub(crate) fn gather(&self, words: LaneWords, site: &'static Location<'static>) -> Rc<[LaneWords; WARP]> {
        let thread = self.running();
        thread.words.set(words);
        self.meet(WarpOp::Instruction, u32::MAX, 0, site);
        let gathered = thread.gathered.take();
        gathered.expect("the meeting leaves what was brought")
    }

    /// Holds every meeting of the warp whose lanes are all there; tells whether any was held.
    ///
    /// A meeting is of the lanes of one mask that have not exited and ask for the same (PTX ISA, "bar.warp.sync",
    /// "shfl.sync": the executing thread waits for all non-exited threads of the mask). An instruction of the whole
    /// warp asks for all 32 lanes, at one place ("ldmatrix": undefined if any thread has exited, or if they do not
    /// execute the same one): where one is missing the others wait for ever.
    pub(super) fn hold_meetings(&self, warp: usize) -> bool {
        let live = self.live_lanes(warp);
        let lanes = &self.threads[warp * WARP..self.threads.len().min((warp + 1) * WARP)];
        let mut held = false;
        for thread in lanes {
            let Status::Warp(op) = thread.status.get() else {
                continue;
            };
            let mask = thread.mask.get();
            let (whole, site) = (op == WarpOp::Instruction, thread.site.get());
            if whole && lanes.len() < WARP {
                continue;
            }
            let members = if whole { mask } else { mask & live };
            let is_member = |&(lane, _): &(usize, _)| members >> lane & 1 == 1;
            let here = |other: &super::slot::Thread| {
                other.status.get() == Status::Warp(op)
                    && other.mask.get() == mask
                    && (!whole || other.site.get() == site)
            };
            if !lanes.iter().enumerate().filter(is_member).all(|(_, other)| here(other)) {
                continue;
            }
            let members_of_warp = || lanes.iter().enumerate().filter(is_member);
            match op {
                WarpOp::Sync => {
                    let first = (warp * WARP) as u16;
                    let threads = members_of_warp().map(|(lane, _)| first + lane as u16);
                    self.analysis.borrow_mut().sync.join(threads);
                }
                WarpOp::Instruction => {
                    let words = Rc::new(array::from_fn(|lane| lanes[lane].words.get()));
                    for other in lanes {
                        other.gathered.replace(Some(Rc::clone(&words)));
                    }
                }
                WarpOp::Exchange => {
                    let mut values = [0; WARP];
                    members_of_warp().for_each(|(lane, other)| values[lane] = other.value.get());
                    for (lane, other) in members_of_warp() {
                        other.exchanged.replace(Some(Rc::new(WarpValues {
                            lane: lane as u32,
                            mask: members,
                            values,
                        })));
                    }
                }
            }
            members_of_warp().for_each(|(_, other)| other.status.set(Status::Ready));
            self.progress.set(self.progress.get() + 1);
            held = true;
        }
        held
    }
}
