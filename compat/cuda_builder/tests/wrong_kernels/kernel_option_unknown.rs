use cuda_std::kernel;

#[kernel(maxthreads = 128)]
pub unsafe fn typo(out: *mut u32) {
    unsafe { *out = 1 }
}
