//! Kernels of matrices with scales in the simulator.

use std::time::Duration;

use cuda_sim::{Launch, Limits, Report};

use crate::error::{Error, Result};
use crate::simulate::SimOptions;

/// How long the threads of a CTA may run without meeting.
const PATIENCE: Duration = Duration::from_secs(120);

/// A launch with these options: CTAs along x, threads of each, bytes of dynamic shared memory.
pub(crate) fn launch(options: &SimOptions, ctas: u32, threads: u32, dynamic_bytes: u32) -> Launch {
    Launch::new(ctas, threads)
        .dynamic_shared_bytes(dynamic_bytes)
        .limits(Limits::from(options.architecture))
        .schedule(options.schedule)
        .checks(options.checks)
        .synchronizations(options.synchronizations.clone())
        .fp8_accumulation(options.fp8_accumulation)
        .workers(options.workers)
        .time_limit(PATIENCE)
}

/// A simulated product.
#[derive(Clone, Debug)]
pub struct Simulated<C> {
    /// C, m x n elements, row by row. One that the kernel did not write is NaN.
    pub c: Vec<C>,
    /// What the simulator found; `None` for an empty C, for which nothing is launched.
    pub report: Option<Report>,
}

impl<C> Simulated<C> {
    /// # Panics
    /// If something is wrong, with the text of every fault.
    #[track_caller]
    pub fn assert_clean(&self) {
        if let Some(report) = &self.report {
            report.assert_clean();
        }
    }

    /// C and the report of a launch.
    ///
    /// # Errors
    /// [`Error::Resources`] where this machine had no memory or threads to simulate with.
    pub(crate) fn of(c: Vec<C>, report: Report) -> Result<Self> {
        match report.lacks() {
            Some(problem) => Err(Error::Resources(problem.to_owned())),
            None => Ok(Self {
                c,
                report: Some(report),
            }),
        }
    }

    /// An empty C, for which nothing is launched.
    pub(crate) const EMPTY: Self = Self {
        c: Vec::new(),
        report: None,
    };
}
