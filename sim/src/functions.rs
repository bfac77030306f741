//! The kernels of the program as functions of the host, found by their names in the PTX.

use std::any::Any;

/// A kernel of the program, as a function of the host.
pub struct KernelFunction {
    /// Its name in the PTX.
    pub name: &'static str,
    /// Its path in the source, which tells kernels of two crates apart.
    pub path: &'static str,
    /// A function pointer: `unsafe fn` of the parameters as they are written.
    pub function: &'static (dyn Any + Send + Sync),
}

/// Every kernel of the program.
#[cfg(not(miri))]
#[linkme::distributed_slice]
pub static FUNCTIONS: [KernelFunction];

/// Every `#[kernel]` of the program, in no particular order. A crate whose kernels nothing names is part of the program
/// after `use that_crate as _;`. Miri has no linker to collect them.
pub fn kernel_functions() -> &'static [KernelFunction] {
    #[cfg(not(miri))]
    return &FUNCTIONS;
    #[cfg(miri)]
    &[]
}

/// The kernel of this name in the PTX with this type, `unsafe fn(..)` of the parameters as they are written; `None`
/// where the program has none.
///
/// ```
/// # use cuda_sim::device::find_kernel;
/// assert!(find_kernel::<unsafe fn(&[f32], *mut f32)>("no_such_kernel").is_none());
/// ```
pub fn find_kernel<F: Copy + 'static>(name: &str) -> Option<F> {
    let named = kernel_functions().iter().filter(|kernel| kernel.name == name);
    named
        .filter_map(|kernel| kernel.function.downcast_ref().copied())
        .next()
}
