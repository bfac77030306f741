use cuda_std::kernel;

#[kernel(max_threads = "many")]
pub unsafe fn worded(out: *mut u32) {
    unsafe { *out = 1 }
}
