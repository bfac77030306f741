//! Barriers of some of the block's warps (PTX ISA, "bar.sync", "bar.arrive" with a thread count).
//!
//! A warp has arrived when all its lanes have; a barrier opens when the warps that have arrived make up its count, and
//! can be used again. Threads that wait there are ordered among themselves and after what the others did before they
//! arrived.

use std::panic::Location;

use crate::analysis::sync_vars::Arrivals;
use crate::fault::{FaultKind, OtherAccess};

use super::slot::{Slot, Status, WARP};

/// Barriers of a block, with the block's own, which has number 0 (PTX ISA, "bar": numbered 0..15).
const BARRIERS: u32 = 16;
/// Warps of a block, at most.
const WARPS: usize = 32;

/// The named barriers of a block, by number.
#[derive(Default)]
pub(super) struct NamedBarriers([NamedBarrier; BARRIERS as usize]);

/// Who has come since the barrier last opened.
#[derive(Default)]
struct NamedBarrier {
    /// The first thread, how many open the barrier as it said, and where.
    first: Option<(usize, u32, &'static Location<'static>)>,
    /// By warp, its lanes.
    arrived: [u32; WARPS],
    waiting: Vec<u16>,
    arrivals: Arrivals,
}

impl Slot {
    /// Arrives at a named barrier, and waits there if it says so.
    pub(crate) fn named_barrier(&self, id: u32, threads: u32, waits: bool, site: &'static Location<'static>) {
        self.check_watch();
        let thread = self.thread.get();
        let all = self.threads.len().next_multiple_of(WARP) as u32;
        if !(1..BARRIERS).contains(&id) {
            let last = BARRIERS - 1;
            self.refuse(
                id,
                format!("there are barriers 1 to {last}, and 0, the block's"),
                None,
                site,
            );
        }
        if threads == 0 || !threads.is_multiple_of(WARP as u32) || threads > all {
            let problem = format!("a count of {threads} threads, it is a multiple of {WARP} up to the block's {all}");
            self.refuse(id, problem, None, site);
        }
        let mut barriers = self.named_barriers.borrow_mut();
        let barrier = &mut barriers.0[id as usize];
        let (first, expected, first_site) = *barrier.first.get_or_insert((thread, threads, site));
        let (warp, lane) = (thread / WARP, thread % WARP);
        let is_back = barrier.arrived[warp] >> lane & 1 == 1;
        if expected != threads || is_back {
            drop(barriers);
            let problem = if is_back {
                format!("the thread arrives again before the {expected} threads have that open it")
            } else {
                format!("a count of {threads} threads here, of {expected} where the first thread arrived")
            };
            self.refuse(id, problem, Some((first, first_site)), site);
        }
        barrier.arrived[warp] |= 1 << lane;
        if waits {
            barrier.waiting.push(thread as u16);
        } else {
            self.analysis
                .borrow_mut()
                .sync
                .arrive(thread as u16, &mut barrier.arrivals);
        }
        let is_whole = |warp: usize, lanes: u32| {
            let existing = self.threads.len().saturating_sub(warp * WARP).min(WARP);
            lanes.count_ones() as usize == existing
        };
        let came = || {
            (0..WARPS)
                .map(|warp| (warp, barrier.arrived[warp]))
                .filter(|&(_, lanes)| lanes != 0)
        };
        let whole = came().filter(|&(warp, lanes)| is_whole(warp, lanes)).count();
        let opens = (whole * WARP) as u32 == expected;
        if opens && came().count() > whole {
            let lanes: u32 = came().map(|(_, lanes)| lanes.count_ones()).sum();
            drop(barriers);
            let problem = format!("{lanes} threads have arrived where {expected} open it");
            self.refuse(id, problem, None, site);
        }
        if opens {
            let NamedBarrier { waiting, arrivals, .. } = std::mem::take(barrier);
            drop(barriers);
            if !waiting.is_empty() {
                self.analysis.borrow_mut().sync.meet(&waiting, &arrivals);
            }
            for thread in waiting {
                self.threads[usize::from(thread)].status.set(Status::Ready);
            }
            self.woken.set(true);
            self.note_change();
            self.run.watch.met(self.number);
        } else {
            drop(barriers);
            if waits {
                self.wait(Status::NamedBarrier, site);
            }
        }
    }

    /// Ends the block: the barrier cannot be what the threads make of it.
    #[cold]
    fn refuse(
        &self,
        id: u32,
        problem: String,
        other: Option<(usize, &'static Location<'static>)>,
        site: &'static Location<'static>,
    ) -> ! {
        let other = other.map(|(thread, site)| OtherAccess {
            access: None,
            block: self.block_idx.get(),
            thread: self.thread_position(thread),
            site: site.into(),
        });
        self.fatal(FaultKind::NamedBarrier { id, problem }, Some(site), other)
    }
}
