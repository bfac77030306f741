//! This project's own kernels: their worksheets, which of them to launch for a product, and with what.

mod estimate;
mod plan;
mod sheet;
mod speeds;
mod usage;

pub use estimate::{LAUNCH_US, Rounds, Work, copying_us, estimate_us, meeting_us};
pub use plan::{AUTOMATIC, Plan, PlanError, PlanSummary, Policy, plan};
pub use sheet::{KernelSheet, kernel_sheet, twin_sheet};
pub use speeds::{Speeds, SpeedsError};
pub use usage::{KernelUsage, usage};
