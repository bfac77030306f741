use cuda_std::kernel;

#[kernel]
pub unsafe fn take(pair: (u32, f64), names: Option<[u64; 5]>, out: *mut u32) {
    unsafe { *out = pair.0 }
}
