//! Faults in the use of mbarriers.

use std::fmt;

use serde::Serialize;

use crate::access::AccessKind;

/// The problem of an mbarrier operation (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum MbarrierProblem {
    /// It was not initialized in this block, or it was invalidated.
    NotInitialized,
    /// It is initialized again without having been invalidated.
    InitializedAgain,
    /// It is initialized for no arrivals, or for too many.
    Count {
        /// Arrivals of a phase.
        count: u32,
        /// The most that are allowed.
        most: u32,
    },
    /// More threads arrive than the phase expects.
    TooManyArrivals {
        /// Expected arrivals.
        expected: u32,
        /// Its number, from 0.
        phase: u64,
    },
    /// The missing or surplus bytes of a phase exceed the range of the object's counter.
    Bytes {
        /// Missing bytes; negative if more have arrived than were expected.
        bytes: i64,
        /// The limit of the counter, in either direction.
        most: u32,
    },
    /// An access that is not an mbarrier operation.
    OrdinaryAccess {
        /// The access.
        access: AccessKind,
    },
    /// A bulk copy completes on it, but no fence of the initializing thread has made the initialization visible to the
    /// copy.
    NotFenced,
}

impl fmt::Display for MbarrierProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInitialized => write!(f, "it is not initialized"),
            Self::InitializedAgain => write!(f, "it is initialized again and was not invalidated"),
            Self::Count { count, most } => write!(f, "it is initialized for {count} arrivals, 1 to {most} are allowed"),
            Self::TooManyArrivals { expected, phase } => {
                write!(f, "phase {phase} expects {expected} arrivals, this is one more")
            }
            Self::Bytes { bytes, most } => {
                write!(f, "its phase waits for {bytes} bytes, it counts from -{most} to {most}")
            }
            Self::OrdinaryAccess { access } => write!(f, "an ordinary {access} to its 8 bytes"),
            Self::NotFenced => write!(
                f,
                "a bulk copy completes on it, and the thread that has initialized it has executed no fence since \
                 (fence.mbarrier_init)"
            ),
        }
    }
}
