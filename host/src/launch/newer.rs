//! Functions of the driver that are newer than `cust_raw`.

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

/// Result codes as `cust` names them: those of launches and of bad arguments (CUDA driver API, `CUresult`).
const CODES: [CudaError; 9] = [
    CudaError::InvalidValue,
    CudaError::OutOfMemory,
    CudaError::InvalidContext,
    CudaError::InvalidHandle,
    CudaError::IllegalAddress,
    CudaError::LaunchOutOfResources,
    CudaError::LaunchTimeout,
    CudaError::LaunchFailed,
    CudaError::NotSupported,
];

/// What the call `name` answered with result code `code`.
///
/// # Errors
/// [`Error::Driver`], with [`CudaError::UnknownError`] for a code that is not among [`CODES`].
pub(super) fn answer(name: &'static str, code: u32) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    let known = CODES.into_iter().find(|known| *known as u32 == code);
    Err(known.unwrap_or(CudaError::UnknownError)).of_call(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_names_of_cust() {
        assert!(answer("f", 0).is_ok());
        for (code, name) in [(1, "InvalidValue"), (719, "LaunchFailed"), (123_456, "UnknownError")] {
            let error = answer("f", code).expect_err("no success").to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
