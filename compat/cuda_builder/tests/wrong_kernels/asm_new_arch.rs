//@ arch = 80
use core::arch::asm;
use cuda_std::kernel;

#[kernel]
pub unsafe fn elect(out: *mut u32) {
    let x: u32;
    unsafe {
        asm!("{{ .reg .pred p;", "elect.sync {}|p, 0xffffffff; }}", out(reg32) x);
        *out = x;
    }
}
