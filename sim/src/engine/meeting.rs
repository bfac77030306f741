//! Meetings of lanes: barriers of a warp, and exchanges of values.

use std::rc::Rc;

use crate::device::WarpValues;

use super::slot::{Slot, Status, WARP, WarpOp};

impl Slot {
    /// Holds every meeting of the warp whose lanes are all there; tells whether any was held.
    ///
    /// A meeting is of the lanes of one mask that have not exited and ask for the same (PTX ISA, "bar.warp.sync", "shfl.sync": the executing
    /// thread waits for all non-exited threads of the mask).
    pub(super) fn hold_meetings(&self, warp: usize) -> bool {
        let live = self.live_lanes(warp);
        let lanes = &self.threads[warp * WARP..self.threads.len().min((warp + 1) * WARP)];
        let mut held = false;
        for thread in lanes {
            let Status::Warp(op) = thread.status.get() else {
                continue;
            };
            let mask = thread.mask.get();
            let members = mask & live;
            let is_member = |&(lane, _): &(usize, _)| members >> lane & 1 == 1;
            let here = |other: &super::slot::Thread| other.status.get() == Status::Warp(op) && other.mask.get() == mask;
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
