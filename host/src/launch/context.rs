//! The CUDA context that kernels are loaded into.

use std::marker::PhantomData;
use std::ptr::null_mut;

use cust_raw::{CUcontext, CUdevice};

use super::newer::succeeded;
use crate::error::Result;

/// A context, and the device that it is of. A retained primary context is released when this is dropped; nothing is
/// ever reset.
pub(super) struct ContextHandle {
    raw: CUcontext,
    device: CUdevice,
    is_retained: bool,
}

// SAFETY: the handle is only passed to the driver, every function of which may be called from any thread.
unsafe impl Send for ContextHandle {}
// SAFETY: as above; nothing changes through a shared reference.
unsafe impl Sync for ContextHandle {}

impl ContextHandle {
    /// Retains the primary context of a device, which every library of the process shares. The context that is current
    /// stays so. The driver is initialized.
    pub(super) fn primary(ordinal: u32) -> Result<Self> {
        let (mut device, mut raw) = (0, null_mut());
        // SAFETY: both places outlive the calls; the device is the driver's own.
        unsafe {
            succeeded("cuDeviceGet", cust_raw::cuDeviceGet(&raw mut device, ordinal as i32))?;
            succeeded(
                "cuDevicePrimaryCtxRetain",
                cust_raw::cuDevicePrimaryCtxRetain(&raw mut raw, device),
            )?;
        }
        Ok(Self {
            raw,
            device,
            is_retained: true,
        })
    }

    /// A context that somebody else owns.
    ///
    /// # Safety
    /// It exists for as long as the handle does.
    pub(super) unsafe fn borrowed(raw: CUcontext) -> Result<Self> {
        let mut handle = Self {
            raw,
            device: 0,
            is_retained: false,
        };
        let mut device = 0;
        let entered = handle.enter()?;
        // SAFETY: the place outlives the call; the context is current.
        let code = unsafe { cust_raw::cuCtxGetDevice(&raw mut device) };
        drop(entered);
        succeeded("cuCtxGetDevice", code)?;
        handle.device = device;
        Ok(handle)
    }

    pub(super) fn raw(&self) -> CUcontext {
        self.raw
    }

    /// The device's number, as the driver counts.
    pub(super) fn ordinal(&self) -> u32 {
        self.device.unsigned_abs()
    }

    /// Makes the context current until the value is dropped, and then the one that was.
    pub(super) fn enter(&self) -> Result<Entered> {
        let mut current = null_mut();
        // SAFETY: the place outlives the call.
        succeeded("cuCtxGetCurrent", unsafe {
            cust_raw::cuCtxGetCurrent(&raw mut current)
        })?;
        let is_pushed = current != self.raw;
        if is_pushed {
            // SAFETY: the context exists: it is retained, or its owner has promised so.
            succeeded("cuCtxPushCurrent", unsafe { cust_raw::cuCtxPushCurrent_v2(self.raw) })?;
        }
        Ok(Entered {
            is_pushed,
            _of_this_thread: PhantomData,
        })
    }
}

impl Drop for ContextHandle {
    fn drop(&mut self) {
        if self.is_retained {
            // SAFETY: it was retained once. A driver that is shutting down answers with an error, which changes
            // nothing.
            unsafe { cust_raw::cuDevicePrimaryCtxRelease_v2(self.device) };
        }
    }
}

/// A context that is current on this thread.
pub(super) struct Entered {
    is_pushed: bool,
    _of_this_thread: PhantomData<*mut ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.is_pushed {
            let mut popped = null_mut();
            // SAFETY: the place outlives the call; what is popped was pushed on this thread.
            unsafe { cust_raw::cuCtxPopCurrent_v2(&raw mut popped) };
        }
    }
}
