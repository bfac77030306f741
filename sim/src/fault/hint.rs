//! What would mend a fault, in one line.

use crate::access::{AccessKind, Space};

use super::{AsyncStep, FaultKind, MbarrierProblem, OtherAccess, SimFault, TensorMapStep};

impl SimFault {
    /// What would mend the fault, in one line. `None` where its text says so, or nothing general can be said.
    pub fn hint(&self) -> Option<String> {
        let hint = match &self.kind {
            FaultKind::SharedRace { access, .. } => return self.hint_at_race(*access),
            FaultKind::GlobalRace { access, .. } => match &self.other {
                Some(other) if other.launch != self.launch => return self.hint_at_overlap(*access, other),
                Some(other) if other.block != self.block => {
                    "no barrier orders two blocks: make both accesses atomic, or split the launch between them"
                }
                _ => return self.hint_at_race(*access),
            },
            FaultKind::AsyncPending { missing, .. } => match missing {
                AsyncStep::Commit => "commit the copy, and wait for its group before this access",
                AsyncStep::Wait => {
                    "wait for the copy's group before this access, then sync_threads() for other threads"
                }
            },
            FaultKind::MissingProxyFence { .. } => {
                "the writing thread must execute fence.proxy.async after its write, before the barrier that follows"
            }
            FaultKind::CrossProxyWar { .. } => {
                "execute fence.proxy.async after the load, before the barrier that lets the copy start"
            }
            FaultKind::TensorMapFence { step, .. } => match step {
                TensorMapStep::Release => {
                    "the thread that changes the map must execute fence.proxy.tensormap::generic.release after that"
                }
                TensorMapStep::Acquire => {
                    "execute fence.proxy.tensormap::generic.acquire on the map before this, in the same block"
                }
            },
            FaultKind::ExitDuringCopy { writes } => match writes {
                true => "wait for the copy's mbarrier phase before the block ends",
                false => "the thread that started it must execute cp.async.bulk.wait_group.read 0 before it ends",
            },
            FaultKind::BulkCopy { .. } => {
                "pass a map that TensorMapParts::encode_simulated made, of the instruction's rank, and limits of sm_90"
            }
            FaultKind::Warpgroup { problem } if problem.contains("wgmma.fence") => {
                "execute wgmma.fence after the last access to the accumulators, before wgmma.mma_async"
            }
            FaultKind::Warpgroup { problem } if problem.contains("waited for") => {
                "execute wgmma.wait_group between wgmma.mma_async and the first access to its accumulators"
            }
            FaultKind::Warpgroup { .. } => "all 128 threads of the warpgroup must execute it, with the same operands",
            FaultKind::Cluster { problem } if problem.ends_with("ended") => {
                "let no block of the cluster end before the others are done with it: end with the cluster's barrier"
            }
            FaultKind::Cluster { .. } => "compare Launch::cluster with what the kernel assumes",
            FaultKind::BarrierDivergence { .. } => {
                "threads without work must reach the barrier too: guard their work, do not return before it"
            }
            FaultKind::BarrierMismatch { .. } => "move the barrier out of the branch, so that all threads reach it",
            FaultKind::NamedBarrier { .. } => {
                "use barriers 1 to 15, with one count everywhere: 32 for each warp that arrives"
            }
            FaultKind::Deadlock { .. } => {
                "look for a branch that skips an arrival, or locks that are taken in different orders"
            }
            FaultKind::UninitializedRead { space, .. } => match space {
                Space::Shared => "store it first, with sync_threads() between the store and this load",
                Space::Global => "fill the buffer before the launch, or store to it first",
            },
            FaultKind::ViewOverlap { .. } => {
                "give each view bytes of its own, or put sync_threads() between the two uses of the bytes"
            }
            FaultKind::OutOfBounds { .. } => "test the index before the access, for example by get_if and set_if",
            FaultKind::Misaligned { .. } => "start vectors at multiples of their size, or access single elements",
            FaultKind::SharedLimit { .. } => "use smaller tiles or fewer stages",
            FaultKind::DynamicSharedTooSmall { needed_bytes, .. } => {
                return Some(format!("launch with dynamic_shared_bytes({needed_bytes}) or more"));
            }
            FaultKind::StackOverflow { .. } => "move large arrays to shared memory",
            FaultKind::BadAddress { .. } => "access memory by views, which name the index that is wrong",
            FaultKind::Overrun { .. } | FaultKind::RedZone { .. } => {
                "access memory by views, which name the line that is wrong"
            }
            FaultKind::TimeLimit { .. } => "let the loop end, or raise Launch::time_limit",
            FaultKind::Budget { .. } => "let the kernel end sooner, or raise Launch::budget",
            FaultKind::ScheduleDependent { .. } => {
                "look for a load and a store that must be one atomic update, and for results in order of arrival"
            }
            FaultKind::WarpMismatch { .. } => {
                "all lanes of a mask must call one function: split the mask, or the branch"
            }
            FaultKind::AbsentLane { .. } => "read lanes of the mask only, or have that lane take part",
            FaultKind::DeclaredAlignment { bytes, .. } => {
                return Some(format!(
                    "declare the array with an element type that is aligned to {bytes}"
                ));
            }
            FaultKind::AtomicScope { .. } => "give both atomics device scope",
            FaultKind::WarpMask { lane, .. } => {
                return Some(format!(
                    "pass a mask with bit {lane}, such as that of the lanes in the branch"
                ));
            }
            FaultKind::Mbarrier { problem, .. } => match problem {
                MbarrierProblem::NotInitialized => "one thread must initialize it, with sync_threads() before its use",
                MbarrierProblem::InitializedAgain => "initialize it once, or invalidate it before",
                MbarrierProblem::TooManyArrivals { .. } => "initialize it for as many arrivals as a phase has",
                MbarrierProblem::Bytes { .. } => "expect as many bytes as the copies of a phase move",
                MbarrierProblem::OrdinaryAccess { .. } => "give the mbarrier memory of its own",
                MbarrierProblem::NotFenced => "the initializing thread must execute fence.mbarrier_init",
                MbarrierProblem::Count { .. } => return None,
            },
            FaultKind::LaunchShape { .. } | FaultKind::Resources { .. } | FaultKind::Panic { .. } => return None,
        };
        Some(hint.to_owned())
    }

    /// A hint at a race of two launches.
    fn hint_at_overlap(&self, access: AccessKind, other: &OtherAccess) -> Option<String> {
        let (own, others) = (self.launch.as_ref()?, other.launch.as_ref()?);
        let (here, there) = (
            (own, access, self.location.as_ref()?),
            (others, other.access?, &other.location),
        );
        let ((first, ..), (second, access, location)) = if own.number < others.number {
            (here, there)
        } else {
            (there, here)
        };
        let access = match access {
            AccessKind::Read => "load",
            AccessKind::Write => "store",
            AccessKind::Atomic => "atomic",
        };
        Some(if second.number - first.number == 1 {
            format!(
                "execute griddepcontrol.wait in {second} before its {access} at {location}: launch_dependents \
                 orders no memory"
            )
        } else {
            format!(
                "griddepcontrol.wait in {second} waits for the launch before it alone: each launch between them must \
                 wait, too"
            )
        })
    }

    /// A hint at a race of two threads of a block.
    fn hint_at_race(&self, access: AccessKind) -> Option<String> {
        let name = |kind| match kind {
            AccessKind::Read => "load",
            AccessKind::Write => "store",
            AccessKind::Atomic => "atomic",
        };
        let (own, other) = (self.location.as_ref()?, self.other.as_ref()?);
        let OtherAccess {
            access: Some(earlier),
            location,
            ..
        } = other
        else {
            return None;
        };
        if own == location {
            return Some(format!(
                "one thread alone must {} there, or each to an element of its own",
                name(access)
            ));
        }
        let (earlier, later) = (name(*earlier), name(access));
        let (here, there) = if own.file == location.file {
            (format!("line {}", own.line), format!("line {}", location.line))
        } else {
            (
                format!("{}:{}", own.file, own.line),
                format!("{}:{}", location.file, location.line),
            )
        };
        let barrier = match other.block == self.block {
            true => "sync_threads()",
            false => "the cluster's barrier",
        };
        Some(format!(
            "put {barrier} between the {earlier} at {there} and the {later} at {here}"
        ))
    }
}
