//! The threads of a block: their states, their stacks, and how the running one waits.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::Location;
use std::rc::Rc;

use crate::device::BarrierOp;
use crate::dim::Dim3;
use crate::schedule::{Preempted, Preemption};

use super::warp_rendezvous::{LaneExchange, WarpOp};
use super::{BlockContext, WARP};
use crate::engine::fiber::{self, Fiber, Stacks};

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// It can run.
    Ready,
    /// Waits at the block's barrier.
    Barrier(Option<BarrierOp>),
    /// Waits for other lanes of its warp.
    Warp(WarpOp),
    /// Waits at a named barrier.
    NamedBarrier,
    /// Polls: other threads run first.
    Polling,
    /// Waits for a phase of the mbarrier whose offset is its value.
    Phase,
    /// Waits at the cluster's barrier.
    Cluster,
    /// Waits for other threads of its warpgroup.
    Warpgroup,
    /// Waits for the end of the launch before its own.
    Grid,
    /// It has returned.
    Exited,
}

/// One thread of the block.
pub(super) struct Thread {
    /// Its index, x, y, z.
    index: [u32; 3],
    pub(super) status: Cell<Status>,
    /// Where it waits or last waited.
    pub(super) location: Cell<Option<&'static Location<'static>>>,
    /// The first address above its frames.
    pub(super) stack_top: Cell<usize>,
    /// The number of the call stack in which it reached the barrier.
    pub(super) call_site: Cell<u32>,
    /// Operand of a barrier or an exchange; result of a barrier.
    pub(super) value: Cell<u64>,
    pub(super) exchange: LaneExchange,
    pub(super) fiber: RefCell<Option<Fiber>>,
    polls: RefCell<Polls>,
    /// It has executed an atomic, in this block.
    has_had_atomic: Cell<bool>,
    /// Its frames are being unwound: its destructors run.
    pub(super) is_unwinding: Cell<bool>,
    /// A fault in a destructor has ended it. The first one is recorded.
    pub(super) is_abandoned: Cell<bool>,
}

impl Thread {
    fn new(index: [u32; 3]) -> Self {
        Self {
            index,
            status: Cell::new(Status::Ready),
            location: Cell::new(None),
            stack_top: Cell::new(0),
            call_site: Cell::new(0),
            value: Cell::new(0),
            exchange: LaneExchange::default(),
            fiber: RefCell::new(None),
            polls: RefCell::default(),
            has_had_atomic: Cell::new(false),
            is_unwinding: Cell::new(false),
            is_abandoned: Cell::new(false),
        }
    }

    pub(super) fn is(&self, status: Status) -> bool {
        self.status.get() == status
    }

    /// Prepares the thread for the next block.
    pub(super) fn reset(&self) {
        self.status.set(Status::Ready);
        self.has_had_atomic.set(false);
        self.is_unwinding.set(false);
        self.is_abandoned.set(false);
        self.polls.borrow_mut().start_again();
        self.exchange.clear();
    }
}

/// A thread's atomic reads since it last changed something.
///
/// A thread that polls reads the same values from the same addresses again and again, however many these are. It lets
/// others run first after a few reads, whatever they are; but only a read that tells it nothing new counts against it
/// when nobody else can run.
#[derive(Default)]
struct Polls {
    /// Reads since the thread last let others run.
    idle: u32,
    /// The last read.
    last: (usize, u64),
    /// The last value read from each address.
    seen: HashMap<usize, u64>,
}

impl Polls {
    /// Reads until a thread counts as polling.
    const PATIENCE: u32 = 32;
    /// Addresses that are remembered.
    const MOST: usize = 4096;

    fn start_again(&mut self) {
        self.idle = 0;
        self.last = (0, 0);
        if !self.seen.is_empty() {
            self.seen.clear();
        }
    }

    /// Notes a read; returns whether the thread learned something from it.
    fn is_news(&mut self, address: usize, value: u64) -> bool {
        self.idle += 1;
        if std::mem::replace(&mut self.last, (address, value)) == (address, value) {
            return false;
        }
        if self.seen.len() == Self::MOST {
            self.seen.clear();
        }
        self.seen.insert(address, value) != Some(value)
    }

    /// Whether others run first now. The thread's next turn is long enough to read all its addresses once.
    fn must_wait(&mut self) -> bool {
        let waits = self.idle >= Self::PATIENCE;
        if waits {
            self.idle = Self::PATIENCE.saturating_sub(self.seen.len().max(1) as u32);
        }
        waits
    }
}

/// The threads of a block, by linear index, and the state of their scheduler.
pub(super) struct Threads {
    threads: Vec<Thread>,
    /// The worker's.
    pub(super) stacks: Rc<Stacks>,
    /// The thread that runs.
    running: Cell<usize>,
    /// Counts the events that threads of this or another block may wait for.
    progress: Cell<u64>,
    /// Counts the reads from which a thread learned something.
    news: Cell<u64>,
    /// A thread became ready whose turn may be over.
    woken: Cell<bool>,
    /// Turns of the block's threads.
    turns: Cell<u64>,
    /// When they are pre-empted.
    preemption: RefCell<Preemption>,
    /// By warp, the lane in the order of turns that runs first, after a pre-emption.
    first_lanes: [Cell<u8>; WARP],
    /// Whom the last one that was pre-empted lets run first.
    preempted: Cell<Option<Preempted>>,
}

impl Threads {
    /// The threads of a block of these extents.
    pub(super) fn new(shape: Dim3, stacks: Rc<Stacks>) -> Self {
        Self {
            threads: (0..shape.count())
                .map(|thread| Thread::new(shape.position(thread)))
                .collect(),
            stacks,
            running: Cell::new(0),
            progress: Cell::new(0),
            news: Cell::new(0),
            woken: Cell::new(false),
            turns: Cell::new(0),
            preemption: RefCell::default(),
            first_lanes: Default::default(),
            preempted: Cell::new(None),
        }
    }

    pub(super) fn start_block(&self, preemption: Preemption) {
        self.woken.set(false);
        self.turns.set(0);
        self.preemption.replace(preemption);
        self.first_lanes.iter().for_each(|lane| lane.set(0));
        self.preempted.set(None);
    }

    /// Sets the lane, in the order of turns, with which the warp's next turn begins.
    pub(super) fn set_first_lane(&self, warp: usize, lane: usize) {
        self.first_lanes[warp].set(lane as u8);
    }

    /// The lane with which the warp's turn begins; the turn after that begins with the first again.
    #[inline]
    pub(super) fn take_first_lane(&self, warp: usize) -> usize {
        self.first_lanes[warp].take().into()
    }

    /// Whether the last thread that ran lets other warps or blocks run first.
    #[inline]
    pub(super) fn leaves_its_warp(&self) -> bool {
        matches!(self.preempted.get(), Some(Preempted::Warp | Preempted::Block))
    }

    /// Whether the last thread that ran lets other blocks run first.
    pub(super) fn leaves_its_block(&self) -> bool {
        self.preempted.get() == Some(Preempted::Block)
    }

    /// Ends the thread's turn: the others have been told.
    pub(super) fn end_preemption(&self) {
        self.preempted.set(None);
    }

    /// Counts a turn of a thread; returns how many the block has had.
    #[inline]
    pub(super) fn take_turn(&self) -> u64 {
        let turns = self.turns.get() + 1;
        self.turns.set(turns);
        turns
    }

    pub(super) fn len(&self) -> usize {
        self.threads.len()
    }

    pub(super) fn get(&self, thread: usize) -> &Thread {
        &self.threads[thread]
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Thread> {
        self.threads.iter()
    }

    /// The lanes of a warp: fewer than 32 in the last one.
    pub(super) fn lanes(&self, warp: usize) -> &[Thread] {
        &self.threads[warp * WARP..self.threads.len().min((warp + 1) * WARP)]
    }

    /// The index of a thread, x, y, z.
    pub(super) fn index(&self, thread: usize) -> [u32; 3] {
        self.threads[thread].index
    }

    /// The running thread.
    pub(super) fn running(&self) -> &Thread {
        &self.threads[self.running.get()]
    }

    /// The linear index of the running thread.
    pub(super) fn running_number(&self) -> usize {
        self.running.get()
    }

    pub(super) fn running_index(&self) -> [u32; 3] {
        self.running().index
    }

    /// Names the thread that runs, or that faults are recorded for, from here on; returns the one before.
    pub(super) fn replace_running(&self, thread: usize) -> usize {
        self.running.replace(thread)
    }

    /// Whether all threads have returned.
    pub(super) fn have_exited(&self) -> bool {
        self.iter().all(|thread| thread.is(Status::Exited))
    }

    /// Counts an event that other threads may wait for.
    pub(super) fn note_progress(&self) {
        self.progress.set(self.progress.get() + 1);
    }

    pub(super) fn progress(&self) -> u64 {
        self.progress.get()
    }

    /// Counts a read from which a thread learned something.
    fn note_news(&self) {
        self.news.set(self.news.get() + 1);
    }

    pub(super) fn news(&self) -> u64 {
        self.news.get()
    }

    /// Notes that a thread became ready whose turn may be over.
    pub(super) fn wake(&self) {
        self.woken.set(true);
    }

    /// Whether [`Threads::wake`] was called since the last call.
    pub(super) fn take_woken(&self) -> bool {
        self.woken.take()
    }
}

impl BlockContext {
    /// The running thread, as the analysis numbers it.
    #[inline]
    pub(super) fn thread(&self) -> u16 {
        self.threads.running_number() as u16
    }

    /// Waits at `location` until the scheduler clears `status`. Inlined, as [`Fiber::resume`] is.
    #[inline(always)]
    pub(super) fn wait(&self, status: Status, location: &'static Location<'static>) {
        if self.is_unwinding() {
            // Polling ends; nobody will complete anything else.
            return if status != Status::Polling {
                self.abandon()
            };
        }
        self.check_watchdog();
        let thread = self.threads.running();
        thread.status.set(status);
        thread.location.set(Some(location));
        if status != Status::Polling {
            thread.polls.borrow_mut().idle = 0;
        }
        self.suspend();
    }

    /// Whether the running thread's destructors run because of a fault. They must not wait: the block has ended, and a
    /// coroutine that is unwound cannot be resumed. A kernel may have caught its own panic: then nothing unwinds.
    #[inline]
    pub(super) fn is_unwinding(&self) -> bool {
        self.threads.running().is_unwinding.get() && std::thread::panicking()
    }

    /// Lets other threads run; the thread stays ready.
    #[inline]
    pub(super) fn suspend(&self) {
        if self.is_unwinding() {
            return;
        }
        let thread = self.threads.running_number();
        fiber::suspend();
        debug_assert_eq!(
            self.threads.running_number(),
            thread,
            "the scheduler resumes the thread that it names"
        );
    }

    /// The thread read `value` from `address` and changed nothing. After a few such reads in a row it counts as
    /// polling, and other threads run first.
    pub(super) fn note_same(&self, address: usize, value: u64, location: &'static Location<'static>) {
        let must_wait = {
            let mut polls = self.threads.running().polls.borrow_mut();
            if polls.is_news(address, value) {
                self.threads.note_news();
            }
            polls.must_wait()
        };
        if must_wait {
            self.wait(Status::Polling, location);
        }
    }

    /// The thread did something that others may wait for.
    pub(super) fn note_change(&self) {
        self.threads.running().polls.borrow_mut().start_again();
        self.threads.note_progress();
    }

    /// Lets others run first, if the schedule has them run here, after an atomic.
    #[inline]
    pub(super) fn preempt(&self, is_global: bool) {
        let mut preemption = self.threads.preemption.borrow_mut();
        if !preemption.is_on() || self.is_unwinding() {
            return;
        }
        let is_first = !self.threads.running().has_had_atomic.replace(true);
        let preempted = preemption.next(is_global, is_first);
        drop(preemption);
        if preempted.is_some() {
            self.threads.preempted.set(preempted);
            self.suspend();
        }
    }

    /// Lets other blocks run first, those of the next launch among them, if the schedule has them overlap.
    pub(super) fn preempt_for_next_launch(&self) {
        if self.is_unwinding() || !self.threads.preemption.borrow_mut().next_launch() {
            return;
        }
        self.threads.preempted.set(Some(Preempted::Block));
        self.suspend();
    }

    /// `nanosleep`: other threads run first.
    pub(crate) fn sleep(&self, location: &'static Location<'static>) {
        self.wait(Status::Polling, location);
    }
}
