//! A problem as the caller states it, as plain data: shape, factors, bias, activation, the type of C.
//!
//! Launch, simulator, reference and check all take it from here, and it takes nothing from them.

mod epilogue;
mod factors;
mod gemm;
mod groups;

pub use epilogue::{Epilogue, OutputOf};
pub(crate) use epilogue::{activate, activation_name, check_bias, gelu_exponent};
pub use factors::Factors;
pub use gemm::Gemm;
pub use groups::Location;
pub(crate) use groups::{check_group_ends, products};
