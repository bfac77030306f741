//! Tiled matrix multiplication on GPUs in pure Rust.
//!
//! ```text
//! GemmShape --(device query)--> DeviceProfile --(plan)--> Plan --(launch)--> C --(check)--> Verdict
//! ```
//!
//! A product of two host slices, on the GPU if there is one, else on the CPU:
//!
//! ```
//! use tilewright::{GemmShape, Options, matmul};
//!
//! let a = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]; // 2 x 3
//! let b = [1.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0]; // 3 x 2
//! let shape = GemmShape::packed(2, 2, 3)?;
//! let product = matmul(&shape, &a, &b, &Options::default())?;
//! assert_eq!(product.c, [4.0, 5.0, 10.0, 11.0]);
//! println!("{} on {}", product.report.kernel, product.report.backend);
//! # Ok::<(), tilewright::Error>(())
//! ```

#[cfg(feature = "cli")]
pub mod bench;
pub mod check;
pub mod device;
mod element;
mod error;
mod gemm;
#[cfg(feature = "cli")]
pub mod inspect;
pub mod launch;
mod matmul;
#[cfg(feature = "cli")]
pub mod page;
mod plain;
pub mod ptx;
pub mod random;
pub mod reference;
pub mod simulate;
pub mod spilling;
mod tensor_map;
pub mod verify;

pub use element::Element;
pub use error::{Error, Result};
pub use gemm::{gemm, gemm_finished};
pub use launch::{Factors, Finish, OutputOf};
pub use matmul::{Backend, Options, Product, Report, Verify, matmul};
pub use simulate::{SimOptions, SimulatedProduct, simulate};
pub use tilewright_contract::{Activation, Bytes, DType, GemmShape, Operand, Rung, Transpose, VARIANTS, Variant};
pub use tilewright_plan::kernels as plan;
