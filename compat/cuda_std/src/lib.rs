//! Drop-in `cuda_std` 0.2.2 for the NVPTX back end of stock rustc: the standard library of GPU kernels written in Rust.
//!
//! Everything has the published crate's name, signature and meaning, so a kernel crate written against it builds
//! unchanged; the README lists what is covered, what is left out and which faults of the published crate are not
//! repeated.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// y[i] += alpha * x[i]
//! #[kernel]
//! pub unsafe fn axpy(alpha: f32, x: &[f32], y: *mut f32) {
//!     let i = thread::index_1d() as usize;
//!     if i < x.len() {
//!         unsafe { *y.add(i) += alpha * x[i] };
//!     }
//! }
//! ```
//!
//! # On the host
//!
//! The crate compiles for every target, and what a kernel does on the host depends on who calls it.
//!
//! - **In a launch of the simulator** (`cuda_sim::Launch`), every function here has the GPU's meaning: positions,
//!   barriers, warp functions, shared memory, atomics, printing, assertions. Where a kernel does something wrong, the
//!   fault names the kernel's line, for the functions hand it on.
//! - **Outside a launch**, what needs a launch panics and says so. Arithmetic ([`GpuFloat`], [`FloatExt`],
//!   [`intrinsics`]), [`atomic`] operations, fences, printing and assertions need none: they work on the host's memory
//!   and its standard output.
//! - A user's own `#[gpu_only]` function panics on the host and names itself, in a launch too.
//!
//! ```
//! use cuda_sim::{GlobalBuffer, Launch};
//! use cuda_std::{kernel, shared_array, thread};
//!
//! /// Reverses 64 numbers. One block of 64 threads.
//! #[kernel]
//! pub unsafe fn reverse(data: *mut u32) {
//!     let tile = shared_array![u32; 64];
//!     let i = thread::thread_idx_x() as usize;
//!     unsafe { *tile.add(i) = *data.add(i) };
//!     thread::sync_threads(); // read after write: the tile is filled
//!     unsafe { *data.add(i) = *tile.add(63 - i) };
//! }
//!
//! let data = GlobalBuffer::from_slice(&(0..64).collect::<Vec<u32>>());
//! let report = Launch::new(1, 64).run(|| unsafe { reverse(data.as_mut_ptr()) });
//! report.assert_clean();
//! assert_eq!(data.to_vec()[0], 63);
//! ```
//!
//! A kernel is an ordinary `unsafe fn` on the host, of Rust's ABI and with the parameters as written. Where the meaning
//! differs from the GPU's, the function says so under "On the host".
//!
//! # Sources
//!
//! "PTX" followed by a number is a section of the PTX ISA, <https://docs.nvidia.com/cuda/parallel-thread-execution/>,
//! version 9.0; "CUDA guide" is the CUDA C++ Programming Guide,
//! <https://docs.nvidia.com/cuda/cuda-c-programming-guide/>.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, core_float_math, stdarch_nvptx)
)]

#[doc(hidden)]
pub extern crate alloc;
// The macros name it so: its own tests use them too.
#[cfg(test)]
extern crate self as cuda_std;

#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub mod __host;
pub mod async_copy;
pub mod atomic;
pub mod cfg;
#[doc(hidden)]
pub mod compiler_support;
pub mod float;
mod float_ext;
pub mod intrinsics;
pub mod io;
pub mod mem;
pub mod misc;
#[cfg(any(test, all(target_arch = "nvptx64", not(panic = "immediate-abort"))))]
mod panic;
pub mod ptr;
pub mod shared;
pub mod thread;
mod trigonometry;
pub mod warp;

/// ```
/// use cuda_std::{kernel, thread};
///
/// const ROWS: u32 = 8;
///
/// #[kernel(max_threads = (32, ROWS), min_blocks = 4)]
/// pub unsafe fn double(data: *mut f32) {
///     let i = (thread::thread_idx_y() * 32 + thread::thread_idx_x()) as usize;
///     unsafe { *data.add(i) *= 2.0 };
/// }
/// ```
///
/// ```compile_fail
/// #[cuda_std::kernel(min_blocks = 4)] // of how many threads?
/// pub unsafe fn k() {}
/// ```
///
/// ```compile_fail,E0080
/// const THREADS: u32 = 2048;
///
/// #[cuda_std::kernel(max_threads = THREADS)] // no block has as many
/// pub unsafe fn k() {}
/// ```
pub use cuda_std_macros::kernel;
// The others; examples of `kernel` are above because a macro crate that depended on this one would have it compiled
// twice.
pub use cuda_std_macros::*;
pub use float::GpuFloat;
pub use float_ext::FloatExt;
#[cfg(feature = "main")]
pub use glam;
pub use half;
pub use half::{bf16, f16};
pub use vek;

/// What a kernel crate usually imports.
pub mod prelude {
    pub use crate::{assert_eq, assert_ne, f16, kernel, print, println, thread};
    pub use alloc::{
        borrow::ToOwned,
        boxed::Box,
        format,
        rc::Rc,
        string::{String, ToString},
        vec::Vec,
    };
}

/// A panic ends the kernel by a trap, which rustc puts in place with this panic strategy: the launch fails with
/// `CUDA_ERROR_LAUNCH_FAILED` (719), and the message is dropped.
///
/// Formatting it would put the formatting machinery, with its indirect calls and its stack, into every kernel that
/// indexes a slice.
#[cfg(all(target_arch = "nvptx64", panic = "immediate-abort"))]
#[panic_handler]
fn panic(_info: &core::panic::PanicInfo) -> ! {
    // SAFETY: a trap is allowed anywhere.
    unsafe { core::arch::nvptx::trap() }
}
