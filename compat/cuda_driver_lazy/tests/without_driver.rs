//! An unmodified `cust` in a process without a driver: errors everywhere, crashes nowhere.

mod common;

use std::ffi::CString;
use std::path::{Path, PathBuf};

use common::{is_apart, run_apart};
use cust::context::{CurrentContext, ResourceLimit};
use cust::device::{Device, DeviceAttribute};
use cust::error::{CudaError, CudaResult};
use cust::event::{Event, EventFlags};
use cust::memory::{DeviceBox, DeviceBuffer, LockedBuffer, UnifiedBuffer, mem_get_info};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::{CudaApiVersion, CudaFlags};

/// The driver that is not there.
fn missing() -> &'static Path {
    Path::new("/nonexistent/libcuda.so.1")
}

fn is_missing<T>(result: CudaResult<T>) -> bool {
    matches!(result, Err(CudaError::SharedObjectInitFailed))
}

#[test]
fn cust_gets_errors() {
    run_apart("apart_cust_gets_errors", missing());
}

#[test]
#[ignore = "run in a process of its own by cust_gets_errors"]
fn apart_cust_gets_errors() {
    if !is_apart() {
        return;
    }
    assert!(is_missing(cust::init(CudaFlags::empty())));
    assert!(is_missing(cust::quick_init()));
    assert!(is_missing(CudaApiVersion::get()));
    assert!(is_missing(Device::num_devices()));
    assert!(is_missing(Device::get_device(0)));
    assert!(is_missing(Device::devices()));
    assert!(is_missing(
        CurrentContext::get_device().and_then(|device| device.name())
    ));
    assert!(is_missing(CurrentContext::get_device().and_then(|device| {
        device.get_attribute(DeviceAttribute::MaxSharedMemoryPerBlock)
    })));
    assert!(is_missing(CurrentContext::get_resource_limit(ResourceLimit::StackSize)));
    assert!(is_missing(CurrentContext::synchronize()));
    assert!(is_missing(Module::from_ptx("", &[])));
    assert!(is_missing(Module::from_ptx_cstr(&CString::default(), &[])));
    assert!(is_missing(Module::from_fatbin([0_u8; 64], &[])));
    assert!(is_missing(Stream::new(StreamFlags::NON_BLOCKING, None)));
    assert!(is_missing(Event::new(EventFlags::DEFAULT)));
    assert!(is_missing(mem_get_info()));
    assert!(is_missing(DeviceBuffer::from_slice(&[1.0_f32; 16])));
    assert!(is_missing(DeviceBox::new(&1_u32)));
    assert!(is_missing(UnifiedBuffer::new(&0_u8, 16)));
    assert!(is_missing(LockedBuffer::new(&0_u8, 16)));
    // Nothing is allocated for no elements, so this succeeds, and its destructor must be harmless.
    drop(DeviceBuffer::<f32>::from_slice(&[]));
}

#[test]
fn errors_are_readable() {
    run_apart("apart_errors_are_readable", missing());
}

#[test]
#[ignore = "run in a process of its own by errors_are_readable"]
fn apart_errors_are_readable() {
    if !is_apart() {
        return;
    }
    let unavailable = cuda_driver_lazy::load().expect_err("there is no driver");
    assert_eq!(unavailable.looked_for, [PathBuf::from(missing())]);
    assert!(unavailable.reason.contains("No such file"), "{unavailable}");
    assert_eq!(cuda_driver_lazy::load().expect_err("the outcome is final"), unavailable);

    let error = cust::init(CudaFlags::empty()).expect_err("there is no driver");
    assert!(
        error.to_string().contains(&unavailable.to_string()),
        "{error} tells {unavailable}"
    );
    assert!(CudaError::OutOfMemory.to_string().contains("CUDA_ERROR_OUT_OF_MEMORY"));
}

/// `cust` hands out no bindings, so these calls go through `cust_raw` itself.
#[test]
fn the_text_functions_succeed() {
    run_apart("apart_the_text_functions_succeed", missing());
}

#[test]
#[ignore = "run in a process of its own by the_text_functions_succeed"]
fn apart_the_text_functions_succeed() {
    use cust_raw::cudaError_enum as Code;
    if !is_apart() {
        return;
    }
    let mut text = std::ptr::null();
    // SAFETY: the pointer is valid for a write.
    let code = unsafe { cust_raw::cuGetErrorName(Code::CUDA_ERROR_STUB_LIBRARY, &mut text) };
    assert_eq!(code, Code::CUDA_SUCCESS);
    // SAFETY: the call succeeded, so this is a C string.
    assert_eq!(unsafe { std::ffi::CStr::from_ptr(text) }, c"CUDA_ERROR_STUB_LIBRARY");
    // SAFETY: a null pointer is an error, not a write.
    let code = unsafe { cust_raw::cuGetErrorString(Code::CUDA_SUCCESS, std::ptr::null_mut()) };
    assert_eq!(code, Code::CUDA_ERROR_INVALID_VALUE);
}

#[test]
fn every_function_returns_the_same_code() {
    run_apart("apart_every_function_returns_the_same_code", missing());
}

/// Only what was returned is looked at: nothing is written, so null pointers are as good as any.
#[test]
#[ignore = "run in a process of its own by every_function_returns_the_same_code"]
fn apart_every_function_returns_the_same_code() {
    use cust_raw::cudaError_enum::CUDA_ERROR_SHARED_OBJECT_INIT_FAILED as MISSING;
    use std::ptr::null_mut;
    if !is_apart() {
        return;
    }
    // SAFETY: without a driver these functions return a code and use no argument.
    let codes = unsafe {
        [
            cust_raw::cuInit(0),
            cust_raw::cuCtxCreate_v2(null_mut(), 0, 0),
            cust_raw::cuDevicePrimaryCtxRetain(null_mut(), 0),
            cust_raw::cuMemAlloc_v2(null_mut(), 16),
            cust_raw::cuMemFree_v2(16),
            cust_raw::cuCtxDestroy_v2(null_mut()),
            cust_raw::cuModuleUnload(null_mut()),
            cust_raw::cuStreamDestroy_v2(null_mut()),
            cust_raw::cuFuncSetAttribute(
                null_mut(),
                cust_raw::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                98304,
            ),
            cust_raw::cuTexRefSetMipmapLevelBias(null_mut(), 0.5),
            cust_raw::cuLaunchKernel(null_mut(), 1, 1, 1, 1, 1, 1, 0, null_mut(), null_mut(), null_mut()),
        ]
    };
    assert!(codes.iter().all(|&code| code == MISSING), "{codes:?}");
}
