//@ arch = 80
use core::arch::asm;
use cuda_std::kernel;

#[kernel]
pub unsafe fn scoped(out: *mut u32) {
    let x: u32;
    unsafe {
        asm!("{{ .reg .b32 t;", "mov.u32 t, 1;", "mov.u32 {}, t;", out(reg32) x);
        *out = x;
    }
}
