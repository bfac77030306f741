use cuda_std::kernel;

unsafe extern "C" {
    static ERROR_CODE: i32;
}

#[kernel]
pub unsafe fn report(out: *mut i32) {
    unsafe { *out = ERROR_CODE }
}
