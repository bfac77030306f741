//! The driver functions on targets where no driver is ever loaded: they exist, so that programs link, and report that.

use std::ffi::c_char;

use crate::fallback;

macro_rules! define_one {
    (cuGetErrorString) => {
        /// # Safety
        ///
        /// As the CUDA driver API documents.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn cuGetErrorString(code: u32, text: *mut *const c_char) -> u32 {
            // SAFETY: the same contract.
            unsafe { fallback::error_string(code, text) }
        }
    };
    (cuGetErrorName) => {
        /// # Safety
        ///
        /// As the CUDA driver API documents.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn cuGetErrorName(code: u32, text: *mut *const c_char) -> u32 {
            // SAFETY: the same contract.
            unsafe { fallback::error_name(code, text) }
        }
    };
    ($name:ident) => {
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> u32 {
            fallback::driver_missing()
        }
    };
}

macro_rules! define_all {
    ($($name:ident)*) => { $(define_one!($name);)* };
}
crate::names::for_each_function!(define_all);
