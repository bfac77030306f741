//! Finding and opening the driver library with `dlopen`.

use std::env;
use std::ffi::{CStr, CString, OsStr, OsString, c_int, c_void};
use std::mem::{self, MaybeUninit};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use crate::fallback::CUDA_ERROR_STUB_LIBRARY;
use crate::{OVERRIDE_VARIABLE, Unavailable};

/// What is looked for where the environment does not say: the name that drivers install, then the developers' link to
/// it.
const DEFAULT_NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

/// An open driver library.
pub(crate) struct Library {
    handle: NonNull<c_void>,
    path: PathBuf,
}

// SAFETY: the handle is only handed to dlsym and dlclose, which POSIX requires to be safe to call from any thread.
unsafe impl Send for Library {}
// SAFETY: as above; nothing behind a shared reference ever changes.
unsafe impl Sync for Library {}

/// Opens the first usable library among the candidates.
pub(crate) fn open() -> Result<Library, Unavailable> {
    open_first(candidates(env::var_os(OVERRIDE_VARIABLE)))
}

/// The names to try, given the value of the override variable. An empty value counts as none, as it does for loaders.
fn candidates(override_value: Option<OsString>) -> Vec<PathBuf> {
    match override_value {
        Some(path) if !path.is_empty() => vec![path.into()],
        _ => DEFAULT_NAMES.map(PathBuf::from).to_vec(),
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

impl Library {
    fn open(name: &Path) -> Result<Self, String> {
        let c_name = CString::new(name.as_os_str().as_bytes())
            .map_err(|_| format!("{}: a path cannot hold a zero byte", name.display()))?;
        // SAFETY: the argument is a C string. Running the library's initialisers is what the caller asked for, by the
        // library's well-known name or by naming the file in the environment.
        let handle = unsafe { libc::dlopen(c_name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let handle = NonNull::new(handle).ok_or_else(|| loader_message(name))?;
        let mut library = Self {
            handle,
            path: name.to_owned(),
        };
        match library.check() {
            Ok(path) => {
                library.path = path;
                Ok(library)
            }
            Err(reason) => {
                // SAFETY: the handle came from dlopen, is closed once, and no address from it is kept.
                unsafe { libc::dlclose(handle.as_ptr()) };
                Err(format!("{}: {reason}", name.display()))
            }
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
        // SAFETY: the handle is open and the name is a C string.
        NonNull::new(unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) })
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

/// The message of the dlopen that just failed on this thread.
fn loader_message(name: &Path) -> String {
    // SAFETY: dlerror has no preconditions; its text belongs to this thread until the next call of the dl family.
    let message = unsafe { libc::dlerror() };
    if message.is_null() {
        return format!("{}: the loader gave no reason", name.display());
    }
    // SAFETY: not null, so it is a C string, and no dl function runs before it is copied.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}

/// The file of the library that an address lies in.
fn file_of(address: NonNull<c_void>) -> Option<PathBuf> {
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
                .contains("zero byte")
        );
    }
}
