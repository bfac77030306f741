//@ arch = 80
use core::arch::asm;
use cuda_std::kernel;

#[kernel]
pub unsafe fn next(out: *mut u32) {
    let x: u32;
    unsafe {
        asm!("mov.u32 {0}, 1", "add.u32 {0}, {0}, 1;", out(reg32) x);
        *out = x;
    }
}
