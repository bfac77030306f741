use cuda_std::kernel;

unsafe extern "C" {
    #[link_name = "llvm.x86.rdtsc"]
    fn rdtsc() -> u64;
}

#[kernel]
pub unsafe fn ticks(out: *mut u64) {
    unsafe { *out = rdtsc() }
}
