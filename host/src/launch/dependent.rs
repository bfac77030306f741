//! Launches that begin while the one before them ends: programmatic dependent launch.
//!
//! Between two launches of a stream the GPU is idle for about a microsecond, and a kernel then needs another half until
//! its first copy. With the attribute `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION` the blocks of a launch
//! come as soon as there is room for them, when those of the one before have said so or ended, and wait in the kernel
//! (`griddepcontrol` there) for its end before they touch global memory. For what is enqueued before and after, of
//! whatever kind, the order of the stream is what it was.
//!
//! Source: CUDA driver API, "Execution Control"; CUDA C++ Programming Guide, "Programmatic Dependent Launch and
//! Synchronization".

use std::ffi::c_void;
use std::sync::OnceLock;

use cust_raw::{CUfunction, CUstream};

use super::function::Function;
use super::newer;
use crate::error::Result;

/// `CUlaunchConfig`, whose layout CUDA 11.8 fixed.
#[repr(C)]
struct LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_bytes: u32,
    stream: CUstream,
    attributes: *const Attribute,
    attribute_count: u32,
}

/// `CUlaunchAttribute`: what it is of, and a union of 64 bytes, aligned to 8, of which this one's value is the first
/// word.
#[repr(C, align(8))]
struct Attribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`, and yes.
const OVERLAPS: Attribute = Attribute {
    id: 6,
    padding: 0,
    value: [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
};

/// `cuLaunchKernelEx`: the configuration, the function, its arguments, nothing else.
type Launch = unsafe extern "C" fn(*const LaunchConfig, CUfunction, *const *mut c_void, *const *mut c_void) -> u32;

/// Enqueues a kernel that waits for the launches before it by itself. Extents along x, y, z.
///
/// # Errors
/// [`Error::Unavailable`](crate::Error::Unavailable) for a driver that is older than the function,
/// [`Error::Driver`](crate::Error::Driver) when it refuses the launch.
///
/// # Safety
/// As for `cuLaunchKernel`; and the kernel executes `griddepcontrol::wait` in every thread that accesses global
/// memory, before.
pub(super) unsafe fn launch(
    stream: CUstream,
    function: Function,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_bytes: u32,
    arguments: &[*mut c_void],
) -> Result<()> {
    static FUNCTION: OnceLock<Option<Launch>> = OnceLock::new();
    let launch = newer::function(&FUNCTION, c"cuLaunchKernelEx", "11.8", |address| {
        // SAFETY: what the driver exports under this name has this type.
        unsafe { std::mem::transmute::<*mut c_void, Launch>(address.as_ptr()) }
    })?;
    let overlaps = OVERLAPS;
    let config = LaunchConfig {
        grid,
        block,
        dynamic_bytes,
        stream,
        attributes: &raw const overlaps,
        attribute_count: 1,
    };
    // SAFETY: the configuration and its attribute outlive the call; the rest is the caller's promise.
    let code = unsafe { launch(&raw const config, function.0, arguments.as_ptr(), std::ptr::null()) };
    newer::answer("cuLaunchKernelEx", code)
}

#[cfg(test)]
mod tests {
    use super::{Attribute, LaunchConfig};

    #[test]
    fn the_layouts_are_those_of_the_header() {
        assert_eq!((size_of::<Attribute>(), align_of::<Attribute>()), (72, 8));
        assert_eq!(std::mem::offset_of!(Attribute, value), 8);
        assert_eq!(size_of::<LaunchConfig>(), 56);
        assert_eq!(std::mem::offset_of!(LaunchConfig, stream), 32);
        assert_eq!(std::mem::offset_of!(LaunchConfig, attribute_count), 48);
    }
}
