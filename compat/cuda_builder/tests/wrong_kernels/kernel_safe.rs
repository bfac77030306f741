use cuda_std::kernel;

#[kernel]
pub fn safe(out: *mut u32) {
    unsafe { *out = 1 }
}
