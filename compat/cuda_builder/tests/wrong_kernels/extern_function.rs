use cuda_std::kernel;

unsafe extern "C" {
    fn cublas_axpy(n: i32, x: *const f32) -> i32;
}

mod solver {
    /// Not inlined, so that the kernel does not call it by itself.
    #[inline(never)]
    pub unsafe fn step(x: *const f32) -> i32 {
        unsafe { super::cublas_axpy(1, x) }
    }
}

#[kernel]
pub unsafe fn axpy(x: *const f32, out: *mut i32) {
    unsafe { *out = solver::step(x) }
}
