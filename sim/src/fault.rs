//! What can be wrong with a kernel, as values.

mod mbarrier;

use std::fmt;
use std::panic::Location;

use serde::Serialize;

use crate::access::{AccessKind, Space};

pub use mbarrier::MbarrierProblem;

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Site {
    /// The file as the compiler was given it.
    pub file: &'static str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl From<&'static Location<'static>> for Site {
    fn from(location: &'static Location<'static>) -> Self {
        Self {
            file: location.file(),
            line: location.line(),
            column: location.column(),
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FaultKind {
    /// Two threads of a block access the same shared memory, at least one writes, and nothing orders the two.
    SharedRace {
        /// What this thread does; the other access is in [`SimFault::other`].
        access: AccessKind,
        /// Offset of the access from the start of the block's shared memory, in bytes.
        offset: u64,
    },
    /// Two threads access the same global memory, at least one writes, and nothing orders the two.
    GlobalRace {
        /// What this thread does.
        access: AccessKind,
        /// Offset of the access from the start of its buffer, in bytes.
        offset: u64,
    },
    /// Shared memory is accessed that an asynchronous copy is writing: its thread has not waited for it. Where the copy
    /// was started is in [`SimFault::other`].
    AsyncPending {
        /// What this thread does.
        access: AccessKind,
        /// Offset of the access from the start of the block's shared memory, in bytes.
        offset: u64,
        /// What the copying thread has not done.
        missing: AsyncStep,
    },
    /// The async proxy reads shared memory that a thread wrote without a fence between the two (`fence.proxy.async`): a
    /// bulk copy out of shared memory, or a matrix product. The write is in [`SimFault::other`].
    MissingProxyFence {
        /// Offset of the bytes from the start of the block's shared memory.
        offset: u64,
    },
    /// An mbarrier is not used as it may be. Where it was initialised is in [`SimFault::other`], for an ordinary
    /// access.
    Mbarrier {
        /// Offset of the mbarrier from the start of the block's shared memory, in bytes.
        offset: u64,
        /// What is wrong.
        #[serde(flatten)]
        problem: MbarrierProblem,
    },
    /// A bulk copy that cannot be started.
    BulkCopy {
        /// Why, with both numbers.
        problem: String,
    },
    /// The threads of a warpgroup do not execute an instruction together as it asks for, or with operands that it does
    /// not take.
    Warpgroup {
        /// Why, with both numbers.
        problem: String,
    },
    /// What a thread asks of its cluster cannot be.
    Cluster {
        /// Why, with both numbers.
        problem: String,
    },
    /// Some threads of the block are at a barrier, the others have ended: they will never come.
    BarrierDivergence {
        /// Threads at the barrier.
        waiting: u32,
        /// Threads that ended before it.
        exited: u32,
    },
    /// Threads of the block are at different barriers at the same time: a barrier stands in a branch that only some
    /// take.
    BarrierMismatch {
        /// Threads at this barrier.
        here: u32,
        /// Threads at the other one.
        there: u32,
    },
    /// A named barrier's number or count is none that the block can have, or its threads do not agree on the count.
    NamedBarrier {
        /// Its number.
        id: u32,
        /// What is wrong, with both numbers.
        problem: String,
    },
    /// Nobody can go on: each thread waits for one that waits too.
    Deadlock {
        /// Who waits for what.
        waiting: String,
    },
    /// Memory is read that nobody has written: in this block for shared memory, at all for global memory.
    UninitializedRead {
        /// The memory.
        space: Space,
        /// Offset from the start of the block's shared memory or of the buffer, in bytes.
        offset: u64,
    },
    /// An access leaves its view, its block's shared memory or its buffer, or is in the padding of a matrix.
    OutOfBounds {
        /// The memory.
        space: Space,
        /// What the thread does.
        access: AccessKind,
        /// Bytes accessed.
        bytes: u32,
        /// What is left, and by how much.
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
    /// Static and dynamic shared memory together, or the static part, exceed what the architecture gives a block.
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
    /// An access beyond the dynamic shared memory of the launch: the kernel's layout is larger than what the launch
    /// asked for.
    DynamicSharedTooSmall {
        /// What the launch gave, in bytes.
        given_bytes: u64,
        /// What the access would need, in bytes.
        needed_bytes: u64,
    },
    /// The launch is outside the limits of the architecture.
    LaunchShape {
        /// Which, with both numbers.
        problem: String,
    },
    /// The machine that simulates has no memory or no thread for it. It says nothing of the kernel.
    Resources {
        /// What is missing.
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
    /// A raw pointer was followed to an address where there is nothing.
    BadAddress {
        /// What is known of the address.
        address: String,
    },
    /// A raw pointer overwrote the space behind a static shared array.
    Overrun {
        /// The array's length in bytes.
        bytes: u64,
    },
    /// A thread ran for so long without meeting the others that it is taken to run for ever.
    TimeLimit {
        /// The limit, in milliseconds.
        milliseconds: u64,
    },
    /// The result depends on the order in which threads run, or on what uninitialised shared memory holds.
    ScheduleDependent {
        /// The two schedules.
        schedules: [String; 2],
        /// The buffer, in the order of creation among the thread's live buffers.
        buffer: u32,
        /// Offset of the first differing byte in the buffer.
        offset: u64,
        /// How many bytes of it differ.
        bytes: u64,
    },
    /// A warp function was called with a mask that does not contain the calling lane.
    WarpMask {
        /// The mask.
        mask: u32,
        /// The calling lane.
        lane: u32,
    },
}

/// A step between the start of an asynchronous copy and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AsyncStep {
    /// Making a group of it.
    Commit,
    /// Waiting for its group.
    Wait,
}

impl FaultKind {
    /// The name of the kind without its numbers, such as `SharedRace`.
    pub fn name(&self) -> &'static str {
        match self {
            FaultKind::SharedRace { .. } => "SharedRace",
            FaultKind::GlobalRace { .. } => "GlobalRace",
            FaultKind::AsyncPending { .. } => "AsyncPending",
            FaultKind::MissingProxyFence { .. } => "MissingProxyFence",
            FaultKind::Mbarrier { .. } => "Mbarrier",
            FaultKind::BulkCopy { .. } => "BulkCopy",
            FaultKind::Warpgroup { .. } => "Warpgroup",
            FaultKind::Cluster { .. } => "Cluster",
            FaultKind::BarrierDivergence { .. } => "BarrierDivergence",
            FaultKind::BarrierMismatch { .. } => "BarrierMismatch",
            FaultKind::NamedBarrier { .. } => "NamedBarrier",
            FaultKind::Deadlock { .. } => "Deadlock",
            FaultKind::UninitializedRead { .. } => "UninitializedRead",
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
            FaultKind::TimeLimit { .. } => "TimeLimit",
            FaultKind::ScheduleDependent { .. } => "ScheduleDependent",
            FaultKind::WarpMask { .. } => "WarpMask",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::SharedRace { access, offset } => write!(f, "race in shared memory: {access} at byte {offset}"),
            FaultKind::GlobalRace { access, offset } => {
                write!(f, "race in global memory: {access} at byte {offset} of the buffer")
            }
            FaultKind::AsyncPending {
                access,
                offset,
                missing,
            } => {
                let missing = match missing {
                    AsyncStep::Commit => "no commit has made a group of the copy",
                    AsyncStep::Wait => "no wait covers the copy's group",
                };
                write!(
                    f,
                    "asynchronous copy under way: {access} at byte {offset} of shared memory, {missing}"
                )
            }
            FaultKind::MissingProxyFence { offset } => write!(
                f,
                "no fence.proxy.async between a write and its read by the async proxy: byte {offset} of shared memory"
            ),
            FaultKind::Mbarrier { offset, problem } => {
                write!(f, "mbarrier at byte {offset} of shared memory: {problem}")
            }
            FaultKind::BulkCopy { problem } => write!(f, "bulk copy: {problem}"),
            FaultKind::Warpgroup { problem } => write!(f, "warpgroup: {problem}"),
            FaultKind::Cluster { problem } => write!(f, "cluster: {problem}"),
            FaultKind::BarrierDivergence { waiting, exited } => write!(
                f,
                "barrier not reached by all: {waiting} threads wait, {exited} have ended"
            ),
            FaultKind::BarrierMismatch { here, there } => write!(
                f,
                "different barriers at once: {here} threads wait at this one, {there} at another"
            ),
            FaultKind::NamedBarrier { id, problem } => write!(f, "named barrier {id}: {problem}"),
            FaultKind::Deadlock { waiting } => write!(f, "deadlock: {waiting}"),
            FaultKind::UninitializedRead { space, offset } => {
                write!(f, "{space} memory read that was never written: byte {offset}")
            }
            FaultKind::OutOfBounds {
                space,
                access,
                bytes,
                bound,
            } => write!(f, "{space} memory out of bounds: {access} of {bytes} bytes {bound}"),
            FaultKind::Misaligned {
                space,
                bytes,
                remainder,
            } => write!(
                f,
                "misaligned access to {space} memory: {bytes} bytes at an address that is {remainder} modulo {bytes}"
            ),
            FaultKind::SharedLimit {
                static_bytes,
                dynamic_bytes,
                limit_bytes,
                limit,
            } => write!(
                f,
                "too much shared memory: {static_bytes} bytes static + {dynamic_bytes} bytes dynamic, {limit} is {limit_bytes} bytes"
            ),
            FaultKind::DynamicSharedTooSmall {
                given_bytes,
                needed_bytes,
            } => write!(
                f,
                "dynamic shared memory too small: the launch gives {given_bytes} bytes, this access needs {needed_bytes}"
            ),
            FaultKind::LaunchShape { problem } => write!(f, "launch outside the limits: {problem}"),
            FaultKind::Resources { problem } => write!(f, "the simulation could not go on: {problem}"),
            FaultKind::Panic { message } => write!(f, "panic: {message}"),
            FaultKind::StackOverflow { stack_bytes } => {
                write!(f, "stack overflow: a simulated thread has {stack_bytes} bytes")
            }
            FaultKind::BadAddress { address } => write!(f, "bad address: {address}"),
            FaultKind::Overrun { bytes } => write!(f, "memory behind a shared array of {bytes} bytes was overwritten"),
            FaultKind::TimeLimit { milliseconds } => write!(
                f,
                "still running after {} s without meeting the block",
                *milliseconds as f64 / 1e3
            ),
            FaultKind::ScheduleDependent {
                schedules: [first, second],
                buffer,
                offset,
                bytes,
            } => write!(
                f,
                "the result depends on the schedule: {first} and {second} leave buffer {buffer} different, first at byte {offset} (differing bytes: {bytes})"
            ),
            FaultKind::WarpMask { mask, lane } => {
                write!(f, "mask {mask:#010x} does not contain the calling lane {lane}")
            }
        }
    }
}

/// The other side of a race or of a barrier mismatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherAccess {
    /// What it does; `None` for a barrier.
    pub access: Option<AccessKind>,
    /// Its block, x, y, z.
    pub block: [u32; 3],
    /// Its thread in the block, x, y, z.
    pub thread: [u32; 3],
    /// Its source line.
    pub site: Site,
}

/// Something wrong with a kernel or its launch: what, where, and by which thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SimFault {
    /// What is wrong.
    #[serde(flatten)]
    pub kind: FaultKind,
    /// The block, x, y, z.
    pub block: [u32; 3],
    /// The thread in the block, x, y, z.
    pub thread: [u32; 3],
    /// The source line; `None` where no single line is at fault (a launch's shape) or none is
    /// known (an access through a raw pointer in a program without debug information).
    pub site: Option<Site>,
    /// Barriers of the block that were complete before, so that the first interval is 0.
    pub interval: u32,
    /// The other access of a race, the other barrier of a mismatch.
    pub other: Option<OtherAccess>,
    /// How often the same was seen: same kind, same lines. The first in the order of the schedule is shown.
    pub count: u64,
}

impl fmt::Display for SimFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if matches!(
            self.kind,
            FaultKind::LaunchShape { .. } | FaultKind::Resources { .. } | FaultKind::ScheduleDependent { .. }
        ) {
            return Ok(());
        }
        write!(
            f,
            "\n    by thread {} of block {}, interval {}",
            Position(self.thread),
            Position(self.block),
            self.interval
        )?;
        if let Some(site) = &self.site {
            write!(f, "\n    at {site}")?;
        }
        if let Some(other) = &self.other {
            match other.access {
                Some(access) => write!(f, "\n    against the {access} ")?,
                None => write!(f, "\n    while at the other is ")?,
            }
            if other.access.is_some() {
                write!(f, "by ")?;
            }
            write!(
                f,
                "thread {} of block {}",
                Position(other.thread),
                Position(other.block)
            )?;
            write!(f, "\n    at {}", other.site)?;
        }
        if self.count > 1 {
            write!(f, "\n    seen {} times", self.count)?;
        }
        Ok(())
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
