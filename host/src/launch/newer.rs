//! Result codes of the driver, and its functions that are newer than `cust_raw`.

use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;

use cust::error::CudaError;

use crate::error::{DriverCall, Error, Result};

/// The driver's function `name`, looked up once; `typed` makes a function of its address. `since`: the CUDA version
/// that brought it.
///
/// # Errors
/// [`Error::Unavailable`] without a driver, or with one that does not have it.
pub(super) fn function<F: Copy>(
    found: &OnceLock<Option<F>>,
    name: &'static CStr,
    since: &str,
    typed: impl FnOnce(NonNull<c_void>) -> F,
) -> Result<F> {
    let driver = cuda_driver_lazy::load()?;
    let found = found.get_or_init(|| driver.symbol(name).map(typed));
    found.ok_or_else(|| {
        let version = driver
            .version()
            .map_or_else(|| "an unknown CUDA".to_owned(), |version| format!("CUDA {version}"));
        Error::Unavailable(format!(
            "the driver, of {version}, has no {}, which CUDA {since} brought",
            name.to_string_lossy()
        ))
    })
}

/// Result codes as `cust` names them: those of initialization, loading, launches and bad arguments (CUDA driver API,
/// `CUresult`).
const CODES: [CudaError; 28] = [
    CudaError::InvalidValue,
    CudaError::OutOfMemory,
    CudaError::NotInitialized,
    CudaError::Deinitialized,
    CudaError::NoDevice,
    CudaError::InvalidDevice,
    CudaError::InvalidImage,
    CudaError::InvalidContext,
    CudaError::NoBinaryForGpu,
    CudaError::EccUncorrectable,
    CudaError::InvalidPtx,
    CudaError::NvlinkUncorrectable,
    CudaError::SharedObjectSymbolNotFound,
    CudaError::SharedObjectInitFailed,
    CudaError::InvalidHandle,
    CudaError::NotFound,
    CudaError::IllegalAddress,
    CudaError::LaunchOutOfResources,
    CudaError::LaunchTimeout,
    CudaError::ContextIsDestroyed,
    CudaError::HardwareStackError,
    CudaError::IllegalInstruction,
    CudaError::MisalignedAddress,
    CudaError::InvalidAddressSpace,
    CudaError::InvalidProgramCounter,
    CudaError::LaunchFailed,
    CudaError::NotPermitted,
    CudaError::NotSupported,
];

/// What the call `name` answered with result code `code`.
///
/// # Errors
/// [`Error::Driver`] or [`Error::Unavailable`] for a code that is among [`CODES`], [`Error::DriverCode`] for another.
pub(super) fn answer(name: &'static str, code: u32) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    match CODES.into_iter().find(|known| *known as u32 == code) {
        Some(known) => Err(known).of_call(name),
        None => Err(Error::DriverCode { call: name, code }),
    }
}

/// The same of a function that `cust_raw` declares.
///
/// # Errors
/// As for [`answer`].
pub(super) fn succeeded(name: &'static str, code: cust_raw::CUresult) -> Result<()> {
    answer(name, code as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_their_names() {
        assert!(answer("f", 0).is_ok());
        for (code, name) in [
            (1, "InvalidValue"),
            (719, "LaunchFailed"),
            (901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)"),
            (123_456, "an unknown result code (123456)"),
        ] {
            let error = answer("f", code).expect_err("no success").to_string();
            assert!(error.starts_with("f failed: ") && error.contains(name), "{error}");
        }
        // There is nothing to run on any more.
        assert!(matches!(answer("f", 100), Err(Error::Unavailable(_))));
    }
}
