//! The turns of one block's threads.
//!
//! Warp by warp, in the order of the schedule, every thread runs until it has to wait. When none can go on, the block's
//! barrier opens; what else may happen then, [`blocks`](super::blocks) says. A warp thus runs from barrier to barrier
//! before the next one starts; within it the lanes take turns wherever they meet, and whenever a lane has run far ahead
//! of the others.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;

use crate::device::BarrierOp;
use crate::fault::{FaultKind, OtherAccess, Site};
use crate::schedule::Turns;

use super::CURRENT;
use super::fiber::{Exit, Fiber, STACK_BYTES, Trap};
use super::grid::Stuck;
use super::run::intern_file;
use super::slot::{Slot, Status, WARP};

impl Slot {
    /// The threads of each warp, in the order of their turns.
    pub(super) fn order(&self, turns: &mut Turns) -> Vec<Vec<usize>> {
        let threads = self.threads.len();
        let mut warps: Vec<Vec<usize>> = (0..threads.div_ceil(WARP))
            .map(|warp| {
                let mut lanes: Vec<usize> = (warp * WARP..threads.min((warp + 1) * WARP)).collect();
                turns.arrange(&mut lanes);
                lanes
            })
            .collect();
        turns.arrange(&mut warps);
        warps
    }

    /// Lets the lanes of a warp run until all of them wait.
    pub(super) fn run_warp(&self, lanes: &[usize]) {
        let Some(&first) = lanes.first() else { return };
        let warp = first / WARP;
        loop {
            let mut ran = false;
            for &thread in lanes {
                while self.threads[thread].status.get() == Status::Ready {
                    ran = true;
                    self.run_thread(thread);
                    if self.aborted.get() {
                        return;
                    }
                    if !matches!(self.threads[thread].status.get(), Status::Warp(_) | Status::Exited)
                        || !self.hold_meetings(warp)
                    {
                        break;
                    }
                }
            }
            if !ran {
                return;
            }
            self.settle(warp);
        }
    }

    /// Closes what the accesses of a warp's waiting lanes add up to.
    fn settle(&self, warp: usize) {
        let waiting = (0..WARP as u32).filter(|lane| {
            let thread = self.threads.get(warp * WARP + *lane as usize);
            thread.is_none_or(|thread| thread.status.get() != Status::Ready)
        });
        let waiting = waiting.fold(0, |mask, lane| mask | 1 << lane);
        self.analysis.borrow_mut().traffic.settle(warp as u16, waiting);
    }

    /// Lets one thread run until it waits.
    fn run_thread(&self, thread: usize) {
        self.thread.set(thread);
        self.thread_idx.set(self.thread_position(thread));
        let own = &self.threads[thread];
        let mut fiber = match own.fiber.take() {
            Some(fiber) => fiber,
            None => match self.start(thread) {
                Ok(fiber) => fiber,
                Err(error) => {
                    self.lack(format!("no memory for the stack of a thread: {error}"));
                    self.aborted.set(true);
                    return;
                }
            },
        };
        CURRENT.set(self);
        let exit = fiber.resume();
        CURRENT.set(std::ptr::null());
        let Some(exit) = exit else {
            own.fiber.replace(Some(fiber));
            return;
        };
        own.status.set(Status::Exited);
        self.progress.set(self.progress.get() + 1);
        fiber.recycle(&mut self.stacks.borrow_mut());
        if let Exit::Trapped { trap, instruction } = exit {
            let kind = match trap {
                Trap::StackOverflow => FaultKind::StackOverflow {
                    stack_bytes: STACK_BYTES as u64,
                },
                Trap::BadAddress(address) => FaultKind::BadAddress {
                    address: self.describe(address),
                },
                Trap::TimeLimit => self.time_limit(),
            };
            self.record(thread, kind, line_of(instruction), None);
            self.aborted.set(true);
        }
    }

    fn start(&self, thread: usize) -> std::io::Result<Fiber> {
        let slot: *const Slot = self;
        debug_assert_eq!(self.thread.get(), thread);
        let body = move || {
            // With threads of the operating system as fibers, each has its own; else this sets what is set.
            CURRENT.set(slot);
            // SAFETY: the slot outlives its fibers: `end_block` recycles them.
            let slot = unsafe { &*slot };
            // SAFETY: `run` keeps the kernel alive while it has workers.
            let kernel = unsafe { &*slot.run.kernel };
            if let Err(payload) = catch_unwind(AssertUnwindSafe(kernel)) {
                slot.caught(&*payload);
            }
        };
        // SAFETY: as above, and a slot stays with its thread of the operating system.
        unsafe { Fiber::new(&mut self.stacks.borrow_mut(), body) }
    }

    /// Opens the block's barrier if all threads are there; tells if it did. Threads that cannot come are a fault.
    pub(super) fn open_barrier(&self) -> bool {
        let at_barrier = |thread: &super::slot::Thread| matches!(thread.status.get(), Status::Barrier(_));
        let waiting = || (0..self.threads.len()).filter(|&i| at_barrier(&self.threads[i]));
        let Some(first) = waiting().next() else { return false };
        if self
            .threads
            .iter()
            .any(|thread| !at_barrier(thread) && thread.status.get() != Status::Exited)
        {
            return false;
        }
        // Threads of one barrier have come from one line and want the same of it.
        let barrier = |thread: usize| {
            let thread = &self.threads[thread];
            (thread.site.get().map(Site::from), thread.status.get())
        };
        let count = waiting().count() as u32;
        let elsewhere = waiting()
            .filter(|&thread| barrier(thread) != barrier(first))
            .collect::<Vec<_>>();
        if let Some(&other) = elsewhere.first() {
            let there = elsewhere.len() as u32;
            let kind = FaultKind::BarrierMismatch {
                here: count - there,
                there,
            };
            let site = self.threads[other].site.get().expect("a waiting thread has a place");
            let other = OtherAccess {
                access: None,
                block: self.block_idx.get(),
                thread: self.thread_position(other),
                site: site.into(),
            };
            self.record(first, kind, barrier(first).0, Some(other));
            self.aborted.set(true);
            return true;
        }
        let exited = self.threads.len() as u32 - count;
        if exited > 0 {
            let kind = FaultKind::BarrierDivergence { waiting: count, exited };
            self.record(first, kind, barrier(first).0, None);
            self.aborted.set(true);
            return true;
        }
        let holding = self.threads.iter().filter(|thread| thread.value.get() != 0).count() as u32;
        for thread in &self.threads {
            let answer = match thread.status.get() {
                Status::Barrier(Some(BarrierOp::Count)) => holding,
                Status::Barrier(Some(BarrierOp::And)) => u32::from(holding == count),
                Status::Barrier(Some(BarrierOp::Or)) => u32::from(holding > 0),
                _ => 0,
            };
            thread.value.set(answer.into());
            thread.status.set(Status::Ready);
        }
        self.order_by_barrier();
        self.check_canaries();
        self.interval.set(self.interval.get() + 1);
        self.progress.set(self.progress.get() + 1);
        self.run.watch.met(self.number);
        true
    }

    /// Lets other blocks go on.
    pub(super) fn give_way(&self, spawn: &dyn Fn()) -> Result<(), Stuck> {
        let mut place = self.turn.place.borrow_mut();
        let place = place.as_mut().expect("a running block has a place");
        self.run.watch.met(self.number);
        let result = self.run.grid.give_way(place, spawn);
        self.turn.holds_token.set(result.is_ok());
        self.run.watch.met(self.number);
        result
    }

    /// Records that nobody can go on: who waits where.
    pub(super) fn deadlock(&self) {
        let mut groups: BTreeMap<(Cow<'static, str>, Option<Site>), (u32, usize)> = BTreeMap::new();
        for (number, thread) in self.threads.iter().enumerate() {
            let what = match thread.status.get() {
                Status::Barrier(_) => "at the barrier".into(),
                Status::Warp(_) => "for lanes of their warp".into(),
                Status::Polling => "for a value to change".into(),
                Status::Phase => self.describe_phase(thread.value.get()).into(),
                Status::Cluster => "for the barrier of the cluster".into(),
                Status::Warpgroup => "for threads of their warpgroup".into(),
                Status::NamedBarrier => "at a named barrier".into(),
                Status::Ready | Status::Exited => continue,
            };
            let group = groups
                .entry((what, thread.site.get().map(Site::from)))
                .or_insert((0, number));
            group.0 += 1;
        }
        let Some((_, &(_, first))) = groups.iter().min_by_key(|(_, (_, first))| *first) else {
            return;
        };
        let exited = self
            .threads
            .iter()
            .filter(|thread| thread.status.get() == Status::Exited)
            .count();
        let mut waiting: Vec<String> = groups
            .iter()
            .map(|((what, site), (count, _))| match site {
                Some(site) => format!("{count} wait {what} at {site}"),
                None => format!("{count} wait {what}"),
            })
            .collect();
        if exited > 0 {
            waiting.push(format!("{exited} have ended"));
        }
        let site = self.threads[first].site.get().map(Site::from);
        let waiting = waiting.join(", ");
        self.record(first, FaultKind::Deadlock { waiting }, site, None);
        self.aborted.set(true);
    }

    /// Ends what still runs and hands in what the block leaves.
    pub(super) fn end_block(&self) {
        for (number, thread) in self.threads.iter().enumerate() {
            self.thread.set(number);
            if let Some(fiber) = thread.fiber.take() {
                // Destructors of the kernel's values run: they may ask where they are.
                CURRENT.set(self);
                fiber.recycle(&mut self.stacks.borrow_mut());
                CURRENT.set(std::ptr::null());
            }
            thread.status.set(Status::Ready);
            thread.idle.set(0);
            thread.exchanged.take();
            thread.gathered.take();
        }
        if !self.aborted.get() {
            self.analysis.borrow_mut().traffic.barrier();
            self.check_canaries();
            self.note_statics();
        }
        let passed = self.interval.get();
        let (fewest, most) = self.barriers.get().unwrap_or((passed, passed));
        self.barriers.set(Some((fewest.min(passed), most.max(passed))));
        self.expired.store(false, Relaxed);
        self.run.hand_in(self);
    }
}

/// The source line of an instruction, from the program's debug information if it has any: the innermost one outside the
/// standard library.
fn line_of(instruction: usize) -> Option<Site> {
    let here = std::env::current_dir().unwrap_or_default();
    let mut found = None;
    // Addresses are taken for return addresses, which lie behind the instruction that is meant.
    backtrace::resolve(std::ptr::without_provenance_mut(instruction + 1), |symbol| {
        let Some((file, line)) = symbol.filename().zip(symbol.lineno()) else {
            return;
        };
        if found.is_none() && !file.components().any(|part| part.as_os_str() == "library") {
            found = Some(Site {
                file: intern_file(&file.strip_prefix(&here).unwrap_or(file).to_string_lossy()),
                line,
                column: symbol.colno().unwrap_or(1),
            });
        }
    });
    found
}
