//! Barriers in shared memory that count arrivals and bytes (PTX ISA, "Parallel Synchronization and Communication
//! Instructions: mbarrier").
//!
//! A phase is complete when no arrival and no byte is pending; then the next one begins, which expects as many
//! arrivals. A thread that waits for a phase acquires the releases of its arrivals and the writes of its copies.

use std::collections::HashMap;

use crate::fault::MbarrierProblem;

use super::agents::Operation;
use super::sync_vars::Publication;

/// The releases of a phase.
#[derive(Clone, Debug, Default)]
pub(crate) struct Released {
    /// Those of the arrivals.
    pub(crate) published: Publication,
    /// The bulk copies that have completed.
    pub(crate) operations: Vec<Operation>,
}

/// An mbarrier.
#[derive(Debug)]
pub(crate) struct Mbarrier {
    /// Arrivals of each phase.
    expected: u32,
    /// Arrivals that the current phase still expects.
    pending: u32,
    /// Bytes that it still expects; negative if more have arrived than were expected.
    bytes: i64,
    /// The number of the current phase, from 0.
    phase: u64,
    /// Releases of the current phase.
    current: Released,
    /// Releases of the last complete phase.
    complete: Released,
    /// The thread that initialized it, until a fence of that thread makes it visible to the async proxy.
    unfenced: Option<u16>,
}

impl Mbarrier {
    /// The most arrivals and the most bytes of a phase (PTX ISA, "Contents of the mbarrier object").
    pub(crate) const MOST: u32 = (1 << 20) - 1;

    /// An mbarrier that `thread` initializes for `count` arrivals a phase.
    pub(crate) fn new(thread: u16, count: u32) -> Result<Self, MbarrierProblem> {
        if !(1..=Self::MOST).contains(&count) {
            return Err(MbarrierProblem::Count {
                count,
                most: Self::MOST,
            });
        }
        Ok(Self {
            expected: count,
            pending: count,
            bytes: 0,
            phase: 0,
            current: Released::default(),
            complete: Released::default(),
            unfenced: Some(thread),
        })
    }

    /// Expects `bytes` more bytes in this phase.
    pub(crate) fn expect(&mut self, bytes: u32) -> Result<(), MbarrierProblem> {
        self.add(bytes.into())
    }

    /// A thread arrives and releases its knowledge. Returns whether that completes the phase.
    pub(crate) fn arrive(&mut self, published: &Publication) -> Result<bool, MbarrierProblem> {
        if self.pending == 0 {
            return Err(MbarrierProblem::TooManyArrivals {
                expected: self.expected,
                phase: self.phase,
            });
        }
        self.pending -= 1;
        self.current.published.merge(published);
        Ok(self.turn())
    }

    /// A bulk copy has written `bytes` bytes. Returns whether that completes the phase.
    pub(crate) fn complete(&mut self, bytes: u32, operation: Operation) -> Result<bool, MbarrierProblem> {
        self.add(-i64::from(bytes))?;
        self.current.operations.push(operation);
        Ok(self.turn())
    }

    fn add(&mut self, bytes: i64) -> Result<(), MbarrierProblem> {
        self.bytes += bytes;
        if self.bytes.unsigned_abs() > Self::MOST.into() {
            return Err(MbarrierProblem::Bytes {
                bytes: self.bytes,
                most: Self::MOST,
            });
        }
        Ok(())
    }

    /// Begins the next phase if this one is complete.
    fn turn(&mut self) -> bool {
        let is_complete = self.pending == 0 && self.bytes == 0;
        if is_complete {
            self.complete = std::mem::take(&mut self.current);
            self.pending = self.expected;
            self.phase += 1;
        }
        is_complete
    }

    /// The releases of the phase of parity `parity`, if it is complete: it is the one before the current phase.
    pub(crate) fn completed(&self, parity: u32) -> Option<&Released> {
        (self.phase & 1 != u64::from(parity & 1)).then_some(&self.complete)
    }

    /// The arrivals and bytes that the current phase still expects.
    pub(crate) fn missing(&self) -> Missing {
        Missing {
            phase: self.phase,
            arrivals: self.pending,
            expected: self.expected,
            bytes: self.bytes,
        }
    }

    /// Whether its initialization is visible to the async proxy.
    pub(crate) fn is_fenced(&self) -> bool {
        self.unfenced.is_none()
    }

    /// `thread` executes a fence that makes its initializations visible.
    pub(crate) fn fence(&mut self, thread: u16) {
        self.unfenced = self.unfenced.filter(|&by| by != thread);
    }
}

/// The arrivals and bytes that a phase still expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Its number, from 0.
    pub(crate) phase: u64,
    /// Missing arrivals.
    pub(crate) arrivals: u32,
    /// Expected arrivals.
    pub(crate) expected: u32,
    /// Missing bytes; negative if more have arrived than were expected.
    pub(crate) bytes: i64,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            phase,
            arrivals,
            expected,
            bytes,
        } = self;
        write!(f, "phase {phase} lacks {arrivals} of {expected} arrivals and ")?;
        match bytes {
            0.. => write!(f, "{bytes} bytes"),
            _ => write!(f, "has {} bytes more than expected", -bytes),
        }
    }
}

/// The mbarriers of a block, by their offset in its shared memory.
pub(crate) type Mbarriers = HashMap<usize, Mbarrier>;
