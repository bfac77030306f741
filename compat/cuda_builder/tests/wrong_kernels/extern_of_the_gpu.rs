// Builds: what a GPU brings along may be called.
use cuda_std::kernel;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut u32;
    fn free(p: *mut u32);
    fn memcpy(to: *mut u32, from: *const u32, n: usize) -> *mut u32;
}

#[kernel]
pub unsafe fn scratch(n: usize, out: *mut u32) {
    unsafe {
        let p = malloc(n);
        memcpy(p, out, n);
        *out = *p + 1;
        free(p);
    }
}
