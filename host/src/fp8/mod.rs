//! Products of FP8 matrices on Hopper, e4m3 and e5m2: quantizers, CPU reference, plan, simulator and launch.
//!
//! An FP8 matrix has elements of one byte and scales in f32: one, one for each row, one for each 128 of a row
//! (`1x128`), or one for each 128 x 128 ([`Fp8Scaling`]). Both operands are stored as rows along K: A as its rows, B
//! as its columns.
//!
//! ```
//! use tilewright::fp8::{
//!     Arithmetic, Fp8, Fp8Gemm, Fp8Matrix, Fp8Scaling, Policy, check, default_architecture, plan, simulate,
//! };
//! use tilewright::{SimOptions, device::DeviceProfile, half::bf16, random::random_matrix};
//!
//! let (m, n, k) = (48, 40, 272);
//! let a = Fp8Matrix::quantize(Fp8::E4m3, Fp8Scaling::Rows128, m, k, &random_matrix::<f32>(1, m * k))?;
//! let b = Fp8Matrix::quantize(Fp8::E4m3, Fp8Scaling::Blocks128, n, k, &random_matrix::<f32>(2, n * k))?;
//! let gemm = Fp8Gemm::<bf16>::new(&a, &b)?;
//! let device = DeviceProfile::of_arch(default_architecture());
//! let plan = plan(&gemm.problem(), &device, &Policy::default())?;
//! let product = simulate(&plan, &gemm, None::<&[f32]>, &SimOptions::default())?;
//! product.assert_clean();
//! assert!(check(&gemm, plan.kernel().mode, Arithmetic::F32, None, &product.c)?.passed());
//! # Ok::<(), tilewright::Error>(())
//! ```
//!
//! # Accumulation
//!
//! Hopper keeps some 14 bits where it adds products of FP8 (DeepSeek-V3, arXiv 2412.19437, section 3.3.2). So each
//! kernel but the [fast](Fp8Mode::Fast) ones adds 128 terms that way and promotes their sum, that is, adds it in f32.
//! The simulator is exact within an instruction unless [`SimOptions::fp8_accumulation`](crate::SimOptions) asks for a
//! model of the hardware, which shows the loss.
//!
//! # Groups and batches
//!
//! An [`Fp8Batch`] is several products in one launch: groups of rows of one A, the tokens of an expert each, or
//! products with an A of their own, of whose rows only some count.
//!
//! # Hardware
//!
//! The kernels need compute capability 9.0. Results are right on a GPU; docs/fp8.md has the speeds.

mod batch;
mod check;
mod estimate;
mod gemm;
mod maps;
mod matrix;
mod number;
mod plan;
mod quantize;

pub use crate::scaled::{Checked, Simulated, reference, simulate};
pub use batch::Fp8Batch;
pub use check::{Arithmetic, check};
pub use cuda_sim::wgmma::Fp8Accumulation;
pub use estimate::{FP8_TERMS, Fp8Terms, estimate_fp8_us, fp8_terms};
pub use gemm::{Fp8Gemm, Fp8Problem, Fp8Products};
pub use matrix::Fp8Matrix;
pub use plan::{Plan, Policy, Summary, default_architecture, plan};
pub use quantize::{Fp8Quantize, QuantizeLaunch, QuantizePlan, Quantized};
pub use tilewright_contract::{
    FP8_KERNELS, FP8_QUANTIZE_KERNELS, Fp8, Fp8Kernel, Fp8Mode, Fp8Pass, Fp8QuantizeKernel, Fp8ScaleLayout, Fp8Scaling,
    Major,
};
