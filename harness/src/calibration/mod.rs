//! Coefficients of the cost model: fitted to measured times, and judged by what they choose.

mod fit;
mod fp8;
mod nonnegative;
mod rows;
mod session;
mod table;

pub use fp8::{Fp8Filed, Fp8Fitted};
pub use rows::{Choice, Filed, Machine, Quality, Row, Timed};
pub use session::Session;
pub use table::{Fitted, fitted, speeds_text};

/// Candidates whose estimate is above this many times the least are not timed where the choice is judged. The fastest
/// one is never among them in what was calibrated (`tests/plan`).
pub const PRUNED_ABOVE: f64 = 2.0;
