//! Runs GPU kernels on the CPU and finds what is wrong with them.
//!
//! A kernel written with `cuda_std` compiles for the host as well. [`Launch::run`] calls it once for every thread of a
//! grid, with the meaning that it has on a GPU: barriers wait, shuffles exchange, every block has shared memory of its
//! own. Each CUDA thread is a coroutine; the threads of a block take turns on one core, blocks run in parallel on all
//! cores.
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
//! # What is found
//!
//! Barriers, warp functions, atomics, shared-memory sizes, launch shapes, panics and stack overflows are seen in every
//! kernel. Single accesses are seen where the kernel makes them through the views of `cuda_views`: then races, reads of
//! memory never written, and accesses out of bounds are faults with the source lines of both sides, and
//! [`Report::lines`] says what each line costs in shared-memory wavefronts and global sectors. Through raw pointers the
//! simulator sees only what the hardware of the host sees: an address outside shared memory's end (a guard page),
//! overwritten space between static arrays (a canary), and results that change with the [schedule](Schedule) or with
//! what uninitialised memory happens to hold.
//!
//! # What it does not do
//!
//! It predicts no time, and it runs one interleaving for each [`Schedule`]: what a correct kernel computes does not
//! depend on it, and a race is found from the order that barriers and atomics guarantee, not from the order that
//! happened.
//!
//! # Source
//!
//! The meaning of each operation is the PTX ISA's, <https://docs.nvidia.com/cuda/parallel-thread-execution/>; race
//! detection follows "FastTrack: Efficient and Precise Dynamic Race Detection" (Flanagan, Freund, PLDI 2009) with
//! barriers as its main order.

pub mod access;
mod analysis;
mod attributes;
mod buffer;
pub mod bulk_copy;
pub mod cluster;
pub mod device;
mod dim;
mod engine;
mod fault;
mod launch;
mod limits;
pub mod mbarrier;
mod report;
mod schedule;
pub mod tensor_map;
pub mod wgmma;

pub use analysis::banks;
pub use attributes::KernelAttributes;
pub use buffer::GlobalBuffer;
pub use dim::Dim3;
pub use fault::{AsyncStep, FaultKind, MbarrierProblem, OtherAccess, SimFault, Site};
pub use launch::{Checks, Launch};
pub use limits::Limits;
pub use report::{LineTraffic, Report, SharedUsage, TrafficKind};
pub use schedule::Schedule;
