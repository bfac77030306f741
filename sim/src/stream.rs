//! Launches one after the other, as in a CUDA stream.

use std::fmt;

use serde::Serialize;

use crate::fault::{LaunchName, SimFault};
use crate::launch::{self, Launch, Queued};
use crate::report::{Faulty, Report};

/// Launches of a CUDA stream. Each starts after the one before it has ended, and sees what that one has written; a
/// [dependent](Stream::launch_dependent) one may start earlier (programmatic dependent launch).
///
/// ```
/// use cuda_sim::{GlobalBuffer, Launch, Stream, griddepcontrol};
/// use cuda_views::{Global, GlobalMut};
///
/// let (data, sum) = (GlobalBuffer::<u32>::uninit(64), GlobalBuffer::<u32>::uninit(1));
/// let fill = || {
///     griddepcontrol::launch_dependents();
///     let i = cuda_sim::device::thread_idx()[0];
///     // SAFETY: an element for each thread.
///     unsafe { GlobalMut::new(data.as_mut_ptr(), 64).set(i as usize, i) }
/// };
/// let add = |waits: bool| {
///     if waits {
///         griddepcontrol::wait();
///     }
///     // SAFETY: 64 elements, and one.
///     unsafe {
///         let data = Global::new(data.as_ptr(), 64);
///         GlobalMut::new(sum.as_mut_ptr(), 1).set(0, (0..64).map(|i| data.get(i)).sum());
///     }
/// };
/// let stream = |waits| {
///     let (first, second) = (Launch::new(1, 64).named("fill"), Launch::new(1, 1).named("add"));
///     Stream::new().launch(first, fill).launch_dependent(second, move || add(waits)).run()
/// };
/// stream(true).assert_clean();
/// assert_eq!(sum.to_vec(), [64 * 63 / 2]);
/// // Without the wait, `add` reads what `fill` writes at the same time.
/// let fault = stream(false).faults().next().expect("a race").to_string();
/// assert!(fault.contains("of launch 2 `add`") && fault.contains("of launch 1 `fill`"), "{fault}");
/// ```
///
/// # Overlap
///
/// A dependent launch stands for one with the attribute `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`. Its
/// blocks may run as soon as each block of the launch before it has executed
/// [`launch_dependents`](crate::griddepcontrol::launch_dependents), or has ended. Neither orders memory: accesses of
/// the two launches to the same memory are races ([`GlobalRace`](crate::FaultKind::GlobalRace)) unless a
/// [`wait`](crate::griddepcontrol::wait) of the later one comes between them. A wait covers the launch before its own,
/// and whatever that one knew when it ended: if its threads executed no wait, nothing of the launches before it.
/// Atomics order as within a launch.
///
/// Under a schedule with pre-emption ([`Schedule::Preempt`](crate::Schedule::Preempt)) the first blocks in its order
/// let the next launch run where they execute `launch_dependents`; under the others a launch runs to its end first. So
/// a result that depends on the overlap differs, although only atomics make it
/// ([`ScheduleDependent`](crate::FaultKind::ScheduleDependent)). Launches that may overlap run on one core.
#[derive(Default)]
pub struct Stream<'k> {
    launches: Vec<Owned<'k>>,
}

struct Owned<'k> {
    launch: Launch,
    kernel: Box<dyn Fn() + Sync + 'k>,
    is_dependent: bool,
}

impl<'k> Stream<'k> {
    /// A stream without launches.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a launch that starts when all before it have ended.
    ///
    /// The schedule, checks, policy and the other options of the simulation are those of the first launch for all; of
    /// each other one its grid, cluster, block, dynamic shared memory, limits and name count.
    pub fn launch(self, launch: Launch, kernel: impl Fn() + Sync + 'k) -> Self {
        self.add(launch, kernel, false)
    }

    /// Adds a launch that may overlap with the one before it. At most 63 in a row.
    pub fn launch_dependent(self, launch: Launch, kernel: impl Fn() + Sync + 'k) -> Self {
        self.add(launch, kernel, true)
    }

    fn add(mut self, launch: Launch, kernel: impl Fn() + Sync + 'k, is_dependent: bool) -> Self {
        self.launches.push(Owned {
            launch,
            kernel: Box::new(kernel),
            is_dependent,
        });
        self
    }

    /// Runs the launches as [`Launch::run`] runs one: under each schedule all of them, from the same contents of the
    /// buffers. Those after one with a fault do not run, but for dependent ones of the same row.
    pub fn run(&self) -> StreamReport {
        let queued = self.launches.iter().map(|owned| Queued {
            launch: &owned.launch,
            kernel: &*owned.kernel,
            is_dependent: owned.is_dependent,
        });
        let queued: Vec<Queued<'_>> = queued.collect();
        StreamReport {
            launches: launch::run(&queued),
        }
    }
}

/// The outcome of a [`Stream`].
#[derive(Clone, Debug, Serialize)]
#[must_use = "the faults are in the report: `assert_clean` panics where there are any"]
pub struct StreamReport {
    /// The report of each launch. A fault is in that of the launch that it occurred in, a race in that of the later
    /// access; [`ScheduleDependent`](crate::FaultKind::ScheduleDependent) in that of the last launch, and
    /// [`RedZone`](crate::FaultKind::RedZone) in that of the last that could overlap. The time is that of the stream.
    pub launches: Vec<Report>,
}

impl StreamReport {
    /// The faults of all launches.
    pub fn faults(&self) -> impl Iterator<Item = &SimFault> {
        self.launches.iter().flat_map(|report| &report.faults)
    }

    /// The warnings of all launches.
    pub fn warnings(&self) -> impl Iterator<Item = &SimFault> {
        self.launches.iter().flat_map(|report| &report.warnings)
    }

    /// Whether there are no faults.
    pub fn is_clean(&self) -> bool {
        self.faults().next().is_none()
    }

    /// The report, if there are no faults.
    ///
    /// # Errors
    /// The faults of the first launch that has any.
    pub fn into_clean(self) -> Result<Self, Faulty> {
        match self.launches.iter().find(|report| !report.is_clean()) {
            Some(faulty) => Err(Faulty(Box::new(faulty.clone()))),
            None => Ok(self),
        }
    }

    /// # Panics
    /// If there are faults, with the text of each.
    #[track_caller]
    pub fn assert_clean(&self) {
        self.launches.iter().for_each(Report::assert_clean);
    }
}

impl fmt::Display for StreamReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, report) in (1..).zip(&self.launches) {
            let name = report.name.clone();
            writeln!(f, "{}\n{report}", LaunchName { number, name })?;
        }
        Ok(())
    }
}
