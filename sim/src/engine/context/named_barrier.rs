//! Named barriers: barriers of some of the block's warps (PTX ISA, "bar.sync", "bar.arrive" with a thread count).
//!
//! A warp has arrived when all its lanes have. A barrier completes when the arrived warps make up its thread count, and
//! can then be used again. Threads that wait are ordered among themselves and after everything that the other threads
//! did before they arrived.

use std::panic::Location;

use crate::analysis::sync_vars::Arrivals;
use crate::fault::FaultKind;

use super::threads::Status;
use super::{BlockContext, WARP};

/// Barriers of a block, including number 0, the block's own (PTX ISA, "bar": numbered 0..15).
const BARRIERS: u32 = 16;
/// Warps of a block, at most.
const WARPS: usize = 32;

/// The named barriers of a block, by number.
#[derive(Default)]
pub(super) struct NamedBarriers([NamedBarrier; BARRIERS as usize]);

/// The arrivals since the barrier last completed.
#[derive(Default)]
struct NamedBarrier {
    /// The first thread, its thread count, and its source location.
    first: Option<(usize, u32, &'static Location<'static>)>,
    /// By warp, the mask of its lanes.
    arrived: [u32; WARPS],
    waiting: Vec<u16>,
    arrivals: Arrivals,
}

impl BlockContext {
    /// `bar.arrive`, or `bar.sync` if `waits`.
    pub(crate) fn named_barrier(&self, id: u32, threads: u32, waits: bool, location: &'static Location<'static>) {
        if self.is_unwinding() {
            return;
        }
        self.check_watchdog();
        let thread = self.threads.running_number();
        let all = self.threads.len().next_multiple_of(WARP) as u32;
        if !(1..BARRIERS).contains(&id) {
            let last = BARRIERS - 1;
            self.refuse(
                id,
                format!("there are barriers 1 to {last}, and 0, the block's"),
                None,
                location,
            );
        }
        if threads == 0 || !threads.is_multiple_of(WARP as u32) || threads > all {
            let problem = format!("a count of {threads} threads, it is a multiple of {WARP} up to the block's {all}");
            self.refuse(id, problem, None, location);
        }
        let mut barriers = self.barriers.named.borrow_mut();
        let barrier = &mut barriers.0[id as usize];
        let (first, expected, first_location) = *barrier.first.get_or_insert((thread, threads, location));
        let (warp, lane) = (thread / WARP, thread % WARP);
        let is_back = barrier.arrived[warp] >> lane & 1 == 1;
        if expected != threads || is_back {
            drop(barriers);
            let problem = if is_back {
                format!("the thread arrives again before the {expected} threads have that open it")
            } else {
                format!("a count of {threads} threads here, of {expected} where the first thread arrived")
            };
            self.refuse(id, problem, Some((first, first_location)), location);
        }
        barrier.arrived[warp] |= 1 << lane;
        if waits {
            barrier.waiting.push(thread as u16);
        } else {
            let sync = &mut self.analysis.borrow_mut().sync;
            sync.arrive(thread as u16, &mut barrier.arrivals);
        }
        let is_whole = |warp: usize, lanes: u32| {
            let existing = self.threads.len().saturating_sub(warp * WARP).min(WARP);
            lanes.count_ones() as usize == existing
        };
        let arrived = || {
            (0..WARPS)
                .map(|warp| (warp, barrier.arrived[warp]))
                .filter(|&(_, lanes)| lanes != 0)
        };
        let whole = arrived().filter(|&(warp, lanes)| is_whole(warp, lanes)).count();
        let completes = (whole * WARP) as u32 == expected;
        if completes && arrived().count() > whole {
            let lanes: u32 = arrived().map(|(_, lanes)| lanes.count_ones()).sum();
            drop(barriers);
            let problem = format!("{lanes} threads have arrived where {expected} open it");
            self.refuse(id, problem, None, location);
        }
        if completes {
            let NamedBarrier { waiting, arrivals, .. } = std::mem::take(barrier);
            drop(barriers);
            if !waiting.is_empty() {
                let sync = &mut self.analysis.borrow_mut().sync;
                sync.complete_named_barrier(&waiting, &arrivals);
            }
            for thread in waiting {
                self.threads.get(thread.into()).status.set(Status::Ready);
            }
            self.threads.wake();
            self.note_change();
            self.watchdog.reset();
        } else {
            drop(barriers);
            if waits {
                self.wait(Status::NamedBarrier, location);
            }
        }
    }

    /// An impossible use of the barrier: ends the block.
    #[cold]
    fn refuse(
        &self,
        id: u32,
        problem: String,
        other: Option<(usize, &'static Location<'static>)>,
        location: &'static Location<'static>,
    ) -> ! {
        let other = other.map(|(thread, location)| self.other_thread(thread, location));
        self.fatal(FaultKind::NamedBarrier { id, problem }, Some(location), other)
    }
}
