use cuda_std::kernel;

#[kernel]
pub unsafe fn later(out: *mut u32) {
    let future = async { 1u32 };
    unsafe { *out = future.await }
}
