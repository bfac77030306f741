//@ features = other
use cuda_std::kernel;

#[unsafe(no_mangle)]
static mut COUNTER: u32 = 2;

#[kernel]
pub unsafe fn count(out: *mut u32) {
    unsafe { *out = COUNTER }
}
