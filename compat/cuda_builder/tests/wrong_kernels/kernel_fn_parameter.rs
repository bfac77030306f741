use cuda_std::kernel;

#[kernel]
pub unsafe fn apply(f: fn(u32) -> u32, out: *mut u32) {
    unsafe { *out = f(1) }
}
