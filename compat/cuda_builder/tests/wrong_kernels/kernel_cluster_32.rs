use cuda_std::kernel;

#[kernel(cluster = 32)]
pub unsafe fn swarm(out: *mut u32) {
    unsafe { *out = 1 }
}
