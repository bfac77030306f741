//! The trampolines against a fake driver that reports back what it was called with.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod common;

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem;
use std::path::{Path, PathBuf};
use std::ptr::{self, null_mut};
use std::sync::Barrier;
use std::thread;

use common::{is_apart, run_apart};
use cuda_driver_lazy::DriverVersion;
use cust_raw::cudaError_enum as Code;

/// The fake driver, compiled for this machine.
fn fake_driver(name: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_driver/lib.rs");
    common::fake_driver(&source, name, flags)
}

fn succeeded(code: Code) {
    assert_eq!(code, Code::CUDA_SUCCESS);
}

/// Numbers that fill every bit of a register differently for each seed and position.
fn pattern(seed: u64, position: u64) -> u64 {
    (seed * 16 + position + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn check_launch(seed: u64) {
    let mut seen = [0_u64; 11];
    let extra = ptr::from_mut(&mut seen);
    let word = |position| pattern(seed, position);
    let half = |position| pattern(seed, position) as c_uint;
    // SAFETY: the fake driver writes eleven words to `extra` and follows no other pointer.
    succeeded(unsafe {
        cust_raw::cuLaunchKernel(
            word(0) as *mut _,
            half(1),
            half(2),
            half(3),
            half(4),
            half(5),
            half(6),
            half(7),
            word(8) as *mut _,
            word(9) as *mut _,
            extra.cast(),
        )
    });
    let mut sent: [u64; 11] = std::array::from_fn(|position| match position {
        1..=7 => half(position as u64).into(),
        _ => word(position as u64),
    });
    sent[10] = extra as u64;
    assert_eq!(seen, sent);
}

fn check_floats(seed: u64) {
    let float = |position| f32::from_bits(pattern(seed, position) as u32 & 0x7f7f_ffff);
    let mut one = 0_f32;
    let mut two = [0_f32; 2];
    let mut mixed = (0_i32, 0_f32);
    // SAFETY: the fake driver writes one float, two floats, and an integer and a float to these places.
    unsafe {
        succeeded(cust_raw::cuTexRefSetMipmapLevelBias(
            ptr::from_mut(&mut one).cast(),
            float(0),
        ));
        succeeded(cust_raw::cuTexRefSetMipmapLevelClamp(
            ptr::from_mut(&mut two).cast(),
            float(1),
            float(2),
        ));
        succeeded(cust_raw::cuParamSetf(
            ptr::from_mut(&mut mixed).cast(),
            -5 - seed as c_int,
            float(3),
        ));
    }
    assert_eq!(
        (one, two, mixed),
        (float(0), [float(1), float(2)], (-5 - seed as c_int, float(3)))
    );
}

fn check_narrow_and_structures(seed: u64) {
    let mut seen = [0_usize; 4];
    let value = pattern(seed, 0) as u8;
    let (pitch, width, height) = (
        pattern(seed, 1) as usize,
        pattern(seed, 2) as usize,
        pattern(seed, 3) as usize,
    );
    // SAFETY: the fake driver takes the "device" address for four words here.
    succeeded(unsafe { cust_raw::cuMemsetD2D8_v2(ptr::from_mut(&mut seen) as u64, pitch, value, width, height) });
    assert_eq!(seen, [pitch, value.into(), width, height]);

    let bytes: [u8; 64] = std::array::from_fn(|position| pattern(seed, position as u64) as u8);
    let expected: u64 = (1..)
        .zip(bytes)
        .map(|(position, byte)| position * u64::from(byte))
        .sum();
    let handle = cust_raw::CUipcMemHandle {
        reserved: bytes.map(|byte| byte as c_char),
    };
    let mut digest = 0;
    // SAFETY: the fake driver writes one word.
    succeeded(unsafe { cust_raw::cuIpcOpenMemHandle_v2(&mut digest, handle, 7) });
    assert_eq!(digest, expected + 7);
}

#[test]
fn arguments_and_results_pass_unchanged() {
    run_apart(
        "apart_arguments_and_results_pass_unchanged",
        &fake_driver("forward", &[]),
    );
}

#[test]
#[ignore = "run in a process of its own by arguments_and_results_pass_unchanged"]
fn apart_arguments_and_results_pass_unchanged() {
    if !is_apart() {
        return;
    }
    // Twice, because the first call goes through the resolver and the second does not.
    for seed in 0..2 {
        check_launch(seed);
        check_floats(seed);
        check_narrow_and_structures(seed);
    }
    for code in [Code::CUDA_SUCCESS, Code::CUDA_ERROR_NO_DEVICE, Code::CUDA_ERROR_UNKNOWN] {
        // SAFETY: the fake driver returns its argument.
        assert_eq!(unsafe { cust_raw::cuInit(code as c_uint) }, code);
    }
}

#[test]
fn threads_may_race_for_the_first_call() {
    let driver = fake_driver("race", &[]);
    for _ in 0..20 {
        run_apart("apart_threads_may_race_for_the_first_call", &driver);
    }
}

#[test]
#[ignore = "run in a process of its own by threads_may_race_for_the_first_call"]
fn apart_threads_may_race_for_the_first_call() {
    if !is_apart() {
        return;
    }
    const THREADS: u64 = 16;
    let start = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                // Different first functions for neighbours, so that the loading and the slots are both raced for.
                if seed % 2 == 0 {
                    check_launch(seed)
                } else {
                    check_floats(seed)
                }
                check_launch(seed);
                check_floats(seed);
                check_narrow_and_structures(seed);
            });
        }
    });
}

#[test]
fn the_driver_can_be_asked() {
    run_apart("apart_the_driver_can_be_asked", &fake_driver("ask", &[]));
}

#[test]
#[ignore = "run in a process of its own by the_driver_can_be_asked"]
fn apart_the_driver_can_be_asked() {
    if !is_apart() {
        return;
    }
    let driver = cuda_driver_lazy::load().expect("the fake driver loads");
    assert_eq!(driver.version(), Some(DriverVersion { major: 13, minor: 2 }));
    assert_eq!(
        Some(driver.path().as_os_str()),
        std::env::var_os(cuda_driver_lazy::OVERRIDE_VARIABLE).as_deref()
    );

    assert!(driver.symbol(c"cuTensorMapEncodeTiled").is_none());
    let newer = driver
        .symbol(c"cuNewerThanTheBindings")
        .expect("the fake driver has it");
    // SAFETY: this is the type of the fake driver's function.
    let newer = unsafe { mem::transmute::<*mut c_void, extern "C" fn(u64) -> u64>(newer.as_ptr()) };
    assert_eq!(newer(41), 42);
    assert_eq!(
        cust::CudaApiVersion::get().map(|version| (version.major(), version.minor())),
        Ok((13, 2))
    );
    assert_eq!(
        cust::error::CudaError::NoDevice.to_string(),
        "\"told by the fake driver\""
    );

    // A function that this driver lacks, in cust's words.
    let lacking = cust::memory::DeviceBuffer::from_slice(&[1_u8]).map(drop);
    assert_eq!(lacking, Err(cust::error::CudaError::SharedObjectSymbolNotFound));
}

#[test]
fn others_may_load_the_driver_too() {
    run_apart("apart_others_may_load_the_driver_too", &fake_driver("others", &[]));
}

#[test]
#[ignore = "run in a process of its own by others_may_load_the_driver_too"]
fn apart_others_may_load_the_driver_too() {
    unsafe extern "C" {
        fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    const RTLD_NOW: c_int = 2;
    const RTLD_DEFAULT: *mut c_void = null_mut();
    if !is_apart() {
        return;
    }
    let driver = cuda_driver_lazy::load().expect("the fake driver loads");
    let path = std::ffi::CString::new(driver.path().as_os_str().as_encoded_bytes()).expect("no zero byte in it");
    let find = |handle, name: &CStr| {
        // SAFETY: the handle is open or RTLD_DEFAULT, the name is a C string.
        unsafe { dlsym(handle, name.as_ptr()) }
    };
    // SAFETY: the path is a C string; the library is already loaded.
    let theirs = unsafe { dlopen(path.as_ptr(), RTLD_NOW) };
    assert!(!theirs.is_null());
    let ours = driver.symbol(c"cuInit").expect("every driver has it").as_ptr();
    assert_eq!(find(theirs, c"cuInit"), ours, "one library in the process");
    // Neither the trampolines nor our handle are visible to libraries that look for a global cuInit.
    assert!(find(RTLD_DEFAULT, c"cuInit").is_null());
    check_launch(0);
}

#[test]
fn the_link_time_stub_is_no_driver() {
    run_apart(
        "apart_the_link_time_stub_is_no_driver",
        &fake_driver("stub", &["--cfg", "stub"]),
    );
}

#[test]
#[ignore = "run in a process of its own by the_link_time_stub_is_no_driver"]
fn apart_the_link_time_stub_is_no_driver() {
    if !is_apart() {
        return;
    }
    let unavailable = cuda_driver_lazy::load().expect_err("a stub is no driver");
    assert!(unavailable.reason.contains("stub"), "{unavailable}");
    assert_eq!(
        cust::init(cust::CudaFlags::empty()),
        Err(cust::error::CudaError::SharedObjectInitFailed)
    );
}
