//! The loader for targets where no driver is ever loaded.

use std::convert::Infallible;
use std::ffi::{CStr, c_int, c_void};
use std::path::Path;
use std::ptr::NonNull;

use crate::Unavailable;

/// An open driver library: there can be none here.
pub(crate) struct Library(Infallible);

pub(crate) fn open() -> Result<Library, Unavailable> {
    let target = format!("{} on {}", std::env::consts::OS, std::env::consts::ARCH);
    Err(Unavailable {
        looked_for: Vec::new(),
        reason: format!("cuda_driver_lazy loads no driver on {target}"),
    })
}

impl Library {
    pub(crate) fn symbol(&self, _name: &CStr) -> Option<NonNull<c_void>> {
        match self.0 {}
    }

    pub(crate) fn path(&self) -> &Path {
        match self.0 {}
    }

    pub(crate) fn query_version(&self) -> Result<c_int, u32> {
        match self.0 {}
    }
}
