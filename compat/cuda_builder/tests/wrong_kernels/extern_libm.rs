use cuda_std::kernel;

unsafe extern "C" {
    fn lgammaf(x: f32) -> f32;
}

#[kernel]
pub unsafe fn gamma(x: f32, out: *mut f32) {
    unsafe { *out = lgammaf(x) }
}
