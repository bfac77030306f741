use cuda_std::kernel;

fn threads() -> u32 {
    128
}

#[kernel(max_threads = threads())]
pub unsafe fn varying(out: *mut u32) {
    unsafe { *out = 1 }
}
