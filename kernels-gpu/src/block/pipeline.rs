//! Pipeline of `cp.async` loads: a circular buffer of stages in shared memory.
//!
//! ```text
//! load k-tiles 0 .. STAGES - 1, one group each
//! wait for the first; barrier                                     RAW: stage 0 is full
//! for each k-tile:
//!     load k-tile + STAGES - 1, one group
//!     mma of the k-tile
//!     wait for the next k-tile; barrier                           RAW: its stage is full; WAR: this stage is drained
//! ```
//!
//! One barrier per k-tile closes both hazards: after it every thread's loads of the next stage are there, and no thread
//! reads the stage before, which the next loads write.

use crate::ptx::async_copy;

/// Geometry of a pipeline. A stage is named by its first element.
#[derive(Clone, Copy)]
pub struct CpAsyncPipeline {
    /// Number of stages, 2 to 5.
    pub stages: u32,
    /// Elements of a stage.
    pub stage_elems: u32,
}

impl CpAsyncPipeline {
    /// Elements of all stages.
    pub const fn elems(self) -> usize {
        (self.stages * self.stage_elems) as usize
    }

    /// The stage after `stage`.
    #[inline(always)]
    pub fn next(self, stage: u32) -> u32 {
        let last = (self.stages - 1) * self.stage_elems;
        if stage == last { 0 } else { stage + self.stage_elems }
    }

    /// Waits for this thread's loads of the k-tile that is used next; those of `stages - 2` later k-tiles stay in
    /// flight.
    #[inline(always)]
    pub fn wait(self) {
        match self.stages {
            2 => async_copy::wait::<0>(),
            3 => async_copy::wait::<1>(),
            4 => async_copy::wait::<2>(),
            _ => async_copy::wait::<3>(),
        }
    }
}
