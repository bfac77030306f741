//! Products of block-scaled matrices, NVFP4, MXFP4 and MXFP8: quantizer, CPU reference, plan, simulator and launch.
//!
//! A block-scaled matrix has narrow elements, and a scale of one byte for each block of 16 or 32 neighbors along K
//! ([`BlockFormat`]). Both operands are stored as rows along K: A as its rows, B as its columns.
//!
//! ```
//! use tilewright::block_scaled::{
//!     BlockFormat, BlockScaled, BlockScaledGemm, Policy, check, default_architecture, plan, simulate,
//! };
//! use tilewright::{DType, SimOptions, device::DeviceProfile, half::bf16, random::random_matrix};
//!
//! let (m, n, k) = (48, 40, 96);
//! let a = BlockScaled::quantize(BlockFormat::Nvfp4, m, k, &random_matrix::<f32>(1, m * k))?;
//! let b = BlockScaled::quantize(BlockFormat::Nvfp4, n, k, &random_matrix::<f32>(2, n * k))?;
//! let gemm = BlockScaledGemm::<bf16>::new(&a, &b)?;
//! let architecture = default_architecture();
//! let device = DeviceProfile::of_arch(architecture);
//! let plan = plan(gemm.format(), gemm.extents(), DType::Bf16, &device, &Policy::default())?;
//! let options = SimOptions { architecture, ..SimOptions::default() };
//! let product = simulate(&plan, &gemm, None::<&[f32]>, &options)?;
//! product.assert_clean();
//! assert!(check(&gemm, None, &product.c)?.passed());
//! # Ok::<(), tilewright::Error>(())
//! ```
//!
//! The kernels need compute capability 12.x. **They have never run on hardware**: they are assembled by `ptxas` for
//! `sm_120a` and `sm_121a`, and run in the simulator.

mod check;
mod gemm;
mod maps;
mod matrix;
mod number;
mod plan;

pub use crate::scaled::{Checked, Simulated, reference, simulate};
pub use check::check;
pub use gemm::BlockScaledGemm;
pub use matrix::BlockScaled;
pub use plan::{Plan, Policy, Summary, default_architecture, plan};
pub use tilewright_contract::{BLOCK_SCALED_KERNELS, BlockFormat, BlockScaledKernel, ScaleLayout, ScaleSource};
