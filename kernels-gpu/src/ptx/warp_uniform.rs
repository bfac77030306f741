//! A value that is the same in all lanes, in a form in which `ptxas` knows it (PTX ISA, "Data Movement and Conversion
//! Instructions: shfl.sync").
//!
//! What depends on the thread's number may differ from lane to lane, also `thread_idx / 32`, for all that `ptxas`
//! knows: addresses that are computed from it stay in vector registers, and an instruction that takes uniform ones
//! (`wgmma`, TMA) waits while they are moved, each time. A shuffle from one lane ends that.

/// The value of lane 0.
///
/// # Safety
/// All 32 lanes of the warp execute this together.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_uniform(value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let first: u32;
        // Lane, segment and mask as numbers, not in registers as the shuffles of `cuda_std` have them: it is by these
        // that `ptxas` knows the result. SAFETY: reads one register of each lane.
        unsafe {
            core::arch::asm!(
                "shfl.sync.idx.b32 {first}, {value}, 0, 31, 0xffffffff;",
                first = out(reg32) first,
                value = in(reg32) value,
                options(nomem, nostack, preserves_flags),
            );
        }
        first
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: the caller's promise.
    unsafe {
        cuda_std::warp::warp_shuffle_idx(u32::MAX, value, 0, 32).0
    }
}
