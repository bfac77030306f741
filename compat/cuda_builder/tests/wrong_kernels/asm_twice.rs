use core::arch::asm;
use cuda_std::kernel;

#[inline(always)]
fn one() -> u32 {
    let x: u32;
    unsafe { asm!(".reg .b32 temp;", "mov.u32 temp, %laneid;", "mov.u32 {}, temp;", out(reg32) x) };
    x
}

#[kernel]
pub unsafe fn twice(out: *mut u32) {
    unsafe { *out = one() + one() }
}
