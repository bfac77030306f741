//! The scheduler of one block's threads.
//!
//! Warp by warp, in the order of the schedule, each thread runs until it waits. When no thread can run, the block's
//! barrier opens; [`cluster_scheduler`](super::cluster_scheduler) then decides how the cluster continues. A warp thus
//! runs from barrier to barrier before the next one starts. Within a warp the lanes switch at each rendezvous, and
//! whenever one lane has run far ahead of the others.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use crate::engine::CURRENT;
use crate::engine::fiber::Fiber;
use crate::schedule::Turns;

use super::threads::Status;
use super::{BlockContext, WARP};

impl BlockContext {
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

    /// Runs the lanes of a warp until all of them wait, or one lets other warps run first.
    pub(super) fn run_warp(&self, lanes: &[usize]) {
        let Some(&first) = lanes.first() else { return };
        let warp = first / WARP;
        let start = self.threads.take_first_lane(warp);
        loop {
            let mut ran = false;
            for (index, &thread) in lanes[start..].iter().chain(&lanes[..start]).enumerate() {
                let own = self.threads.get(thread);
                while own.is(Status::Ready) {
                    ran = true;
                    self.run_thread(thread);
                    if self.faults.is_aborted() {
                        return;
                    }
                    if self.threads.leaves_its_warp() {
                        self.threads.set_first_lane(warp, (start + index + 1) % lanes.len());
                        return;
                    }
                    if !self.may_complete(warp, own) || !self.complete_warp_rendezvous(warp) {
                        break;
                    }
                }
                if self.faults.is_aborted() {
                    return;
                }
            }
            if !ran && !self.complete_active_masks(warp) {
                return;
            }
            self.settle_traffic(warp);
        }
    }

    /// Evaluates the accesses that all running lanes of a warp have passed.
    fn settle_traffic(&self, warp: usize) {
        if !self.analysis.borrow().traffic.is_open(warp as u16) {
            return;
        }
        let lanes = self.threads.lanes(warp);
        let waiting = (0..WARP).filter(|&lane| lanes.get(lane).is_none_or(|thread| !thread.is(Status::Ready)));
        let waiting = waiting.fold(0, |mask, lane| mask | 1 << lane);
        self.analysis.borrow_mut().traffic.settle(warp as u16, waiting);
    }

    /// Runs one thread until it waits.
    fn run_thread(&self, thread: usize) {
        self.threads.replace_running(thread);
        if self.threads.take_turn() > self.launch.config.budget.turns {
            let turns = self.launch.config.budget.turns;
            return self.budget_is_spent(thread, format!("the block's threads took more than {turns} turns"));
        }
        let own = self.threads.get(thread);
        let mut slot = own.fiber.borrow_mut();
        let fiber = match &mut *slot {
            Some(fiber) => fiber,
            none => match self.start_thread(thread) {
                Ok(fiber) => none.insert(fiber),
                Err(error) => {
                    self.run.lack(format!("no memory for the stack of a thread: {error}"));
                    self.faults.abort();
                    return;
                }
            },
        };
        self.threads.end_preemption();
        CURRENT.set(self);
        let exit = fiber.resume();
        CURRENT.set(ptr::null());
        let Some(exit) = exit else { return };
        own.status.set(Status::Exited);
        self.threads.note_progress();
        let ended = slot.take();
        drop(slot);
        ended.into_iter().for_each(Fiber::recycle);
        self.note_exit(thread, exit);
    }

    /// A fiber for the thread that is about to run.
    fn start_thread(&self, thread: usize) -> std::io::Result<Fiber> {
        let context: *const BlockContext = self;
        let body = move || {
            // A fiber that is a thread of the operating system has its own `CURRENT`; a coroutine sets the same again.
            CURRENT.set(context);
            // SAFETY: the context outlives its fibers: `unwind_threads` recycles them.
            let context = unsafe { &*context };
            let marker = 0_u8;
            let top = ptr::from_ref(std::hint::black_box(&marker)).addr();
            context.threads.running().stack_top.set(top);
            // SAFETY: `run` keeps the kernel alive while it has workers.
            let kernel = unsafe { &*context.launch.kernel };
            if let Err(payload) = catch_unwind(AssertUnwindSafe(kernel)) {
                context.note_unwinding(&*payload);
            }
        };
        // SAFETY: as above, and a context stays on its thread of the operating system. A cluster that waits is parked
        // before another one runs.
        unsafe { Fiber::new(&self.threads.stacks, self.stack_slot(thread), body) }
    }

    /// Unwinds the threads that have not returned, and prepares all of them for the next block.
    pub(super) fn unwind_threads(&self) {
        for (number, thread) in self.threads.iter().enumerate() {
            self.threads.replace_running(number);
            if let Some(fiber) = thread.fiber.take() {
                // Destructors of the kernel's values run: they may ask for their indices.
                thread.is_unwinding.set(true);
                CURRENT.set(self);
                fiber.recycle();
                CURRENT.set(ptr::null());
            }
            thread.reset();
        }
    }
}
