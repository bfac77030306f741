//! What can be wrong with the use of an mbarrier.

use std::fmt;

use serde::Serialize;

use crate::access::AccessKind;

/// What is wrong with an operation on an mbarrier (PTX ISA, "Parallel Synchronization and Communication Instructions:
/// mbarrier").
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum MbarrierProblem {
    /// Nobody has initialised it in this block, or it was invalidated.
    NotInitialized,
    /// It is initialised again without having been invalidated.
    InitializedAgain,
    /// It is initialised for no arrivals, or for too many.
    Count {
        /// The arrivals of a phase that it is initialised for.
        count: u32,
        /// The most that are allowed.
        most: u32,
    },
    /// More threads arrive than the phase expects.
    TooManyArrivals {
        /// How many it expects.
        expected: u32,
        /// Its number, from 0.
        phase: u64,
    },
    /// The bytes that a phase waits for, or has too many, exceed what the object can count.
    Bytes {
        /// The bytes; negative where more have come than were expected.
        bytes: i64,
        /// The most that it can count, in either direction.
        most: u32,
    },
    /// An access that is no operation on mbarriers.
    OrdinaryAccess {
        /// What the thread does.
        access: AccessKind,
    },
    /// A bulk copy is to complete on it, and no fence of the thread that has initialised it makes that visible to the
    /// copy.
    NotFenced,
}

impl fmt::Display for MbarrierProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInitialized => write!(f, "it is not initialised"),
            Self::InitializedAgain => write!(f, "it is initialised again and was not invalidated"),
            Self::Count { count, most } => write!(f, "it is initialised for {count} arrivals, 1 to {most} are allowed"),
            Self::TooManyArrivals { expected, phase } => {
                write!(f, "phase {phase} expects {expected} arrivals, this is one more")
            }
            Self::Bytes { bytes, most } => {
                write!(f, "its phase waits for {bytes} bytes, it counts from -{most} to {most}")
            }
            Self::OrdinaryAccess { access } => write!(f, "an ordinary {access} to its 8 bytes"),
            Self::NotFenced => write!(
                f,
                "a bulk copy completes on it, and the thread that has initialised it has executed no fence since (fence.mbarrier_init)"
            ),
        }
    }
}
