//! A driver library that reports back what it was called with. `tests/forwarding.rs` compiles it with plain rustc.
//!
//! With `--cfg stub` it behaves like the toolkit's link-time stub.

#![crate_type = "cdylib"]
#![allow(non_snake_case, clippy::missing_safety_doc)]

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_void};

type CUresult = u32;

const SUCCESS: CUresult = 0;
const STUB_LIBRARY: CUresult = 34;

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: c_uint) -> CUresult {
    if cfg!(stub) { STUB_LIBRARY } else { flags }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> CUresult {
    if cfg!(stub) {
        return STUB_LIBRARY;
    }
    // SAFETY: the test passes a valid pointer.
    unsafe { version.write(13_020) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: CUresult, text: *mut *const c_char) -> CUresult {
    let answer = if code == 100 {
        c"told by the fake driver"
    } else {
        c"other"
    };
    // SAFETY: the test passes a valid pointer.
    unsafe { text.write(answer.as_ptr()) };
    SUCCESS
}

/// Eleven arguments: six in registers and five on the stack on x86-64, eight and three on AArch64. `extra` takes them
/// all back.
#[unsafe(no_mangle)]
#[rustfmt::skip]
pub unsafe extern "C" fn cuLaunchKernel(
    function: *mut c_void, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
    block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint,
    stream: *mut c_void, parameters: *mut *mut c_void, extra: *mut *mut c_void,
) -> CUresult {
    let seen = [
        function as u64, grid_x.into(), grid_y.into(), grid_z.into(), block_x.into(), block_y.into(), block_z.into(),
        shared_bytes.into(), stream as u64, parameters as u64, extra as u64,
    ];
    // SAFETY: the test passes the address of eleven words.
    unsafe { extra.cast::<[u64; 11]>().write(seen) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuTexRefSetMipmapLevelBias(reference: *mut c_void, bias: f32) -> CUresult {
    // SAFETY: the test passes the address of a float.
    unsafe { reference.cast::<f32>().write(bias) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuTexRefSetMipmapLevelClamp(reference: *mut c_void, low: f32, high: f32) -> CUresult {
    // SAFETY: the test passes the address of two floats.
    unsafe { reference.cast::<[f32; 2]>().write([low, high]) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuParamSetf(function: *mut c_void, offset: c_int, value: f32) -> CUresult {
    // SAFETY: the test passes the address of an integer and a float.
    unsafe { function.cast::<(c_int, f32)>().write((offset, value)) };
    SUCCESS
}

/// Narrow integers among wide ones. `destination` is an address of four words here, not device memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD2D8_v2(
    destination: u64,
    pitch: usize,
    value: c_uchar,
    width: usize,
    height: usize,
) -> CUresult {
    let seen = [pitch, value.into(), width, height];
    // SAFETY: the test passes the address of four words.
    unsafe { (destination as *mut [usize; 4]).write(seen) };
    SUCCESS
}

#[repr(C)]
pub struct IpcMemHandle {
    bytes: [u8; 64],
}

/// A structure by value: on the stack on x86-64, by reference to a copy on AArch64.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuIpcOpenMemHandle_v2(address: *mut u64, handle: IpcMemHandle, flags: c_uint) -> CUresult {
    let digest = handle
        .bytes
        .iter()
        .zip(1_u64..)
        .map(|(&byte, position)| position * u64::from(byte))
        .sum::<u64>();
    // SAFETY: the test passes a valid pointer.
    unsafe { address.write(digest + u64::from(flags)) };
    SUCCESS
}

/// Newer than cust_raw: reached by name only.
#[unsafe(no_mangle)]
pub extern "C" fn cuNewerThanTheBindings(value: u64) -> u64 {
    value + 1
}
