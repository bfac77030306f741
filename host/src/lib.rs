//! Tiled matrix multiplication on GPUs in pure Rust.
//!
//! ```text
//! Gemm --(device query)--> DeviceProfile --(plan)--> Plan
//! Plan --(prepare)--> Prepared --(enqueue on a stream)--> C --(check)--> Verdict
//! ```
//!
//! # Device pointers and streams
//!
//! [`launch::Kernels`] holds the kernels of a CUDA context. A product is planned, prepared once, and enqueued as often
//! as you like: on your stream and your device pointers, from any thread, also while the stream is captured into a
//! graph. To enqueue allocates nothing and synchronizes nothing.
//!
//! ```no_run
//! use tilewright::dispatch::Policy;
//! use tilewright::half::f16;
//! use tilewright::launch::{CUdeviceptr, CUstream, Kernels, Operands, Prepared};
//! use tilewright::{Activation, Gemm, GemmShape};
//!
//! /// y (batch x outputs, f32) = gelu(x (batch x inputs, f16) * w (inputs x outputs, f16) + bias (outputs, f16))
//! fn prepare(kernels: &Kernels, batch: usize, inputs: usize, outputs: usize) -> tilewright::Result<Prepared> {
//!     let shape = GemmShape::packed(batch, outputs, inputs)?;
//!     let gemm = Gemm::<()>::new(shape).bias(()).activation(Activation::Gelu);
//!     let plan = gemm.plan::<f16, f32>(kernels.profile(), &Policy::default())?;
//!     kernels.prepare::<f16, f32, _>(&plan, &gemm)
//! }
//!
//! /// The workspace has `layer.workspace_bytes()`.
//! fn forward(
//!     layer: &Prepared,
//!     [x, w, bias, y, workspace]: [CUdeviceptr; 5],
//!     stream: CUstream,
//! ) -> tilewright::Result<()> {
//!     let operands = Operands::new(x, w, y).bias(bias).workspace(workspace, layer.workspace_bytes());
//!     // SAFETY: the pointers are to memory of these shapes and types, which lives until the stream is done with it.
//!     unsafe { layer.enqueue(stream, &operands) }
//! }
//!
//! let kernels = Kernels::open(0)?; // shares the primary context with every other library; keep it
//! let layer = prepare(&kernels, 64, 4096, 14336)?;
//! # Ok::<(), tilewright::Error>(())
//! ```
//!
//! Bad pointers, workspaces and streams are refused with the numbers ([`launch::OperandError`]). With the feature
//! `cudarc` the same takes slices and streams of cudarc 0.19 (`launch::Slices`). The examples `device_buffers`,
//! `streams_and_graph` and `cudarc` of this crate run all of it; `docs/device-buffers.md` has the details.
//!
//! # Host slices
//!
//! A product of two host slices, on the GPU if there is one, else on the CPU:
//!
//! ```
//! use tilewright::{Gemm, GemmShape, Options, gemm};
//!
//! let a = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]; // 2 x 3
//! let b = [1.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0]; // 3 x 2
//! let shape = GemmShape::packed(2, 2, 3)?;
//! let mut c = [0.0; 4];
//! let report = gemm(&Gemm::new(shape), &a, &b, &mut c, &Options::default())?;
//! assert_eq!(c, [4.0, 5.0, 10.0, 11.0]);
//! println!("{} on {}", report.kernel, report.backend);
//! # Ok::<(), tilewright::Error>(())
//! ```
//!
//! The example `ndarray` does so for matrices of that crate, without a copy where they are row-major or column-major.

pub mod block_scaled;
pub mod check;
pub mod device;
pub mod dispatch;
mod element;
mod error;
pub mod fp8;
mod gemm;
pub mod launch;
mod matmul;
mod plain;
mod problem;
pub mod ptx;
pub mod random;
pub mod reference;
pub mod scaled;
pub mod simulate;
mod tensor_map;

/// The crate of the `f16` and `bf16` that matrices can hold: 1.8, the version that `cust` copies to a device. Slices of
/// `half` 2, whose numbers have the same bits, become slices of this one without a copy:
///
/// ```
/// use tilewright::{Gemm, GemmShape, Options, gemm};
///
/// let a = [half2::f16::from_f32(1.5); 4];
/// let a: &[tilewright::half::f16] = bytemuck::cast_slice(&a);
/// # let options = Options { backend: tilewright::Backend::Cpu, ..Options::default() };
/// let mut c = [tilewright::half::f16::ZERO; 4];
/// gemm(&Gemm::new(GemmShape::packed(2, 2, 2)?), a, a, &mut c, &options)?;
/// let c: &[half2::f16] = bytemuck::cast_slice(&c);
/// assert_eq!(c[3].to_f32(), 4.5);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub use half;

pub use check::Verify;
pub use element::{Accumulator, Element};
pub use error::{DriverCall, Error, ErrorKind, Result};
pub use gemm::gemm;
pub use matmul::{Backend, Options, Product, Report, product};
pub use problem::{Epilogue, Factors, Gemm, Location, OutputOf};
pub use simulate::{SimOptions, SimulatedProduct, simulate};
pub use tilewright_contract::{
    Activation, Bytes, DType, Family, GemmShape, KERNELS, Kernel, Operand, Precision, Transpose,
};
