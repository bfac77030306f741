//! A driver library that computes nothing and writes down what it is asked to do. The tests beside it compile it
//! with plain rustc.
//!
//! It has one device, two contexts, a stream of each, and addresses that say what they are of by their upper half.

#![crate_type = "cdylib"]
#![allow(non_snake_case, clippy::missing_safety_doc)]

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Mutex;

type CUresult = u32;

const SUCCESS: CUresult = 0;
const INVALID_CONTEXT: CUresult = 201;
const NOT_FOUND: CUresult = 500;

/// The primary context and another one, and a stream of each.
const PRIMARY: usize = 0x100;
const OTHER: usize = 0x200;
const STREAM: usize = 0x51;
const OTHER_STREAM: usize = 0x52;

/// What was called, a line each.
static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The function that is to fail next, and with what.
static FAILS: Mutex<Option<(String, CUresult)>> = Mutex::new(None);
/// Modules that are loaded: their texts. A handle is an index plus 1.
static MODULES: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Functions that were looked up: their names. A handle is an index plus 1.
static FUNCTIONS: Mutex<Vec<String>> = Mutex::new(Vec::new());

thread_local! {
    static CURRENT: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

fn current() -> usize {
    CURRENT.with_borrow(|stack| stack.last().copied().unwrap_or(0))
}

/// Writes a call down, and says how it ends. All but a few need a context.
fn called(name: &str, line: String) -> CUresult {
    LOG.lock().unwrap().push(line);
    let mut fails = FAILS.lock().unwrap();
    match fails.take() {
        Some((of, code)) if of == name => code,
        other => {
            *fails = other;
            if current() == 0 { INVALID_CONTEXT } else { SUCCESS }
        }
    }
}

/// Hands out what was called since the last time.
#[unsafe(no_mangle)]
pub extern "C" fn fakeLog(take: extern "C" fn(*const u8, usize)) {
    for line in LOG.lock().unwrap().drain(..) {
        take(line.as_ptr(), line.len());
    }
}

/// Has the next call of a function fail.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fakeFail(name: *const c_char, code: CUresult) {
    // SAFETY: the test passes a C string.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap().to_owned();
    *FAILS.lock().unwrap() = Some((name, code));
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_: c_uint) -> CUresult {
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> CUresult {
    // SAFETY: the caller's place, as for all below.
    unsafe { version.write(12_040) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> CUresult {
    // SAFETY: as above.
    unsafe { count.write(1) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> CUresult {
    // SAFETY: as above.
    unsafe { device.write(ordinal) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, _: c_int) -> CUresult {
    let text = c"fake";
    assert!(text.count_bytes() < len as usize);
    // SAFETY: there is room.
    unsafe { name.copy_from(text.as_ptr(), text.count_bytes() + 1) };
    SUCCESS
}

/// Those of an H200 that planning looks at, or of 12.0 where `FAKE_BLACKWELL` is set; 1 for all others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _: c_int) -> CUresult {
    let is_blackwell = std::env::var_os("FAKE_BLACKWELL").is_some();
    let found = match attribute {
        75 if is_blackwell => 12,
        81 if is_blackwell => 102_400,
        97 if is_blackwell => 101_376,
        1 => 1024,
        8 => 49_152,
        10 => 32,
        12 | 82 => 65_536,
        16 => 132,
        39 => 2048,
        75 => 9,
        76 => 0,
        81 => 233_472,
        97 => 232_448,
        106 => 32,
        111 => 1024,
        _ => 1,
    };
    // SAFETY: as above.
    unsafe { value.write(found) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _: c_int) -> CUresult {
    // SAFETY: as above.
    unsafe { bytes.write(80 << 30) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int) -> CUresult {
    LOG.lock().unwrap().push(format!("retain {device}"));
    // SAFETY: as above.
    unsafe { context.write(PRIMARY) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> CUresult {
    LOG.lock().unwrap().push(format!("release {device}"));
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCurrent(context: *mut usize) -> CUresult {
    // SAFETY: as above.
    unsafe { context.write(current()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPushCurrent_v2(context: usize) -> CUresult {
    LOG.lock().unwrap().push(format!("push {context:#x}"));
    CURRENT.with_borrow_mut(|stack| stack.push(context));
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxPopCurrent_v2(context: *mut usize) -> CUresult {
    let popped = CURRENT.with_borrow_mut(Vec::pop);
    LOG.lock().unwrap().push(format!("pop {:#x}", popped.unwrap_or(0)));
    // SAFETY: as above.
    unsafe { context.write(popped.unwrap_or(0)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetDevice(device: *mut c_int) -> CUresult {
    // SAFETY: as above.
    unsafe { device.write(0) };
    called("cuCtxGetDevice", "device".to_owned())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut usize,
    image: *const c_char,
    _: c_uint,
    _: *mut c_void,
    _: *mut c_void,
) -> CUresult {
    let mut modules = MODULES.lock().unwrap();
    // SAFETY: as above; PTX is a C string.
    unsafe {
        modules.push(CStr::from_ptr(image).to_str().unwrap().to_owned());
        module.write(modules.len());
    }
    called("cuModuleLoadDataEx", format!("load module {}", modules.len()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: usize) -> CUresult {
    called("cuModuleUnload", format!("unload module {module}"))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) -> CUresult {
    // SAFETY: as above.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap();
    if !MODULES.lock().unwrap()[module - 1].contains(name) {
        return NOT_FOUND;
    }
    let mut functions = FUNCTIONS.lock().unwrap();
    functions.push(name.to_owned());
    // SAFETY: as above.
    unsafe { function.write(functions.len()) };
    called("cuModuleGetFunction", format!("find {name}"))
}

fn name_of(function: usize) -> String {
    FUNCTIONS.lock().unwrap()[function - 1].clone()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: usize) -> CUresult {
    // SAFETY: as above.
    unsafe { value.write(0) };
    called("cuFuncGetAttribute", format!("ask {attribute} of {}", name_of(function)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetAttribute(function: usize, attribute: c_int, value: c_int) -> CUresult {
    called(
        "cuFuncSetAttribute",
        format!("set {attribute} of {} to {value}", name_of(function)),
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncLoad(function: usize) -> CUresult {
    called("cuFuncLoad", format!("force {}", name_of(function)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD32Async(address: u64, value: c_uint, count: usize, stream: usize) -> CUresult {
    called(
        "cuMemsetD32Async",
        format!("memset {address:#x} to {value}, {count} words, on {stream:#x}"),
    )
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetCtx(stream: usize, context: *mut usize) -> CUresult {
    let owner = match stream {
        STREAM => PRIMARY,
        OTHER_STREAM => OTHER,
        _ => current(),
    };
    // SAFETY: as above.
    unsafe { context.write(owner) };
    called("cuStreamGetCtx", format!("whose stream is {stream:#x}"))
}

/// What an address is of, by its upper half; allocations are of 1 MiB.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuPointerGetAttributes(
    count: c_uint,
    attributes: *const c_int,
    data: *const *mut u64,
    address: u64,
) -> CUresult {
    const SIZE: u64 = 1 << 20;
    // (type, context, device, managed, device pointer)
    let (kind, context, device, is_managed, on_device) = match address >> 32 {
        1 => (2, PRIMARY as u64, 0, 0, address),
        2 => (2, OTHER as u64, 0, 0, address),
        3 => (2, 0x300, 1, 0, address),
        4 => (2, 0, 0, 0, address),
        5 => (1, OTHER as u64, 0, 0, address),
        6 => (1, PRIMARY as u64, 0, 0, address + SIZE),
        7 => (2, OTHER as u64, 1, 1, address),
        8 => (3, PRIMARY as u64, 0, 0, address),
        _ => (0, 0, 0, 0, 0),
    };
    for at in 0..count as usize {
        // SAFETY: as many attributes and places as were counted.
        unsafe {
            let value = match attributes.add(at).read() {
                1 => context,
                2 => kind,
                3 => on_device,
                8 => is_managed,
                9 => device,
                11 => address / SIZE * SIZE,
                12 if kind != 0 => SIZE,
                _ => 0,
            };
            data.add(at).read().write(value);
        }
    }
    called("cuPointerGetAttributes", format!("what is {address:#x}"))
}

/// The kernel's name, its geometry, and the words of its parameters that say what it accesses.
unsafe fn launched(
    function: usize,
    [x, y, block, bytes]: [u32; 4],
    stream: usize,
    arguments: *const *const u64,
) -> String {
    let name = name_of(function);
    // SAFETY: a kernel's first argument is its parameters, or a pointer, of which there are two.
    unsafe {
        let first = arguments.read();
        if name.starts_with("mma_block_scaled") {
            let (c, scaled) = (first.add(2).read(), arguments.add(1).read());
            let [scale_a, scale_b] = scaled.cast::<[u64; 2]>().read();
            let [k_tiles, stages] = scaled.add(2).cast::<[u32; 2]>().read();
            return format!(
                "launch {name} {x} x {block}, {bytes} B, on {stream:#x}: C {c:#x}, scales {scale_a:#x} {scale_b:#x}, \
                 {k_tiles} tiles of them along K, {stages} stages"
            );
        }
        if name.starts_with("wgmma_fp8") {
            let (c, scaled) = (first.add(2).read(), arguments.add(1).read());
            let [scale_a, scale_b] = scaled.cast::<[u64; 2]>().read();
            let [row, column, block_ld] = scaled.add(2).cast::<[u32; 3]>().read();
            let line = format!(
                "launch {name} {x} x {block}, {bytes} B, on {stream:#x}: C {c:#x}, scales {scale_a:#x} {scale_b:#x}, \
                 row strides [{row}, {column}], {block_ld} blocks a line"
            );
            if !name.starts_with("wgmma_fp8_groups") {
                return line;
            }
            let (ends, strides) = (first.add(6).read(), first.add(7).cast::<[u64; 3]>().read());
            let batch = first.cast::<u32>().add(32).read();
            return format!("{line}, {batch} products with ends {ends:#x}, {strides:?} elements apart");
        }
        if name.starts_with("fp8_") {
            let [source, data, scales, partials] = first.cast::<[u64; 4]>().read();
            let [rows, k, ld, scale_ld, splits, format] = first.add(4).cast::<[u32; 6]>().read();
            return format!(
                "launch {name} {x} x {block}, {bytes} B, on {stream:#x}: {source:#x} to {data:#x}, scales {scales:#x}, \
                 partials {partials:#x}; {rows} x {k} by {ld}, {scale_ld} scales a line, {splits} partials, format \
                 {format}"
            );
        }
        if name == "copy_rows_b16" {
            // The second operand's addresses follow the first one's and its geometry; they are null without one.
            let pads = [0, 3].map(|at| [at, at + 1].map(|at| arguments.add(at).read().read()));
            let pads: Vec<String> = pads
                .iter()
                .filter(|[from, _]| *from != 0)
                .map(|[from, to]| format!("{from:#x} to {to:#x}"))
                .collect();
            return format!("pad {}, on {stream:#x}", pads.join(" and "));
        }
        let pointers: Vec<String> = (0..6).map(|at| format!("{:#x}", first.add(at).read())).collect();
        // After seven pointers, the three strides of a batch and two factors in f64, which have two words each.
        let word = |at: usize| first.cast::<u32>().add(24 + at).read();
        let of_batch = match (y, word(8)) {
            (1, 1) => String::new(),
            (y, batch) => format!(", {batch} products in {y} rows"),
        };
        format!(
            "launch {name} {x} x {block}, {bytes} B, on {stream:#x}: {}; k {}, alpha {}, beta {}, splits {}{of_batch}",
            pointers.join(" "),
            word(2),
            f32::from_bits(word(6)),
            f32::from_bits(word(7)),
            word(9),
        )
    }
}

#[unsafe(no_mangle)]
#[rustfmt::skip]
pub unsafe extern "C" fn cuLaunchKernel(
    function: usize, grid_x: c_uint, grid_y: c_uint, _: c_uint, block_x: c_uint, _: c_uint, _: c_uint, bytes: c_uint,
    stream: usize, arguments: *const *const u64, _: *mut c_void,
) -> CUresult {
    // SAFETY: as above.
    let line = unsafe { launched(function, [grid_x, grid_y, block_x, bytes], stream, arguments) };
    called("cuLaunchKernel", line)
}

/// A tensor map of rank 2 or 3: its words are 0.
#[unsafe(no_mangle)]
#[rustfmt::skip]
pub unsafe extern "C" fn cuTensorMapEncodeTiled(
    map: *mut [u64; 16], data_type: c_int, rank: c_uint, address: usize, extents: *const u64, strides: *const u64,
    of_box: *const u32, _: *const u32, _: c_int, swizzle: c_int, _: c_int, _: c_int,
) -> CUresult {
    // SAFETY: as above; an extent and a side of the box of each dimension, strides of all but the first.
    let line = unsafe {
        map.write([0; 16]);
        match rank {
            2 => {
                let (extents, stride) = (extents.cast::<[u64; 2]>().read(), strides.read());
                let of_box = of_box.cast::<[u32; 2]>().read();
                format!(
                    "map {address:#x}: type {data_type}, {extents:?} by {stride} B, box {of_box:?}, swizzle \
                     {swizzle}"
                )
            }
            3 => {
                let (extents, strides) = (extents.cast::<[u64; 3]>().read(), strides.cast::<[u64; 2]>().read());
                let of_box = of_box.cast::<[u32; 3]>().read();
                format!(
                    "map {address:#x}: type {data_type}, {extents:?} by {strides:?} B, box {of_box:?}, swizzle \
                     {swizzle}"
                )
            }
            rank => panic!("a map of rank {rank}"),
        }
    };
    called("cuTensorMapEncodeTiled", line)
}

#[repr(C)]
pub struct LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    bytes: u32,
    stream: usize,
    attributes: *const u32,
    attribute_count: u32,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernelEx(
    config: *const LaunchConfig,
    function: usize,
    arguments: *const *const u64,
    _: *mut c_void,
) -> CUresult {
    // SAFETY: as above. The one attribute is programmatic stream serialization: 6, then 1 after 4 bytes of padding.
    let line = unsafe {
        let config = &*config;
        let attribute = [config.attributes.read(), config.attributes.add(2).read()];
        assert!(config.attribute_count == 1 && attribute == [6, 1]);
        let [x, y, _] = config.grid;
        launched(function, [x, y, config.block[0], config.bytes], config.stream, arguments)
    };
    called("cuLaunchKernelEx", format!("early {line}"))
}
