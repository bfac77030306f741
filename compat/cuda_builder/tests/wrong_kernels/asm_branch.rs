//@ arch = 80
use core::arch::asm;
use cuda_std::kernel;

#[kernel]
pub unsafe fn jump(out: *mut u32) {
    let x: u32;
    unsafe {
        asm!("mov.u32 {}, 1;", "bra OUTSIDE;", out(reg32) x);
        *out = x;
    }
}
