use core::arch::asm;
use cuda_std::kernel;

#[kernel]
pub unsafe fn class(out: *mut u32) {
    let x: u32;
    unsafe {
        asm!("mov.u32 {}, 1;", out(reg) x);
        *out = x;
    }
}
