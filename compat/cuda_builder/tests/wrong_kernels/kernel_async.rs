use cuda_std::kernel;

#[kernel]
pub async unsafe fn later(out: *mut u32) {
    unsafe { *out = 1 }
}
