//! What a slot leads to when the driver, or this one function of it, is missing.
//!
//! The trampolines jump here with whatever arguments the caller passed. The C calling conventions of all targets
//! concerned let a function ignore arguments that it does not declare, because the caller removes them.

use std::ffi::{CStr, CString, c_char};
use std::sync::OnceLock;

use crate::driver::outcome;
use crate::error_names::ERROR_NAMES;

/// `CUDA_ERROR_INVALID_VALUE` of the CUDA driver API.
const INVALID_VALUE: u32 = 1;
/// `CUDA_ERROR_STUB_LIBRARY`: what the toolkit's link-time stub answers.
#[allow(dead_code, reason = "only a loaded driver can answer this")]
pub(crate) const CUDA_ERROR_STUB_LIBRARY: u32 = 34;
/// `CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND`.
pub(crate) const SYMBOL_NOT_FOUND: u32 = 302;
/// `CUDA_ERROR_SHARED_OBJECT_INIT_FAILED`.
pub(crate) const DRIVER_MISSING: u32 = 303;

/// Stands in for every function but two when there is no driver.
pub(crate) extern "C" fn driver_missing() -> u32 {
    DRIVER_MISSING
}

/// Stands in for a function that the loaded driver does not have.
#[allow(dead_code, reason = "only a loaded driver can lack something")]
pub(crate) extern "C" fn symbol_missing() -> u32 {
    SYMBOL_NOT_FOUND
}

/// `cuGetErrorName` without a driver.
///
/// # Safety
///
/// `text` is null or valid for a write.
pub(crate) unsafe extern "C" fn error_name(code: u32, text: *mut *const c_char) -> u32 {
    // SAFETY: the caller's promise is the one that is asked for.
    unsafe { give(name_of(code), text) }
}

/// `cuGetErrorString` without a driver.
///
/// # Safety
///
/// `text` is null or valid for a write.
pub(crate) unsafe extern "C" fn error_string(code: u32, text: *mut *const c_char) -> u32 {
    // SAFETY: the caller's promise is the one that is asked for.
    unsafe { give(description_of(code), text) }
}

/// Writes a text where the caller wants it. Unlike the driver's own functions, an unknown code is not an error: a
/// caller such as cust's `Display` has no use for one.
///
/// # Safety
///
/// `place` is null or valid for a write.
unsafe fn give(text: &'static CStr, place: *mut *const c_char) -> u32 {
    if place.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: not null, so valid for a write by this function's contract.
    unsafe { place.write(text.as_ptr()) };
    0
}

fn name_of(code: u32) -> &'static CStr {
    match ERROR_NAMES.binary_search_by_key(&code, |&(code, _)| code) {
        Ok(position) => ERROR_NAMES[position].1,
        Err(_) => c"unknown CUDA result code",
    }
}

/// For a missing driver what was looked for; for anything else the name, which says more than a second-hand sentence.
fn description_of(code: u32) -> &'static CStr {
    static MISSING: OnceLock<CString> = OnceLock::new();
    match outcome() {
        Err(unavailable) if code == DRIVER_MISSING => MISSING.get_or_init(|| {
            let text = unavailable.to_string().replace('\0', " ");
            CString::new(text).unwrap_or_else(|_| c"no CUDA driver".to_owned())
        }),
        _ => name_of(code),
    }
}
