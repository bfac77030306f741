//@ features = other
use cuda_std::kernel;

#[kernel]
pub unsafe fn twice(out: *mut u32) {
    unsafe { *out = 22 }
}
