//@ arch = 80
use core::arch::asm;
use cuda_std::kernel;

#[kernel]
pub unsafe fn wide(out: *mut u32) {
    let x: u32;
    unsafe {
        asm!(
            "mov.b32 {}, 0;",
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [0], [0], 128;",
            out(reg32) x
        );
        *out = x;
    }
}
