use cuda_std::kernel;

unsafe extern "C" {
    fn puts(text: *const u8) -> i32;
}

#[kernel]
pub unsafe fn hello() {
    unsafe { puts(c"hello".as_ptr().cast()) };
}
