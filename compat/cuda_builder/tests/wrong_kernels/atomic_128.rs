use cuda_std::kernel;

unsafe extern "C" {
    #[link_name = "llvm.nvvm.atom.add.gen.i.sys.i128.p0"]
    fn add(p: *mut u128, v: u128) -> u128;
}

#[kernel]
pub unsafe fn wide(out: *mut u128) {
    unsafe { add(out, 1); }
}
