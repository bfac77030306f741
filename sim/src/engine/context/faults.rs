//! The record of a block: faults, panics, output; and the end of a thread by a fault.

use std::any::Any;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{Location, resume_unwind};
use std::sync::Once;

use crate::access::{AccessKind, Space};
use crate::engine::CURRENT;
use crate::engine::debug_info::{intern_file, line_of};
use crate::engine::fiber::{self, Exit, STACK_BYTES, Trap};
use crate::engine::trap;
use crate::fault::{FaultKind, OtherAccess, SimFault, SourceLocation, StackFrame};

use super::BlockContext;
use super::threads::Status;

/// Faults, panics and output of a block.
#[derive(Default)]
pub(super) struct FaultLog {
    /// Distinct faults, in the order of their first occurrence.
    faults: RefCell<Vec<SimFault>>,
    /// Reads of shared memory that nobody had written, since the last barrier. A race explains some of them.
    unwritten: RefCell<Vec<SimFault>>,
    /// The name of the buffer that the next fault is about.
    buffer: RefCell<Option<String>>,
    /// The block of the thread that faults are recorded for, if it is another one.
    visitor: Cell<Option<Visitor>>,
    /// The block ends when none of its threads can run: their accesses may explain the fault.
    ending: Cell<bool>,
    /// Message and source location of a panic, from the hook.
    panicked: RefCell<Option<(String, Option<SourceLocation>)>>,
    /// Text that the block printed.
    output: RefCell<String>,
    /// The block must end.
    aborted: Cell<bool>,
}

/// The block of a thread that accesses the shared memory of another one.
#[derive(Clone, Copy)]
struct Visitor {
    block: [u32; 3],
    interval: u32,
}

impl FaultLog {
    pub(super) fn start_block(&self) {
        self.aborted.set(false);
        self.ending.set(false);
        self.visitor.set(None);
        self.unwritten.take();
    }

    /// Ends the block at the scheduler's next step.
    pub(super) fn abort(&self) {
        self.aborted.set(true);
    }

    pub(super) fn is_aborted(&self) -> bool {
        self.aborted.get()
    }

    /// Ends the block: at once, or, if reads of unwritten memory may be races, when the other threads have run as far
    /// as they can.
    fn abort_after_interval(&self) {
        if self.unwritten.borrow().is_empty() {
            self.abort();
        } else {
            self.ending.set(true);
        }
    }

    /// Whether the block ends now that none of its threads can run.
    pub(super) fn is_ending(&self) -> bool {
        self.ending.get()
    }

    /// Names the buffer that the next fault is about.
    pub(super) fn name_buffer(&self, name: Option<&str>) {
        self.buffer.replace(name.map(str::to_owned));
    }

    /// Adds a fault to those that are like it.
    fn add(list: &RefCell<Vec<SimFault>>, fault: SimFault) {
        let mut faults = list.borrow_mut();
        match faults.iter_mut().find(|known| known.is_like(&fault)) {
            Some(known) => known.count += fault.count,
            None => faults.push(fault),
        }
    }

    /// At the end of an interval: a read of unwritten memory is a fault of its own unless it races with a write.
    pub(super) fn settle_unwritten(&self) {
        for fault in self.unwritten.take() {
            let explains = |race: &SimFault| {
                let other = race.other.as_ref().map(|other| &other.location);
                matches!(race.kind, FaultKind::SharedRace { .. })
                    && (race.location == fault.location || other == fault.location.as_ref())
            };
            if !self.faults.borrow().iter().any(explains) {
                Self::add(&self.faults, fault);
            }
        }
    }

    /// The faults, causes first, and the output.
    pub(super) fn take(&self) -> (Vec<SimFault>, String) {
        self.settle_unwritten();
        let mut faults = self.faults.take();
        faults.sort_by_key(|fault| match fault.kind {
            FaultKind::AtomicScope { .. } => 0,
            FaultKind::SharedRace { .. } | FaultKind::GlobalRace { .. } => 1,
            FaultKind::Panic { .. } | FaultKind::ExitDuringCopy { .. } => 3,
            _ => 2,
        });
        (faults, self.output.take())
    }
}

/// The payload that unwinds a simulated thread whose fault is recorded.
struct Stop;

impl BlockContext {
    /// Records a fault of the running thread; the thread continues.
    #[cold]
    pub(super) fn fault(
        &self,
        kind: FaultKind,
        location: Option<&'static Location<'static>>,
        other: Option<OtherAccess>,
    ) {
        let thread = self.threads.running_number();
        if self.is_unwinding() {
            // The block has ended by the fault that came first.
            return;
        }
        self.record(thread, kind, location.map(SourceLocation::from), other);
    }

    /// Executes `access` to the shared memory of `peer`, a block of the cluster or this one, for thread `thread` of
    /// this block: faults that `peer` records meanwhile name that thread. `access` must not end the thread.
    pub(super) fn visiting<R>(&self, peer: &Self, thread: usize, access: impl FnOnce() -> R) -> R {
        let visitor = (!std::ptr::eq(self, peer)).then(|| self.as_visitor());
        let running = peer.threads.replace_running(thread);
        let before = peer.faults.visitor.replace(visitor);
        let result = access();
        peer.faults.visitor.set(before);
        peer.threads.replace_running(running);
        result
    }

    /// The block as that of a fault's thread.
    fn as_visitor(&self) -> Visitor {
        Visitor {
            block: self.block_idx(),
            interval: self.barriers.interval(),
        }
    }

    /// `trap`: ends the block with `kind`.
    pub(crate) fn trap(&self, kind: FaultKind, location: &'static Location<'static>) -> ! {
        self.fatal(kind, Some(location), None)
    }

    /// Records a fault of the running thread and ends its block.
    #[cold]
    pub(super) fn fatal(
        &self,
        kind: FaultKind,
        location: Option<&'static Location<'static>>,
        other: Option<OtherAccess>,
    ) -> ! {
        self.fault(kind, location, other);
        self.stop()
    }

    /// Ends the running thread and its block.
    #[cold]
    pub(super) fn stop(&self) -> ! {
        if self.is_unwinding() {
            self.abandon();
        }
        self.faults.abort_after_interval();
        self.threads.running().is_unwinding.set(true);
        resume_unwind(Box::new(Stop))
    }

    /// Ends the running thread, which is unwinding, without running the rest of its destructors: a second panic would
    /// end the process.
    #[cold]
    pub(super) fn abandon(&self) -> ! {
        self.faults.abort();
        self.threads.running().is_abandoned.set(true);
        if let Some((message, location)) = self.faults.panicked.take() {
            let thread = self.threads.running_number();
            self.record(thread, FaultKind::Panic { message }, location, None);
        }
        trap::kill(trap::target());
        // Where no signal ends a coroutine.
        std::process::abort()
    }

    /// Records a fault of a thread of the block.
    pub(super) fn record(
        &self,
        thread: usize,
        kind: FaultKind,
        location: Option<SourceLocation>,
        other: Option<OtherAccess>,
    ) {
        self.record_with_stack(thread, kind, (location, Vec::new()), other);
    }

    /// [`Self::record`] with the thread's call stack.
    pub(super) fn record_with_stack(
        &self,
        thread: usize,
        kind: FaultKind,
        (location, stack): (Option<SourceLocation>, Vec<StackFrame>),
        other: Option<OtherAccess>,
    ) {
        let visitor = self.faults.visitor.get();
        let Visitor { block, interval } = visitor.unwrap_or_else(|| self.as_visitor());
        let fault = SimFault {
            kind,
            launch: self.launch.name.clone(),
            block,
            thread: self.threads.index(thread),
            location,
            stack,
            interval,
            other,
            buffer: self.faults.buffer.take(),
            shared_of: visitor.map(|_| self.block_idx()),
            schedule: None,
            count: 1,
        };
        self.note_race(&fault);
        let shared = Space::Shared;
        match fault.kind {
            FaultKind::UninitializedRead { space, .. } if space == shared => {
                FaultLog::add(&self.faults.unwritten, fault);
            }
            _ => FaultLog::add(&self.faults.faults, fault),
        }
    }

    /// The other side of a race in global memory: a thread of the block with this number.
    pub(super) fn access_elsewhere(
        &self,
        access: AccessKind,
        block: u64,
        thread: u16,
        location: &'static Location<'static>,
    ) -> OtherAccess {
        let (launch, linear) = self.run.launch_of(block);
        OtherAccess {
            access: Some(access),
            launch: launch.name.clone(),
            block: launch.config.grid.position(linear),
            thread: launch.config.block.position(thread.into()),
            location: location.into(),
            stack: Vec::new(),
        }
    }

    /// The other side of a fault that is no access: a thread of this block and its source location.
    pub(super) fn other_thread(&self, thread: usize, location: &'static Location<'static>) -> OtherAccess {
        OtherAccess {
            access: None,
            launch: self.launch.name.clone(),
            block: self.block_idx(),
            thread: self.threads.index(thread),
            location: location.into(),
            stack: Vec::new(),
        }
    }

    /// Ends the thread if the watchdog has expired.
    #[inline]
    pub(super) fn check_watchdog(&self) {
        if self.watchdog.is_expired() {
            self.time_is_up();
        }
    }

    #[cold]
    fn time_is_up(&self) -> ! {
        let location = self.threads.running().location.get();
        self.fatal(self.time_limit(), location, None)
    }

    /// Records that the block has spent its budget, and ends the run: the other blocks would do the same.
    #[cold]
    pub(super) fn budget_is_spent(&self, thread: usize, spent: String) {
        let location = self.threads.get(thread).location.get().map(SourceLocation::from);
        self.record(thread, FaultKind::Budget { spent }, location, None);
        self.faults.abort();
        self.run.grid.stop();
    }

    fn time_limit(&self) -> FaultKind {
        if self.run.is_out_of_time() {
            let time = self.launch.config.budget.time.as_secs_f64();
            return FaultKind::Budget {
                spent: format!("the launch ran for {time} s"),
            };
        }
        FaultKind::TimeLimit {
            milliseconds: self.launch.config.time_limit.as_millis() as u64,
        }
    }

    /// Records why a thread's fiber ended, if a signal ended it.
    pub(super) fn note_exit(&self, thread: usize, exit: Exit) {
        let Exit::Trapped { trap, instruction } = exit else {
            return;
        };
        if self.threads.get(thread).is_abandoned.get() {
            return;
        }
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
        self.faults.abort();
        if self.is_torn() {
            self.run.grid.stop();
        }
    }

    /// Records a panic that unwound the running thread. Payloads of the simulator's own are no panics.
    pub(super) fn note_unwinding(&self, payload: &(dyn Any + Send)) {
        if payload.is::<Stop>() || !fiber::is_panic(payload) {
            return;
        }
        let known = self.faults.panicked.take();
        let (message, location) = known.unwrap_or_else(|| (message_of(payload), None));
        let thread = self.threads.running_number();
        self.record(thread, FaultKind::Panic { message }, location, None);
        self.faults.abort_after_interval();
    }

    /// Appends to the block's output.
    pub(crate) fn print(&self, text: std::fmt::Arguments<'_>) {
        use std::fmt::Write;
        self.check_watchdog();
        // A formatter that fails has panicked or prints less: nothing to add.
        let _ = self.faults.output.borrow_mut().write_fmt(text);
    }

    /// Records a deadlock: the threads that wait, by operation and source location.
    pub(super) fn deadlock(&self) {
        let mut groups: BTreeMap<(Cow<'static, str>, Option<SourceLocation>), (u32, usize)> = BTreeMap::new();
        for (number, thread) in self.threads.iter().enumerate() {
            let operation = match thread.status.get() {
                Status::Barrier(_) => "at the barrier".into(),
                Status::Warp(_) => "for lanes of their warp".into(),
                Status::Polling => "for a value to change".into(),
                Status::Phase => self.describe_phase(thread.value.get()).into(),
                Status::Cluster => "for the barrier of the cluster".into(),
                Status::Warpgroup => "for threads of their warpgroup".into(),
                Status::Grid => "for the launch before to end (griddepcontrol.wait)".into(),
                Status::NamedBarrier => "at a named barrier".into(),
                Status::Ready | Status::Exited => continue,
            };
            let location = thread.location.get().map(SourceLocation::from);
            let group = groups.entry((operation, location)).or_insert((0, number));
            group.0 += 1;
        }
        let Some((_, &(_, first))) = groups.iter().min_by_key(|(_, (_, first))| *first) else {
            return;
        };
        let mut waiting: Vec<String> = groups
            .iter()
            .map(|((operation, location), (count, _))| match location {
                Some(location) => format!("{count} wait {operation} at {location}"),
                None => format!("{count} wait {operation}"),
            })
            .collect();
        let exited = self.threads.iter().filter(|thread| thread.is(Status::Exited)).count();
        if exited > 0 {
            waiting.push(format!("{exited} have ended"));
        }
        let (limit, (_, unstarted)) = (self.run.grid.limit(), self.run.grid.resident());
        if unstarted > 0 && limit < u64::MAX {
            waiting.push(format!(
                "{unstarted} blocks have not started, since at most {limit} are resident (`Launch::resident_blocks`)"
            ));
        }
        let location = self.threads.get(first).location.get().map(SourceLocation::from);
        let waiting = waiting.join(", ");
        self.record(first, FaultKind::Deadlock { waiting }, location, None);
        self.faults.abort();
    }
}

/// Installs a panic hook, once: the panic of a simulated thread leaves its message and source location with the block
/// instead of on standard error.
pub(in crate::engine) fn install_panic_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let context = CURRENT.get();
            if context.is_null() {
                return previous(info);
            }
            // SAFETY: set while one of the context's threads runs, which is this one.
            let context = unsafe { &*context };
            let location = info.location().map(|location| SourceLocation {
                // A panic's location is static data, but its type does not say so.
                file: intern_file(location.file()),
                line: location.line(),
                column: location.column(),
            });
            context.threads.running().is_unwinding.set(true);
            let panicked = &context.faults.panicked;
            panicked.replace(Some((message_of(info.payload()), location)));
        }));
    });
}

/// The text of a panic.
fn message_of(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic with a value of its own".to_owned())
}
