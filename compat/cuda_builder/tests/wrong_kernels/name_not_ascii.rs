use cuda_std::kernel;

#[kernel]
pub unsafe fn größe(out: *mut u32) {
    unsafe { *out = 1 }
}
