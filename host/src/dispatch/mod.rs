//! Dispatch: which kernel, tile and split-K factor compute a product on a device, and the cost model that decides.

mod cache;
mod candidates;
mod error;
mod estimate;
mod plan;
mod problem;
mod sheet;
mod speeds;
mod terms;
mod tuning;
mod usage;

pub use error::{Named, PlanError};
pub use estimate::estimate_us;
pub use plan::{Plan, PlanSummary, Policy, plan};
pub use sheet::{KernelSheet, kernel_sheet};
pub use speeds::{Speeds, SpeedsError};
pub use terms::{KERNEL_TERMS, KernelTerms, SHARED_TERMS, SharedTerms, Terms, Work};
pub use tuning::{TunedChoice, TunedShape, Tuning, TuningError, TuningTable};
pub use usage::{KernelUsage, usage};
