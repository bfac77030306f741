use cuda_std::kernel;

#[inline(never)]
fn called(x: u32) -> u32 {
    if x == 0 { 1 } else { x * called(x / 2) }
}

#[kernel(max_threads = 128, smem_spilling)]
pub unsafe fn spilling(out: *mut u32) {
    unsafe { *out = called(*out) }
}
