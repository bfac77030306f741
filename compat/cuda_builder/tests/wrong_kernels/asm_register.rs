//@ arch = 80
use core::arch::asm;
use cuda_std::kernel;

#[kernel]
pub unsafe fn lost(out: *mut u32) {
    let x: u32;
    unsafe {
        asm!("mov.u32 {}, %temp;", out(reg32) x);
        *out = x;
    }
}
