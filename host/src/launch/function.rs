//! Attributes of a loaded kernel.

use cust::function::{Function, FunctionAttribute};
use cust_raw::CUfunction_attribute;
use serde::Serialize;
use tilewright_contract::Bytes;

use crate::error::{DriverCall, Error, Result};

/// Resources of a loaded kernel, as the driver reports them (`cuFuncGetAttribute`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionUsage {
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// Static shared memory of a block in bytes.
    pub static_smem_bytes: u32,
    /// Local memory of a thread in bytes: stack and spills.
    pub local_bytes: u32,
    /// Threads that a block may have with these registers.
    pub max_threads_per_block: u32,
}

impl FunctionUsage {
    pub(crate) fn query(function: &Function<'_>) -> Result<Self> {
        let get = |attribute| -> Result<u32> {
            let value = function.get_attribute(attribute).of_call("cuFuncGetAttribute")?;
            Ok(value.max(0) as u32)
        };
        Ok(Self {
            registers: get(FunctionAttribute::NumRegisters)?,
            static_smem_bytes: get(FunctionAttribute::SharedMemorySizeBytes)?,
            local_bytes: get(FunctionAttribute::LocalSizeBytes)?,
            max_threads_per_block: get(FunctionAttribute::MaxThreadsPerBlock)?,
        })
    }
}

/// Lets a kernel be launched with this much dynamic shared memory. The limit is only ever raised: another plan may have
/// asked for more before.
///
/// Source: CUDA driver API, `cuFuncSetAttribute`, `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`. `cust` has no call
/// for it.
pub(super) fn raise_dynamic_limit(function: &Function<'_>, bytes: Bytes) -> Result<()> {
    const LIMIT: CUfunction_attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    let mut current = 0;
    // SAFETY: `current` outlives the call; the handle belongs to a module that is still loaded.
    let code = unsafe { cust_raw::cuFuncGetAttribute(&raw mut current, LIMIT, function.to_raw()) };
    succeeded("cuFuncGetAttribute", code)?;
    let wanted = i32::try_from(bytes.get()).map_err(|_| Error::InvalidArgument(format!("{bytes} exceed i32::MAX")))?;
    if wanted <= current {
        return Ok(());
    }
    // SAFETY: the handle is of a module that is still loaded; the driver refuses a value beyond the device's limit.
    match unsafe { cust_raw::cuFuncSetAttribute(function.to_raw(), LIMIT, wanted) } {
        cust_raw::CUresult::CUDA_ERROR_INVALID_VALUE => Err(Error::InvalidArgument(format!(
            "{bytes} of dynamic shared memory are more than this device gives a block of the kernel"
        ))),
        code => succeeded("cuFuncSetAttribute", code),
    }
}

fn succeeded(call: &'static str, code: cust_raw::CUresult) -> Result<()> {
    use cust::error::CudaError;
    match code {
        cust_raw::CUresult::CUDA_SUCCESS => Ok(()),
        cust_raw::CUresult::CUDA_ERROR_INVALID_VALUE => Err(CudaError::InvalidValue).of_call(call),
        cust_raw::CUresult::CUDA_ERROR_INVALID_HANDLE => Err(CudaError::InvalidHandle).of_call(call),
        _ => Err(CudaError::UnknownError).of_call(call),
    }
}
