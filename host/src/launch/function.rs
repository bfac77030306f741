//! A loaded kernel and its attributes.

use std::ffi::c_void;
use std::sync::OnceLock;

use cust_raw::{CUfunction, CUfunction_attribute as Attribute};
use serde::Serialize;
use tilewright_contract::Bytes;

use super::newer::{self, succeeded};
use crate::error::{Error, Result};

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

/// An entry point of a module. Valid for as long as the module is loaded, which whoever keeps one sees to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function(pub(super) CUfunction);

// SAFETY: the handle is only passed to the driver, every function of which may be called from any thread.
unsafe impl Send for Function {}
// SAFETY: as above; nothing changes through a shared reference.
unsafe impl Sync for Function {}

impl Function {
    /// What the driver says of it. The context is current.
    pub(super) fn usage(self) -> Result<FunctionUsage> {
        let get = |attribute| Ok::<_, Error>(self.attribute(attribute)?.unsigned_abs());
        Ok(FunctionUsage {
            registers: get(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            static_smem_bytes: get(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local_bytes: get(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            max_threads_per_block: get(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        })
    }

    /// CTAs of `threads` threads with so much dynamic shared memory that an SM holds. The context is current.
    pub(super) fn max_blocks_per_sm(self, threads: u32, dynamic_bytes: Bytes) -> Result<u32> {
        let mut blocks = 0;
        let threads =
            i32::try_from(threads).map_err(|_| Error::InvalidArgument(format!("{threads} threads exceed i32::MAX")))?;
        // SAFETY: the place outlives the call; the module is loaded.
        let code = unsafe {
            cust_raw::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut blocks,
                self.0,
                threads,
                dynamic_bytes.get() as usize,
            )
        };
        succeeded("cuOccupancyMaxActiveBlocksPerMultiprocessor", code)?;
        Ok(blocks.unsigned_abs())
    }

    fn attribute(self, attribute: Attribute) -> Result<i32> {
        let mut value = 0;
        // SAFETY: the place outlives the call; the module is loaded.
        let code = unsafe { cust_raw::cuFuncGetAttribute(&raw mut value, attribute, self.0) };
        succeeded("cuFuncGetAttribute", code)?;
        Ok(value)
    }

    /// Has the driver load the code now: with lazy loading (`CUDA_MODULE_LOADING`) it else does so at the first launch,
    /// which allocates, and which stream capture forbids. The context is current.
    ///
    /// Source: CUDA C++ Programming Guide, "Lazy Loading"; CUDA driver API, `cuFuncLoad` (since CUDA 12.4; before,
    /// asking for an attribute loads the function).
    pub(super) fn load(self) -> Result<()> {
        type Load = unsafe extern "C" fn(CUfunction) -> u32;
        static LOAD: OnceLock<Option<Load>> = OnceLock::new();
        self.attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?;
        let found = newer::function(&LOAD, c"cuFuncLoad", "12.4", |address| {
            // SAFETY: the driver exports a function of this type under this name.
            unsafe { std::mem::transmute::<*mut c_void, Load>(address.as_ptr()) }
        });
        match found {
            // SAFETY: the module is loaded.
            Ok(load) => newer::answer("cuFuncLoad", unsafe { load(self.0) }),
            Err(_) => Ok(()),
        }
    }

    /// Lets the kernel be launched with this much dynamic shared memory. The limit is only ever raised: another plan
    /// may have asked for more before. The context is current.
    ///
    /// Source: CUDA driver API, `cuFuncSetAttribute`, `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
    pub(super) fn raise_dynamic_limit(self, bytes: Bytes) -> Result<()> {
        const LIMIT: Attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let current = self.attribute(LIMIT)?;
        let wanted =
            i32::try_from(bytes.get()).map_err(|_| Error::InvalidArgument(format!("{bytes} exceed i32::MAX")))?;
        if wanted <= current {
            return Ok(());
        }
        // SAFETY: the module is loaded; the driver refuses a value above the device's limit.
        match unsafe { cust_raw::cuFuncSetAttribute(self.0, LIMIT, wanted) } {
            cust_raw::CUresult::CUDA_ERROR_INVALID_VALUE => Err(Error::InvalidArgument(format!(
                "{bytes} of dynamic shared memory are more than this device gives a block of the kernel"
            ))),
            code => succeeded("cuFuncSetAttribute", code),
        }
    }
}
