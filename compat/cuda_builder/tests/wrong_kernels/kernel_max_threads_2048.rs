use cuda_std::kernel;

#[kernel(max_threads = 2048)]
pub unsafe fn crowd(out: *mut u32) {
    unsafe { *out = 1 }
}
