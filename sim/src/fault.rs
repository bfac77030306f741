//! Faults of a kernel, as values.

mod hint;
mod location;
mod mbarrier;
mod text;

use std::fmt;

use serde::Serialize;

use crate::access::{AccessKind, Space};

pub use location::{LaunchName, SourceLocation, StackFrame};
pub use mbarrier::MbarrierProblem;

/// The kind of a fault, with its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FaultKind {
    /// Two threads of a block access the same shared memory, at least one writes, and they are not ordered.
    SharedRace {
        /// The access of this thread; the other one is in [`SimFault::other`].
        access: AccessKind,
        /// Offset of the access from the start of the block's shared memory, in bytes.
        offset: u64,
    },
    /// Two threads access the same global memory, at least one writes, and they are not ordered.
    GlobalRace {
        /// The access of this thread.
        access: AccessKind,
        /// Offset of the access from the start of its buffer, in bytes.
        offset: u64,
    },
    /// An access to shared memory that a pending asynchronous copy writes: its thread has not waited for it. The start
    /// of the copy is in [`SimFault::other`].
    AsyncPending {
        /// The access of this thread.
        access: AccessKind,
        /// Offset of the access from the start of the block's shared memory, in bytes.
        offset: u64,
        /// The missing step of the copying thread.
        missing: AsyncStep,
    },
    /// The async proxy reads shared memory that a thread wrote without a fence between the two (`fence.proxy.async`): a
    /// TMA store, or `wgmma`. The write is in [`SimFault::other`].
    MissingProxyFence {
        /// Offset of the bytes from the start of the block's shared memory.
        offset: u64,
    },
    /// The async proxy writes shared memory that a thread has read before, ordered by a barrier but without
    /// `fence.proxy.async` between the two. A [warning](Severity::Warning). The read is in [`SimFault::other`].
    CrossProxyWar {
        /// Offset of the bytes from the start of the block's shared memory.
        offset: u64,
    },
    /// A bulk copy uses a tensor map in global memory that a thread of the launch has changed, without the fences of
    /// the tensor-map proxy between the two (`fence.proxy.tensormap`). The change is in [`SimFault::other`].
    TensorMapFence {
        /// Offset of the map from the start of its buffer, in bytes.
        offset: u64,
        /// The fence that is missing.
        step: TensorMapStep,
    },
    /// The block ends while a bulk copy may still access its shared memory, which another block may have by then.
    ExitDuringCopy {
        /// The copy writes shared memory; otherwise it reads it.
        writes: bool,
    },
    /// An invalid use of an mbarrier. For an ordinary access, its initialization is in [`SimFault::other`].
    Mbarrier {
        /// Offset of the mbarrier from the start of the block's shared memory, in bytes.
        offset: u64,
        /// The kind of a fault, with its numbers.
        #[serde(flatten)]
        problem: MbarrierProblem,
    },
    /// A bulk copy that cannot be started.
    BulkCopy {
        /// Why, with both numbers.
        problem: String,
    },
    /// The threads of a warpgroup do not execute an instruction together, or its operands are invalid.
    Warpgroup {
        /// Why, with both numbers.
        problem: String,
    },
    /// An impossible request of a thread to its cluster.
    Cluster {
        /// Why, with both numbers.
        problem: String,
    },
    /// Some threads of the block wait at a barrier; the others have exited and can never arrive.
    BarrierDivergence {
        /// Threads at the barrier.
        waiting: u32,
        /// Threads that exited before it.
        exited: u32,
    },
    /// Threads of the block wait at different barriers at the same time: a barrier is in a branch that only some take,
    /// or lanes of one warp called the function that contains it in different places.
    BarrierMismatch {
        /// Threads at this barrier.
        here: u32,
        /// Threads at the other one.
        there: u32,
    },
    /// A named barrier with an invalid number or count, or whose threads disagree on the count.
    NamedBarrier {
        /// Its number.
        id: u32,
        /// The problem, with both numbers.
        problem: String,
    },
    /// No thread can make progress: each waits for one that waits, too.
    Deadlock {
        /// The waiting threads, by operation and source location.
        waiting: String,
    },
    /// A read of memory that was never written: in this block for shared memory, at all for global memory.
    UninitializedRead {
        /// The memory.
        space: Space,
        /// Offset from the start of the block's shared memory or of the buffer, in bytes.
        offset: u64,
    },
    /// A store through a view of shared memory overwrites bytes that were stored through another view of another type
    /// or shape, without a barrier between. The earlier store is in [`SimFault::other`].
    ViewOverlap {
        /// Offset of the store from the start of the block's shared memory, in bytes.
        offset: u64,
        /// The view of this store.
        here: String,
        /// The other one.
        there: String,
    },
    /// An access leaves its view, its block's shared memory or its buffer, or is in the padding of a matrix.
    OutOfBounds {
        /// The memory.
        space: Space,
        /// The access of the thread.
        access: AccessKind,
        /// Bytes accessed.
        bytes: u32,
        /// The bound that is exceeded, and by how much.
        bound: String,
    },
    /// The address is no multiple of the access's size.
    Misaligned {
        /// The memory.
        space: Space,
        /// Bytes accessed at once: their number is the alignment.
        bytes: u32,
        /// The address modulo the alignment.
        remainder: u32,
    },
    /// Static and dynamic shared memory together, or the static part, exceed the architecture's limit for a block.
    SharedLimit {
        /// Static bytes.
        static_bytes: u64,
        /// Dynamic bytes.
        dynamic_bytes: u64,
        /// The limit that is exceeded, in bytes.
        limit_bytes: u64,
        /// Its name.
        limit: String,
    },
    /// An access beyond the dynamic shared memory of the launch: the kernel's layout is larger than the launch's
    /// dynamic shared memory.
    DynamicSharedTooSmall {
        /// Dynamic shared memory of the launch, in bytes.
        given_bytes: u64,
        /// Dynamic shared memory that the access needs, in bytes.
        needed_bytes: u64,
    },
    /// The launch is outside the limits of the architecture.
    LaunchShape {
        /// Which, with both numbers.
        problem: String,
    },
    /// This machine lacks the memory or the threads to simulate the launch. Nothing is known of the kernel.
    Resources {
        /// The missing resource.
        problem: String,
    },
    /// The kernel panicked: an assertion, an index out of range, a trap.
    Panic {
        /// The message.
        message: String,
    },
    /// The thread used up its stack.
    StackOverflow {
        /// The stack of a simulated thread, in bytes.
        stack_bytes: u64,
    },
    /// A raw pointer to unmapped memory was dereferenced.
    BadAddress {
        /// A description of the address.
        address: String,
    },
    /// A raw pointer overwrote the bytes after a static shared array.
    Overrun {
        /// The array's length in bytes.
        bytes: u64,
    },
    /// A raw pointer overwrote memory next to a buffer. Seen when the launch ends.
    RedZone {
        /// The buffer, in the order of creation among the thread's live buffers.
        buffer: u32,
        /// Its length in bytes.
        buffer_bytes: u64,
        /// Offset of the first overwritten byte from the buffer's start.
        offset: i64,
        /// The number of overwritten bytes.
        bytes: u64,
    },
    /// The threads of a block ran for the time limit without synchronizing: the watchdog takes them to run forever.
    TimeLimit {
        /// The limit, in milliseconds.
        milliseconds: u64,
    },
    /// The launch spent its [`Budget`](crate::Budget): more barriers, turns or time than it may.
    Budget {
        /// The part of the budget, with its number.
        spent: String,
    },
    /// The result depends on the order in which threads run, or on the contents of uninitialized shared memory.
    ScheduleDependent {
        /// The two schedules.
        schedules: [String; 2],
        /// The buffer, in the order of creation among the thread's live buffers.
        buffer: u32,
        /// Offset of the first differing byte in the buffer.
        offset: u64,
        /// The number of bytes that differ.
        bytes: u64,
    },
    /// The lanes of a mask call different warp functions.
    WarpMismatch {
        /// The function of this lane.
        here: String,
        /// That of the other one.
        there: String,
    },
    /// A shuffle read the value of a lane that is not in its mask or has exited: undefined on a GPU.
    AbsentLane {
        /// The mask.
        mask: u32,
        /// The lane that was read.
        lane: u32,
    },
    /// A vector access to a static shared array whose type promises less alignment: the compiler may place the array
    /// at any multiple of that.
    DeclaredAlignment {
        /// Bytes accessed at once.
        bytes: u32,
        /// The alignment of the array's declared type.
        align: u32,
    },
    /// Two blocks access the same word by atomics, at least one writes, and at least one is of block scope: they are
    /// not atomic to each other. The earlier one is in [`SimFault::other`].
    AtomicScope {
        /// Whether this atomic is of block scope; if not, the other one is.
        is_narrow: bool,
    },
    /// A warp function was called with a mask that does not contain the calling lane.
    WarpMask {
        /// The mask.
        mask: u32,
        /// The calling lane.
        lane: u32,
    },
}

/// What a finding says of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The programming model does not allow it: in [`Report::faults`](crate::Report::faults).
    Error,
    /// The memory model asks for more than the vendor's own kernels do: in
    /// [`Report::warnings`](crate::Report::warnings). The launch counts as clean.
    Warning,
}

/// A step between the start and the end of an asynchronous copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AsyncStep {
    /// The commit of its group.
    Commit,
    /// The wait for its group.
    Wait,
}

/// A fence between the change of a tensor map and its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TensorMapStep {
    /// That of the thread that has changed it.
    Release,
    /// That of the block that uses it.
    Acquire,
}

impl FaultKind {
    /// Whether it is a fault or a warning.
    pub fn severity(&self) -> Severity {
        match self {
            FaultKind::CrossProxyWar { .. } => Severity::Warning,
            _ => Severity::Error,
        }
    }

    /// The name of the kind without its numbers, such as `SharedRace`.
    pub fn name(&self) -> &'static str {
        match self {
            FaultKind::SharedRace { .. } => "SharedRace",
            FaultKind::GlobalRace { .. } => "GlobalRace",
            FaultKind::AsyncPending { .. } => "AsyncPending",
            FaultKind::MissingProxyFence { .. } => "MissingProxyFence",
            FaultKind::CrossProxyWar { .. } => "CrossProxyWar",
            FaultKind::TensorMapFence { .. } => "TensorMapFence",
            FaultKind::ExitDuringCopy { .. } => "ExitDuringCopy",
            FaultKind::Mbarrier { .. } => "Mbarrier",
            FaultKind::BulkCopy { .. } => "BulkCopy",
            FaultKind::Warpgroup { .. } => "Warpgroup",
            FaultKind::Cluster { .. } => "Cluster",
            FaultKind::BarrierDivergence { .. } => "BarrierDivergence",
            FaultKind::BarrierMismatch { .. } => "BarrierMismatch",
            FaultKind::NamedBarrier { .. } => "NamedBarrier",
            FaultKind::Deadlock { .. } => "Deadlock",
            FaultKind::UninitializedRead { .. } => "UninitializedRead",
            FaultKind::ViewOverlap { .. } => "ViewOverlap",
            FaultKind::OutOfBounds { .. } => "OutOfBounds",
            FaultKind::Misaligned { .. } => "Misaligned",
            FaultKind::SharedLimit { .. } => "SharedLimit",
            FaultKind::DynamicSharedTooSmall { .. } => "DynamicSharedTooSmall",
            FaultKind::LaunchShape { .. } => "LaunchShape",
            FaultKind::Resources { .. } => "Resources",
            FaultKind::Panic { .. } => "Panic",
            FaultKind::StackOverflow { .. } => "StackOverflow",
            FaultKind::BadAddress { .. } => "BadAddress",
            FaultKind::Overrun { .. } => "Overrun",
            FaultKind::RedZone { .. } => "RedZone",
            FaultKind::TimeLimit { .. } => "TimeLimit",
            FaultKind::Budget { .. } => "Budget",
            FaultKind::ScheduleDependent { .. } => "ScheduleDependent",
            FaultKind::WarpMismatch { .. } => "WarpMismatch",
            FaultKind::AbsentLane { .. } => "AbsentLane",
            FaultKind::DeclaredAlignment { .. } => "DeclaredAlignment",
            FaultKind::AtomicScope { .. } => "AtomicScope",
            FaultKind::WarpMask { .. } => "WarpMask",
        }
    }
}

/// The other side of a race or of a barrier mismatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherAccess {
    /// Its access; `None` for a barrier.
    pub access: Option<AccessKind>,
    /// Its launch; `None` if there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchName>,
    /// Its block, x, y, z.
    pub block: [u32; 3],
    /// Its thread in the block, x, y, z.
    pub thread: [u32; 3],
    /// Its source line.
    pub location: SourceLocation,
    /// Its call stack, innermost frame first; empty where it is not known.
    pub stack: Vec<StackFrame>,
}

/// A fault of a kernel or its launch: kind, source location, thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SimFault {
    /// The kind of a fault, with its numbers.
    #[serde(flatten)]
    pub kind: FaultKind,
    /// The launch; `None` if there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchName>,
    /// The block, x, y, z.
    pub block: [u32; 3],
    /// The thread in the block, x, y, z.
    pub thread: [u32; 3],
    /// The source line; `None` if no single line is at fault (a launch's shape) or none is known (an access through a
    /// raw pointer in a program without debug information).
    pub location: Option<SourceLocation>,
    /// The call stack, innermost frame first; empty where it is not known.
    pub stack: Vec<StackFrame>,
    /// Number of barriers that the block had completed; 0 in the first interval.
    pub interval: u32,
    /// The other access of a race, the other barrier of a mismatch.
    pub other: Option<OtherAccess>,
    /// The name of the buffer, if it has one ([`GlobalBuffer::named`](crate::GlobalBuffer::named)).
    pub buffer: Option<String>,
    /// The block whose shared memory it is about, x, y, z; `None` for the thread's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_of: Option<[u32; 3]>,
    /// The schedule that found it, as [`Schedule`](crate::Schedule) reads it back.
    pub schedule: Option<String>,
    /// Number of occurrences with the same kind and lines. The first one in the order of the schedule is shown.
    pub count: u64,
}

impl fmt::Display for SimFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(buffer) = &self.buffer {
            write!(f, "\n    in buffer `{buffer}`")?;
        }
        if let Some([x, y, z]) = self.shared_of {
            write!(f, "\n    in shared memory of block ({x}, {y}, {z})")?;
        }
        if matches!(
            self.kind,
            FaultKind::LaunchShape { .. }
                | FaultKind::Resources { .. }
                | FaultKind::RedZone { .. }
                | FaultKind::ScheduleDependent { .. }
        ) {
            return self.write_hint(f);
        }
        write!(
            f,
            "\n    by {}, interval {}",
            Accessor(self.thread, self.block, &self.launch),
            self.interval
        )?;
        if let Some(location) = &self.location {
            write!(f, "\n    at {location}")?;
        }
        write_callers(f, &self.stack)?;
        if let Some(other) = &self.other {
            match other.access {
                Some(access) => write!(f, "\n    against the {access} ")?,
                None => write!(f, "\n    while at the other is ")?,
            }
            if other.access.is_some() {
                write!(f, "by ")?;
            }
            write!(f, "{}", Accessor(other.thread, other.block, &other.launch))?;
            write!(f, "\n    at {}", other.location)?;
            write_callers(f, &other.stack)?;
        }
        self.write_hint(f)?;
        if self.count > 1 {
            write!(f, "\n    seen {} times", self.count)?;
        }
        if let Some(schedule) = self.schedule.as_ref().filter(|schedule| *schedule != "forward") {
            write!(f, "\n    under the schedule {schedule}")?;
        }
        Ok(())
    }
}

impl SimFault {
    fn write_hint(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hint().map_or(Ok(()), |hint| write!(f, "\n    hint: {hint}"))
    }
}

/// Writes the calls that led to the innermost frame.
fn write_callers(f: &mut fmt::Formatter<'_>, stack: &[StackFrame]) -> fmt::Result {
    let mut callers = stack.iter().skip(1);
    callers.try_for_each(|frame| write!(f, "\n      called by {} at {}", frame.function, frame.location))
}

/// A thread of a block, and its launch if there are several.
struct Accessor<'a>([u32; 3], [u32; 3], &'a Option<LaunchName>);

impl fmt::Display for Accessor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(thread, block, launch) = self;
        write!(f, "thread {} of block {}", Position(*thread), Position(*block))?;
        launch.as_ref().map_or(Ok(()), |launch| write!(f, " of {launch}"))
    }
}

/// `(x, y, z)`.
struct Position([u32; 3]);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "({x}, {y}, {z})")
    }
}
