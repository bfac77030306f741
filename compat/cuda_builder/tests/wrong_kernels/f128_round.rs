use cuda_std::kernel;

unsafe extern "C" {
    #[link_name = "llvm.sin.f128"]
    fn sin(x: f128) -> f128;
}

#[kernel]
pub unsafe fn quad(x: f64, out: *mut f64) {
    unsafe { *out = sin(x as f128) as f64 }
}
