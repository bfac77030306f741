//! Dispatch: which kernel, tile and split-K factor compute a product on a device, and the cost model that decides.

mod candidates;
mod error;
mod estimate;
mod plan;
mod problem;
mod sheet;
mod speeds;
mod usage;

pub use error::PlanError;
pub use estimate::{LAUNCH_US, Rounds, Work, copying_us, estimate_us, reduction_us};
pub use plan::{Plan, PlanSummary, Policy, plan};
pub use sheet::{KernelSheet, kernel_sheet};
pub use speeds::{Speeds, SpeedsError};
pub use usage::{KernelUsage, usage};
