//! Simulator of CUDA kernels on the CPU. It finds races and other faults, and counts memory traffic.
//!
//! A kernel written with `cuda_std` compiles for the host as well. [`Launch::run`] calls it once for every thread of a
//! grid, with the semantics of a GPU: barriers wait, shuffles exchange, every block has its own shared memory. Each
//! CUDA thread is a coroutine; the threads of a block take turns on one core, blocks run in parallel on all cores. A
//! *block* is a thread block, the PTX ISA's CTA.
//!
//! ```
//! use cuda_sim::{GlobalBuffer, Launch};
//! # use cuda_sim::device;
//! # /// The kernel would be written with `cuda_std`, which calls `cuda_sim::device` on the host.
//! # unsafe fn double(data: *mut f32) {
//! #     let i = device::thread_idx()[0] as usize;
//! #     unsafe { *data.add(i) *= 2.0 };
//! # }
//!
//! let data = GlobalBuffer::from_slice(&[1.0_f32, 2.0, 3.0, 4.0]);
//! let report = Launch::new(1, 4).run(|| unsafe { double(data.as_mut_ptr()) });
//! report.assert_clean();
//! assert_eq!(data.to_vec(), [2.0, 4.0, 6.0, 8.0]);
//! ```
//!
//! # Detected faults
//!
//! Barriers, warp functions, atomics, shared-memory sizes, launch shapes, panics and stack overflows are checked in
//! every kernel. Single accesses are checked if the kernel makes them through the views of `cuda_views`: races,
//! uninitialized reads and accesses out of bounds are then faults with the source lines of both sides, and
//! [`Report::lines`] has the shared-memory wavefronts and global sectors of each line. Through raw pointers the
//! simulator detects only accesses past the end of shared memory (a guard page), overwritten bytes between static
//! arrays (a canary), and results that change with the [schedule](Schedule) or with the contents of uninitialized
//! memory.
//!
//! # Limits
//!
//! It predicts no time, and it runs one interleaving for each [`Schedule`]. The result of a correct kernel does not
//! depend on the interleaving, and races follow from the order that barriers and atomics guarantee, not from the order
//! of execution.
//!
//! # Source
//!
//! The semantics of each operation is the PTX ISA's, <https://docs.nvidia.com/cuda/parallel-thread-execution/>; race
//! detection follows "FastTrack: Efficient and Precise Dynamic Race Detection" (Flanagan, Freund, PLDI 2009) with
//! barriers as its main order.

pub mod access;
mod analysis;
mod attributes;
mod budget;
mod buffer;
pub mod bulk_copy;
pub mod cluster;
pub mod device;
mod dim;
mod engine;
mod fault;
mod functions;
pub mod griddepcontrol;
mod launch;
mod limits;
pub mod mbarrier;
mod policy;
mod report;
mod schedule;
#[cfg(feature = "proptest")]
pub mod strategies;
mod stream;
mod synchronization;
pub mod tensor_map;
pub mod wgmma;

pub use analysis::banks;
pub use attributes::KernelAttributes;
pub use budget::Budget;
pub use buffer::GlobalBuffer;
pub use dim::Dim3;
pub use fault::{
    AsyncStep, FaultKind, LaunchName, MbarrierProblem, OtherAccess, Severity, SimFault, SourceLocation, StackFrame,
    TensorMapStep,
};
pub use launch::{Checks, Launch};
pub use limits::Limits;
pub use policy::{Comparison, Policy};
pub use report::{Faulty, LineTraffic, Report, SharedUsage, TrafficKind};
pub use schedule::Schedule;
pub use stream::{Stream, StreamReport};
pub use synchronization::{SyncKind, Synchronization, Synchronizations};
