//! The texts of faults.

use std::fmt;

use super::{AsyncStep, FaultKind, TensorMapStep};

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
            FaultKind::CrossProxyWar { offset } => write!(
                f,
                "warning: cross-proxy WAR without fence: the async proxy writes byte {offset} of shared memory, which \
                 a thread has read"
            ),
            FaultKind::TensorMapFence { offset, step } => {
                let step = match step {
                    TensorMapStep::Release => "no release fence of the thread that has changed it",
                    TensorMapStep::Acquire => "no acquire fence since it was changed",
                };
                write!(
                    f,
                    "tensor map at byte {offset} of the buffer: {step} (fence.proxy.tensormap)"
                )
            }
            FaultKind::ExitDuringCopy { writes } => {
                let access = if *writes { "writes" } else { "reads" };
                write!(f, "the block ends while a bulk copy still {access} its shared memory")
            }
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
            FaultKind::ViewOverlap { offset, here, there } => write!(
                f,
                "stores through overlapping views at byte {offset} of shared memory: {here}, and {there}"
            ),
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
                "too much shared memory: {static_bytes} bytes static + {dynamic_bytes} bytes dynamic, {limit} is \
                 {limit_bytes} bytes"
            ),
            FaultKind::DynamicSharedTooSmall {
                given_bytes,
                needed_bytes,
            } => write!(
                f,
                "dynamic shared memory too small: the launch gives {given_bytes} bytes, this access needs \
                 {needed_bytes}"
            ),
            FaultKind::LaunchShape { problem } => write!(f, "launch outside the limits: {problem}"),
            FaultKind::Resources { problem } => write!(f, "the simulation could not go on: {problem}"),
            FaultKind::Panic { message } => write!(f, "panic: {message}"),
            FaultKind::StackOverflow { stack_bytes } => {
                write!(f, "stack overflow: a simulated thread has {stack_bytes} bytes")
            }
            FaultKind::BadAddress { address } => write!(f, "bad address: {address}"),
            FaultKind::Overrun { bytes } => write!(f, "memory after a shared array of {bytes} bytes was overwritten"),
            FaultKind::RedZone {
                buffer,
                buffer_bytes,
                offset,
                bytes,
            } => write!(
                f,
                "memory next to buffer {buffer}, of {buffer_bytes} bytes, was overwritten: {bytes} bytes, the first at \
                 byte {offset}"
            ),
            FaultKind::TimeLimit { milliseconds } => write!(
                f,
                "still running after {} s without synchronizing with the block",
                *milliseconds as f64 / 1e3
            ),
            FaultKind::Budget { spent } => write!(f, "budget spent: {spent} (`Launch::budget`)"),
            FaultKind::ScheduleDependent {
                schedules: [first, second],
                buffer,
                offset,
                bytes,
            } => write!(
                f,
                "the result depends on the schedule: {first} and {second} leave buffer {buffer} different, first at \
                 byte {offset} (differing bytes: {bytes})"
            ),
            FaultKind::WarpMismatch { here, there } => {
                write!(
                    f,
                    "lanes of one mask are in different warp functions: {here} and {there}"
                )
            }
            FaultKind::AbsentLane { mask, lane } => write!(
                f,
                "the value of lane {lane} is undefined: it is not in mask {mask:#010x}, or has exited"
            ),
            FaultKind::DeclaredAlignment { bytes, align } => write!(
                f,
                "access of {bytes} bytes to a static shared array whose type is aligned to {align}"
            ),
            FaultKind::AtomicScope { is_narrow } => {
                let which = if *is_narrow { "this atomic" } else { "the other atomic" };
                write!(f, "atomics of two blocks on one word: {which} is of block scope")
            }
            FaultKind::WarpMask { mask, lane } => {
                write!(f, "mask {mask:#010x} does not contain the calling lane {lane}")
            }
        }
    }
}
