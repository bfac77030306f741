//! Finding and opening the driver library.

use std::env;
use std::error::Error as _;
use std::ffi::{CStr, OsString, c_int, c_void};
use std::mem;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

#[cfg(windows)]
use libloading::os::windows as os;

#[cfg(unix)]
use libloading::os::unix as os;

use crate::fallback::CUDA_ERROR_STUB_LIBRARY;
use crate::{OVERRIDE_VARIABLE, Unavailable};

/// What is looked for where the environment does not say: the name that drivers install, then the developers' link to
/// it.
#[cfg(unix)]
const DEFAULT_NAMES: &[&str] = &["libcuda.so.1", "libcuda.so"];

/// The same; drivers install it into the system's folder.
#[cfg(windows)]
const DEFAULT_NAMES: &[&str] = &["nvcuda.dll"];

/// An open driver library.
pub(crate) struct Library {
    library: os::Library,
    path: PathBuf,
}

/// Opens the first usable library among the candidates.
pub(crate) fn open() -> Result<Library, Unavailable> {
    open_first(candidates(env::var_os(OVERRIDE_VARIABLE)))
}

/// The names to try, given the value of the override variable. An empty value counts as none, as it does for loaders.
fn candidates(override_value: Option<OsString>) -> Vec<PathBuf> {
    match override_value {
        Some(path) if !path.is_empty() => vec![path.into()],
        _ => DEFAULT_NAMES.iter().map(PathBuf::from).collect(),
    }
}

fn open_first(names: Vec<PathBuf>) -> Result<Library, Unavailable> {
    let mut reasons = Vec::new();
    for name in &names {
        match Library::open(name) {
            Ok(library) => return Ok(library),
            Err(reason) => reasons.push(reason.replace('\n', " ")),
        }
    }
    Err(Unavailable {
        looked_for: names,
        reason: reasons.join("; "),
    })
}

/// Opens a library; the error is what the system says, with the library's name.
///
/// # Safety
/// Running the library's initializers is sound.
#[cfg(unix)]
unsafe fn open_library(name: &Path) -> Result<os::Library, String> {
    // SAFETY: the caller's promise.
    let opened = unsafe { os::Library::open(Some(name), os::RTLD_NOW | os::RTLD_LOCAL) };
    // What dlerror says begins with the name.
    opened.map_err(|error| match error.source() {
        Some(said) => said.to_string(),
        None => format!("{}: {error}", name.display()),
    })
}

/// The same. A name without a folder is looked for in the system's only, where nobody else can put a library.
///
/// # Safety
/// As above.
#[cfg(windows)]
unsafe fn open_library(name: &Path) -> Result<os::Library, String> {
    let flags = match name.is_absolute() {
        true => os::LOAD_WITH_ALTERED_SEARCH_PATH,
        false => os::LOAD_LIBRARY_SEARCH_SYSTEM32,
    };
    // SAFETY: the caller's promise.
    let opened = unsafe { os::Library::load_with_flags(name, flags) };
    opened.map_err(|error| match error.source() {
        Some(said) => format!("{}: {said}", name.display()),
        None => format!("{}: {error}", name.display()),
    })
}

impl Library {
    fn open(name: &Path) -> Result<Self, String> {
        // SAFETY: running the library's initializers is what the caller asked for, by the library's well-known name or
        // by naming the file in the environment.
        let library = unsafe { open_library(name) }?;
        let mut library = Self {
            library,
            path: name.to_owned(),
        };
        match library.check() {
            Ok(path) => {
                library.path = path;
                Ok(library)
            }
            Err(reason) => Err(format!("{}: {reason}", name.display())),
        }
    }

    /// Whether this is a driver; if so, the file that it was loaded from.
    fn check(&self) -> Result<PathBuf, String> {
        let init = self
            .symbol(c"cuInit")
            .ok_or("this library has no cuInit, so it is not a CUDA driver")?;
        // The toolkit's stub exists for link time only. It would shadow the real driver for good, and its
        // cuGetErrorString fails, which makes cust's Display fail.
        if self.query_version() == Err(CUDA_ERROR_STUB_LIBRARY) {
            return Err("this is the toolkit's link-time stub, not a driver".into());
        }
        Ok(file_of(init).unwrap_or_else(|| self.path.clone()))
    }

    pub(crate) fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the address is only taken, as that of anything.
        let found = unsafe { self.library.get::<*mut c_void>(name) };
        NonNull::new(found.ok()?.as_raw_ptr())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Calls `cuDriverGetVersion`: the version code, or the result code of the failure.
    pub(crate) fn query_version(&self) -> Result<c_int, u32> {
        let function = self
            .symbol(c"cuDriverGetVersion")
            .ok_or(crate::fallback::SYMBOL_NOT_FOUND)?;
        // SAFETY: the CUDA driver API declares `CUresult cuDriverGetVersion(int *driverVersion)`; CUresult is an
        // unsigned int.
        let function =
            unsafe { mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_int) -> u32>(function.as_ptr()) };
        let mut version = 0;
        // SAFETY: the pointer is valid for the call, and the function needs no initialised driver.
        match unsafe { function(&mut version) } {
            0 => Ok(version),
            code => Err(code),
        }
    }
}

/// The file of the library that an address lies in.
#[cfg(unix)]
fn file_of(address: NonNull<c_void>) -> Option<PathBuf> {
    use std::ffi::OsStr;
    use std::mem::MaybeUninit;
    use std::os::unix::ffi::OsStrExt;

    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr takes any address; the info is writable.
    let found = unsafe { libc::dladdr(address.as_ptr(), info.as_mut_ptr()) } != 0;
    // SAFETY: all-zero bytes are a valid Dl_info (pointers only), and dladdr wrote it if it succeeded.
    let file = unsafe { info.assume_init() }.dli_fname;
    if !found || file.is_null() {
        return None;
    }
    // SAFETY: the loader's name of a library that is still open.
    let file = unsafe { CStr::from_ptr(file) };
    Some(OsStr::from_bytes(file.to_bytes()).into())
}

/// Windows has no such question in `libloading`; the name that was asked for stands.
#[cfg(windows)]
fn file_of(_address: NonNull<c_void>) -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::{candidates, open_first};
    use std::path::PathBuf;

    #[test]
    fn the_override_replaces_the_usual_names() {
        assert_eq!(
            candidates(Some("/opt/libcuda.so".into())),
            [PathBuf::from("/opt/libcuda.so")]
        );
        let usual = ["libcuda.so.1", "libcuda.so"].map(PathBuf::from);
        assert_eq!(candidates(None), usual);
        assert_eq!(candidates(Some("".into())), usual);
    }

    #[test]
    fn every_attempt_leaves_its_reason() {
        let error = open_first(vec!["/nowhere/libcuda.so.1".into(), "libc.so.6".into()])
            .err()
            .expect("neither is a driver");
        assert_eq!(error.looked_for.len(), 2);
        assert!(error.reason.contains("/nowhere/libcuda.so.1"), "{error}");
        assert!(
            error.reason.contains("libc.so.6: this library has no cuInit"),
            "{error}"
        );
        assert!(!error.to_string().contains('\n'));
    }

    #[test]
    fn a_zero_byte_in_the_path_is_an_error() {
        assert!(
            open_first(vec!["a\0b".into()])
                .err()
                .expect("no such path")
                .reason
                .contains("interior zero")
        );
    }
}
