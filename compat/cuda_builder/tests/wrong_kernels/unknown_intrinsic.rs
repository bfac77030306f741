use cuda_std::kernel;

unsafe extern "C" {
    #[link_name = "llvm.nvvm.no.such.thing"]
    fn no_such_thing() -> u32;
}

#[kernel]
pub unsafe fn ticks(out: *mut u32) {
    unsafe { *out = no_such_thing() }
}
