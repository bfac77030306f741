//@ arch = 90a
//@ ptx = 7.8
use cuda_std::kernel;

#[kernel]
pub unsafe fn one(out: *mut u32) {
    unsafe { *out = 1 }
}
