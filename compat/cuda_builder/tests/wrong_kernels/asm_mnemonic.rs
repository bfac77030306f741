//@ arch = 80
use core::arch::asm;
use cuda_std::kernel;

#[kernel]
pub unsafe fn flip(out: *mut u32) {
    let x: u32;
    unsafe {
        asm!("flip.b32 {}, 1;", out(reg32) x);
        *out = x;
    }
}
