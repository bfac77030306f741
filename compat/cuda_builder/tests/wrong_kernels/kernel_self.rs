use cuda_std::kernel;

pub struct Matrix;
impl Matrix {
    #[kernel]
    pub unsafe fn clear(&self, out: *mut u32) {
        unsafe { *out = 0 }
    }
}
