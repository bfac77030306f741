//! The CUDA driver API as trampolines that load the driver's library at the first call.
//!
//! The published [`cust`](https://docs.rs/cust/0.3.2) and `cust_raw` call the driver through undefined `cu*` symbols,
//! which the linker normally finds in `libcuda.so.1`: a program that may not find that library does not even start.
//! This crate defines all of those symbols itself. Each one jumps through a slot of a table; a slot first leads to a
//! resolver that loads the library, looks the function up, fills the slot and jumps on with every argument untouched.
//! So one binary, built without CUDA, runs with and without a driver.
//!
//! # Use
//!
//! Name the crate once in every executable that (also indirectly) uses `cust`; without a mention rustc does not link
//! it.
//!
//! ```
//! use cuda_driver_lazy as _;
//!
//! match cust::init(cust::CudaFlags::empty()) {
//!     Ok(()) => println!("driver {:?}", cust::CudaApiVersion::get()),
//!     Err(error) => println!("no GPU here: {error}"),
//! }
//! ```
//!
//! Ask [`load`] first when the difference between "no driver" and "the driver reports an error" matters:
//!
//! ```
//! match cuda_driver_lazy::load() {
//!     Ok(driver) => println!("{}", driver.path().display()),
//!     Err(unavailable) => println!("{unavailable}"),
//! }
//! ```
//!
//! # What calls return when something is missing
//!
//! | missing | result code | in `cust` |
//! |---|---|---|
//! | the driver library | `CUDA_ERROR_SHARED_OBJECT_INIT_FAILED` (303) | `CudaError::SharedObjectInitFailed` |
//! | one function of it | `CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND` (302) | `CudaError::SharedObjectSymbolNotFound` |
//!
//! Such a call does nothing else: nothing is written through its pointers. The exceptions are `cuGetErrorString` and
//! `cuGetErrorName`, which without a driver give a text of our own (for 303 the one of [`Unavailable`]) and succeed,
//! because `cust`'s `Display` needs them. 303 was preferred to `CUDA_ERROR_STUB_LIBRARY` (34), which would say the same
//! but which `cust` knows only as `UnknownError`.
//!
//! # Which library
//!
//! If the environment variable [`OVERRIDE_VARIABLE`] is set and not empty, the file that it names and no other.
//! Otherwise `libcuda.so.1`, then `libcuda.so`, by the rules of `dlopen`; on Windows `nvcuda.dll` in the system's
//! folder, by `LoadLibraryExW`. A library without `cuInit` and the toolkit's
//! link-time stub (which answers every call with `CUDA_ERROR_STUB_LIBRARY`) are passed over. The search happens once in
//! a process; its outcome, good or bad, is final.
//!
//! The library is opened with local scope and never closed. Others in the process may open it too: they get the same
//! library, and an executable does not export the symbols defined here, so nobody else's calls are diverted.
//!
//! # What this crate does not do
//!
//! - On targets other than Linux on x86-64 or AArch64 and Windows on x86-64 the symbols are there, so that programs
//!   link, but no driver is ever loaded: every call returns 303.
//! - On Windows it was never run. Its trampolines are tested on Linux, by the calling convention of Windows.
//! - It declares no functions to call: those are `cust_raw`'s. Newer ones are had by [`Driver::symbol`].
//! - Two versions of it cannot be linked into one program (the symbols would be defined twice).
//! - A `cdylib` that contains it exports the `cu*` symbols, as it does any `#[no_mangle]` function of its dependencies.

mod driver;
mod error_names;
mod fallback;
mod names;
mod unavailable;

cfg_if::cfg_if! {
    if #[cfg(any(
        all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")),
        all(windows, target_arch = "x86_64"),
    ))] {
        mod loader;
        mod trampolines;
    } else {
        #[path = "loader_none.rs"]
        mod loader;
        mod plain;
    }
}

use std::ffi::CStr;

pub use driver::{Driver, DriverVersion, load};
pub use error_names::ERROR_NAMES;
pub use unavailable::Unavailable;

/// The environment variable that names the driver library to load instead of the system's.
///
/// It is read once, at the first call of [`load`] or of any driver function.
pub const OVERRIDE_VARIABLE: &str = "CUDA_DRIVER_LIBRARY";

macro_rules! count_and_list {
    ($($name:ident)*) => {
        /// The position of each function in [`FUNCTIONS`] and in the table of slots.
        #[allow(non_camel_case_types, dead_code, reason = "the functions' names, few of them used")]
        #[derive(Clone, Copy)]
        #[repr(usize)]
        pub(crate) enum Index { $($name),* }

        /// The names of all functions that this crate defines: those that cust_raw 0.11.3 declares (CUDA 11.4).
        pub const FUNCTIONS: &[&CStr] = &[$(
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => unreachable!(),
            }
        ),*];
    };
}
names::for_each_function!(count_and_list);
