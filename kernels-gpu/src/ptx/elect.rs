//! `elect.sync`: one lane of a warp is chosen (PTX ISA, "Parallel Synchronization and Communication Instructions:
//! elect.sync").
//!
//! For what one lane does for all, such as a TMA load. The compiler knows of the predicate that it holds in one lane,
//! which it does not of `lane_id() == 0`.
//!
//! Exists from `sm_90` on.

/// Whether this lane is the one that is chosen of `mask` (bit i for lane i). Waits until all lanes of the mask are
/// here; orders no memory.
///
/// The ISA says no more than that for one mask it is always the same lane. On the host it is the lowest one that has
/// not exited.
///
/// # Safety
/// This lane is in `mask`, and every lane of `mask` executes this with the same mask.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn elect(mask: u32) -> bool {
    #[cfg(target_arch = "nvptx64")]
    {
        let chosen: u32;
        // SAFETY: the caller's promise; it accesses no memory. The braces keep the predicate's name apart from every
        // other use.
        unsafe {
            core::arch::asm!(
                "{{",
                ".reg .pred p;",
                "elect.sync _|p, {mask};",
                "selp.u32 {chosen}, 1, 0, p;",
                "}}",
                mask = in(reg32) mask,
                chosen = out(reg32) chosen,
                options(nomem, nostack, preserves_flags),
            );
        }
        chosen != 0
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        // SAFETY: the caller's promise.
        let lanes = unsafe { cuda_std::warp::warp_vote_ballot(mask, true) };
        lanes.trailing_zeros() == cuda_std::warp::lane_id()
    }
}
