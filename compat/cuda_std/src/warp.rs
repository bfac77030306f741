//! Functions of a warp: the 32 threads of a block that the hardware schedules together (CUDA guide, "SIMT Architecture").

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Waits until all lanes named by `mask` (bit i for lane i) have come here, and orders their memory accesses among them
/// (PTX 9.7.13.2, `bar.warp.sync`).
///
/// # Safety
///
/// - The calling lane must be in `mask`.
/// - No lane of `mask` may have exited, and each must reach a `sync_warp` with the same `mask`.
#[gpu_only]
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the caller upholds what the instruction asks for.
    unsafe { asm!("bar.warp.sync {};", in(reg32) mask, options(nostack, preserves_flags)) };
}

/// The thread's lane in its warp, 0 to 31 (PTX 10.3, `%laneid`).
#[gpu_only]
#[inline(always)]
pub fn lane_id() -> u32 {
    let lane: u32;
    // SAFETY: this reads a special register that is fixed for the life of the thread.
    unsafe { asm!("mov.u32 {}, %laneid;", out(reg32) lane, options(pure, nomem, nostack, preserves_flags)) };
    lane
}
