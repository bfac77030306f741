use core::arch::asm;
use cuda_std::kernel;

mod bits {
    pub fn reversed(x: u32) -> u32 {
        let y: u32;
        unsafe { core::arch::asm!("reverse.b32 {}, {};", out(reg32) y, in(reg32) x) };
        y
    }
}

#[kernel]
pub unsafe fn flipped(out: *mut u32) {
    unsafe { *out = bits::reversed(*out) }
}
