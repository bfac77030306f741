//! Running a plan on a GPU: **plan, prepare, enqueue**.
//!
//! ```text
//! Gemm --(plan)--> Plan --(Kernels::prepare)--> Prepared --(Prepared::enqueue, on any stream)--> C
//! ```
//!
//! - [`Kernels`]: the kernels of one CUDA context, each loaded when it is prepared first. Clones share them; any thread
//!   may use them. The primary context is retained and shared with every other library of the process.
//! - [`Prepared`]: one product. Its kernel is loaded, its shared-memory limit raised, its workspace size fixed.
//!   [`Prepared::enqueue`] takes raw device pointers and the caller's stream. It allocates nothing, synchronizes
//!   nothing, is legal under stream capture, and may run on several threads and streams at once.
//! - [`Gpu`]: the same for callers who own neither stream nor buffers. It has a stream, allocates [`DeviceMatrix`], and
//!   keeps a workspace. Safe, and bound to the thread that opened it.
//! - With the feature `cudarc`, `Kernels::of_cudarc` and `Prepared::enqueue_slices` take the contexts, streams and
//!   slices of cudarc 0.19.
//!
//! What this module does not do: it chooses nothing (that is [`dispatch`](crate::dispatch)) and checks no result (that
//! is [`check`](crate::check)).

mod admission;
mod context;
#[cfg(feature = "cudarc")]
mod cudarc;
mod dependent;
mod function;
mod gpu;
mod kernels;
mod memory;
mod newer;
mod operand_error;
mod operands;
mod pointer;
mod prepared;
mod quantize;
mod scaled;
mod span;
mod tensor_map;
mod workspace;

#[cfg(feature = "cudarc")]
pub use self::cudarc::{CudarcElement, Slices};
pub use cust_raw::{CUcontext, CUdeviceptr, CUstream};
pub use function::FunctionUsage;
pub use gpu::Gpu;
pub use kernels::Kernels;
pub use memory::{DeviceGroupEnds, DeviceMatrix};
pub use operand_error::{Buffer, OperandError};
pub use operands::{Checks, Counters, Operands, Workspace};
pub use prepared::Prepared;
pub use quantize::{Fp8QuantizeOperands, PreparedFp8Quantize};
pub use scaled::{BlockScaledOperands, Fp8Operands, PreparedBlockScaled, PreparedFp8, PreparedScaled, ScaledOperands};
pub use tensor_map::encode as encode_tensor_map;
pub use workspace::WORKSPACE_ALIGNMENT_BYTES;
