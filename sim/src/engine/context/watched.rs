//! Call stacks of races. A run records none: it would have to for every access, since any may be one side of a race. A
//! run with a race is repeated, under the same schedule, and records those of the accesses that were found.

use std::collections::HashMap;
use std::panic::Location;

use parking_lot::Mutex;

use crate::device::kernel_functions;
use crate::engine::fiber;
use crate::fault::{LaunchName, OtherAccess, SimFault, SourceLocation, StackFrame};

use super::BlockContext;

/// One side of a race: launch, block, thread, source location.
type Side = (u32, [u32; 3], [u32; 3], SourceLocation);

/// The races whose call stacks a run records.
#[derive(Default)]
pub(crate) struct WatchedRaces {
    races: Vec<[Side; 2]>,
    stacks: Mutex<Stacks>,
}

#[derive(Default)]
struct Stacks {
    /// The latest of each side.
    latest: HashMap<Side, Vec<StackFrame>>,
    /// By race, those when it was found first.
    found: HashMap<usize, [Vec<StackFrame>; 2]>,
}

impl WatchedRaces {
    /// The most races whose call stacks are recorded.
    const MOST: usize = 8;

    /// Those among a run's faults that have an access on either side.
    pub(crate) fn of<'a>(faults: impl Iterator<Item = &'a SimFault>) -> Self {
        Self {
            races: faults.filter_map(sides).take(Self::MOST).collect(),
            stacks: Mutex::default(),
        }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.races.is_empty()
    }

    /// Adds the call stacks to the faults that they belong to.
    pub(crate) fn complete<'a>(&self, faults: impl Iterator<Item = &'a mut SimFault>) {
        let found = &mut self.stacks.lock().found;
        for fault in faults {
            let Some(race) = sides(fault).and_then(|sides| self.races.iter().position(|race| *race == sides)) else {
                continue;
            };
            if let (Some([own, others]), Some(other)) = (found.remove(&race), &mut fault.other) {
                (fault.stack, other.stack) = (own, others);
            }
        }
    }

    /// Keeps the call stacks of a race that is found now, for the first time.
    fn note_race(&self, fault: &SimFault) {
        let Some(sides) = sides(fault) else { return };
        if let Some(race) = self.races.iter().position(|race| *race == sides) {
            let Stacks { latest, found } = &mut *self.stacks.lock();
            let stack = |side: &Side| latest.get(side).cloned().unwrap_or_default();
            found
                .entry(race)
                .or_insert_with(|| [stack(&sides[0]), stack(&sides[1])]);
        }
    }
}

/// Both sides of a fault, if both are accesses.
fn sides(fault: &SimFault) -> Option<[Side; 2]> {
    let other = fault.other.as_ref().filter(|other| other.access.is_some())?;
    let OtherAccess {
        launch,
        block,
        thread,
        location,
        ..
    } = other;
    let number = |launch: &Option<LaunchName>| launch.as_ref().map_or(0, |launch| launch.number);
    Some([
        (
            number(&fault.launch),
            fault.block,
            fault.thread,
            fault.location.clone()?,
        ),
        (number(launch), *block, *thread, location.clone()),
    ])
}

/// Leaves out what called the kernel.
fn trim(stack: &mut Vec<StackFrame>) {
    let last = |path: &str| path.rsplit("::").next().unwrap_or_default().to_owned();
    let is_kernel = |frame: &StackFrame| {
        let name = last(&frame.function);
        kernel_functions().iter().any(|kernel| last(kernel.path) == name)
    };
    if let Some(kernel) = stack.iter().position(is_kernel) {
        stack.truncate(kernel + 1);
    }
}

impl BlockContext {
    /// Records the call stack of an access of the running thread, if it is a side of a watched race.
    #[inline]
    pub(super) fn watch(&self, location: &'static Location<'static>) {
        if self.is_watching {
            self.note_stack(location);
        }
    }

    #[cold]
    fn note_stack(&self, location: &'static Location<'static>) {
        let thread = self.threads.running_number();
        let launch = self.launch.name.as_ref().map_or(0, |launch| launch.number);
        let side: Side = (launch, self.block_idx(), self.threads.index(thread), location.into());
        let watched = &self.run.watched;
        let marker = 0_u8;
        let is_thread = fiber::is_on_stack(std::ptr::from_ref(std::hint::black_box(&marker)).addr());
        if !is_thread || !watched.races.iter().flatten().any(|other| *other == side) {
            return;
        }
        let mut stack = self.stack_at(self.threads.running(), location);
        trim(&mut stack);
        watched.stacks.lock().latest.insert(side, stack);
    }

    /// Keeps the call stacks of a fault, if it is a watched race.
    pub(super) fn note_race(&self, fault: &SimFault) {
        if self.is_watching {
            self.run.watched.note_race(fault);
        }
    }
}
