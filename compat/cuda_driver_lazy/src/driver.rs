//! The loaded driver, as safe code sees it.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::OnceLock;

use crate::Unavailable;
use crate::loader::{self, Library};

/// The process's CUDA driver library. Copies are the same library; it stays loaded until the process ends.
#[derive(Clone, Copy)]
pub struct Driver {
    library: &'static Library,
}

/// The newest CUDA version that a driver supports, as `cuDriverGetVersion` tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverVersion {
    /// The number before the dot.
    pub major: u32,
    /// The number after the dot.
    pub minor: u32,
}

/// Loads the driver library, at the first call; later calls only return the same outcome.
///
/// Loading does not initialise the driver: that is `cuInit`'s (`cust::init`'s) task, which can still fail, for instance
/// where there is a driver but no device.
///
/// # Errors
///
/// [`Unavailable`] when no library among those that the [crate documentation](crate#which-library) names could be
/// loaded.
pub fn load() -> Result<Driver, Unavailable> {
    outcome().clone()
}

/// The outcome of the one search, without a copy of the error.
pub(crate) fn outcome() -> &'static Result<Driver, Unavailable> {
    static OUTCOME: OnceLock<Result<Driver, Unavailable>> = OnceLock::new();
    OUTCOME.get_or_init(|| {
        // Leaked on purpose: the slots of the trampolines point into the library for as long as the process lives.
        loader::open().map(|library| Driver {
            library: Box::leak(Box::new(library)),
        })
    })
}

impl Driver {
    /// The address of an entry point, or `None` if this driver has none of that name.
    ///
    /// This is the way to functions that are newer than `cust_raw`, such as `cuTensorMapEncodeTiled`. The name is the
    /// exported one, with its version suffix if it has one (`cuMemAlloc_v2`). To call the address, convert it to a
    /// function pointer of the type that the CUDA driver API documents for that name; that conversion is the caller's
    /// responsibility.
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        self.library.symbol(name)
    }

    /// The file that was loaded, as the system's loader reports it.
    pub fn path(&self) -> &Path {
        self.library.path()
    }

    /// The newest CUDA version that the driver supports; `None` if it does not tell.
    ///
    /// This needs no initialised driver (CUDA driver API, "Version Management").
    pub fn version(&self) -> Option<DriverVersion> {
        let code = u32::try_from(self.library.query_version().ok()?).ok()?;
        Some(DriverVersion {
            major: code / 1000,
            minor: code % 1000 / 10,
        })
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("path", &self.path())
            .field("version", &self.version())
            .finish()
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::{DriverVersion, load};

    #[test]
    fn loading_again_gives_the_same_outcome() {
        match (load(), load()) {
            (Ok(first), Ok(second)) => assert_eq!(first.path(), second.path()),
            (Err(first), Err(second)) => assert_eq!(first, second),
            outcomes => panic!("two outcomes in one process: {outcomes:?}"),
        }
    }

    #[test]
    fn versions_compare_and_print_like_cuda_versions() {
        let (old, new) = (
            DriverVersion { major: 11, minor: 4 },
            DriverVersion { major: 13, minor: 0 },
        );
        assert!(old < new);
        assert_eq!(
            (old.to_string(), new.to_string()),
            ("11.4".to_owned(), "13.0".to_owned())
        );
    }
}
