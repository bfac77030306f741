//! A problem as the caller states it, as plain data: shape, factors, bias, activation, the type of C.
//!
//! Launch, simulator, reference and check all take it from here, and it takes nothing from them.

mod factors;
mod finish;
mod gemm;

pub use factors::Factors;
pub use finish::{Finish, OutputOf};
pub(crate) use finish::{activate, activation_name, check_bias, gelu_exponent};
pub use gemm::Gemm;
