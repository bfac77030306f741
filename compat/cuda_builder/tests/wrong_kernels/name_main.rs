// Builds: names of C programs.
use cuda_std::kernel;

#[kernel]
pub unsafe fn main(out: *mut u32) {
    unsafe { *out = 1 }
}
#[kernel]
pub unsafe fn _start(out: *mut u32) {
    unsafe { *out = 1 }
}
