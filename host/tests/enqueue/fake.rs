//! The fake driver, as the tests see it.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::with_exposed_provenance_mut;
use std::sync::Mutex;

use tilewright::launch::{CUcontext, CUstream};

// The fake driver's handles and addresses.
pub const PRIMARY: usize = 0x100;
pub const OTHER: usize = 0x200;
pub const A: u64 = 0x1_0000_0000;
pub const B: u64 = 0x1_0010_0000;
pub const C: u64 = 0x1_0020_0000;
pub const BIAS: u64 = 0x1_0030_0000;
pub const WORKSPACE: u64 = 0x1_0040_0000;

pub fn stream(handle: usize) -> CUstream {
    with_exposed_provenance_mut(handle)
}

pub fn context(handle: usize) -> CUcontext {
    with_exposed_provenance_mut(handle)
}

fn symbol(name: &CStr) -> *mut c_void {
    let driver = cuda_driver_lazy::load().expect("the fake driver loads");
    driver.symbol(name).expect("the fake driver has it").as_ptr()
}

/// What was called since the last time.
pub fn calls() -> Vec<String> {
    static TAKEN: Mutex<Vec<String>> = Mutex::new(Vec::new());
    extern "C" fn take(text: *const u8, len: usize) {
        // SAFETY: the fake driver passes its text.
        let line = unsafe { std::slice::from_raw_parts(text, len) };
        TAKEN
            .lock()
            .expect("one thread asks")
            .push(String::from_utf8_lossy(line).into_owned());
    }
    type Log = extern "C" fn(extern "C" fn(*const u8, usize));
    // SAFETY: the fake driver's function has this type.
    let log = unsafe { std::mem::transmute::<*mut c_void, Log>(symbol(c"fakeLog")) };
    log(take);
    std::mem::take(&mut TAKEN.lock().expect("one thread asks"))
}

/// Has the next call of a function fail.
pub fn fail_next(name: &CStr, code: u32) {
    type Fail = unsafe extern "C" fn(*const c_char, u32);
    // SAFETY: the fake driver's function has this type, and takes a C string.
    unsafe { std::mem::transmute::<*mut c_void, Fail>(symbol(c"fakeFail"))(name.as_ptr(), code) };
}

pub fn current() -> usize {
    let mut found = std::ptr::null_mut();
    // SAFETY: the place outlives the call.
    unsafe { cust_raw::cuCtxGetCurrent(&raw mut found) };
    found.addr()
}
