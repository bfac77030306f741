//@ arch = 90
use core::arch::asm;
use cuda_std::kernel;

#[kernel]
pub unsafe fn fence(out: *mut u32) {
    let x: u32;
    unsafe {
        asm!("mov.u32 {}, 1;", "wgmma.fence.sync.aligned;", out(reg32) x);
        *out = x;
    }
}
