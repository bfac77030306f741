use cuda_std::kernel;

#[thread_local]
static mut COUNT: u32 = 0;

#[kernel]
pub unsafe fn count(out: *mut u32) {
    unsafe { COUNT += *out; *out = COUNT }
}
