//! candle's matrix products by tilewright.
//!
//! [`Tilewright`] multiplies tensors by a candle `CustomOp2`; [`Block`] is a transformer block that takes its products
//! from there or from candle ([`Products`]).

mod block;
#[cfg(feature = "cuda")]
mod cuda;
mod layout;
mod op;

use candle_core::{DType, Result, Tensor};

pub use block::{Block, Candle, Config, Products};
pub use layout::Matrices;
pub use op::{Computed, Tilewright};

/// The largest difference of two tensors, as a part of the largest element of the second; NaN if there is one.
///
/// # Errors
/// candle's, for tensors of two shapes.
pub fn difference(a: &Tensor, b: &Tensor) -> Result<f64> {
    let [a, b] = [a.to_dtype(DType::F64)?, b.to_dtype(DType::F64)?];
    let largest = |tensor: &Tensor| {
        let elements = tensor.flatten_all()?.to_vec1::<f64>()?;
        // `f64::max` passes over NaN.
        let larger = |x: f64, y: f64| if y.is_nan() || y > x { y } else { x };
        Result::Ok(elements.into_iter().map(f64::abs).fold(0.0, larger))
    };
    Ok(largest(&(&a - &b)?)? / largest(&b)?)
}
