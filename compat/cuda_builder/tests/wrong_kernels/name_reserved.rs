use cuda_std::kernel;

#[kernel]
pub unsafe fn mov(out: *mut u32) {
    unsafe { *out = 1 }
}

#[kernel]
pub unsafe fn WARP_SZ(out: *mut u32) {
    unsafe { *out = 2 }
}
