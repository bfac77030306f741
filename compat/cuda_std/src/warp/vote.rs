//! Votes: what a predicate is in the lanes of a warp (PTX 9.7.13.9, `vote.sync`).

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use {super::lanes_where, cuda_sim::device::warp_function};

/// A vote whose result is a predicate.
#[cfg(target_arch = "nvptx64")]
macro_rules! vote {
    ($mode:literal, $mask:ident, $predicate:ident) => {{
        let holds: u32;
        // SAFETY: the caller upholds what the instruction asks for, and it accesses no memory. The braces keep the
        // predicate registers' names apart from every other use.
        unsafe {
            asm!(
                "{{",
                ".reg .pred p, q;",
                "setp.ne.u32 p, {predicate}, 0;",
                concat!("vote.sync.", $mode, ".pred q, p, {mask};"),
                "selp.u32 {holds}, 1, 0, q;",
                "}}",
                predicate = in(reg32) u32::from($predicate),
                mask = in(reg32) $mask,
                holds = out(reg32) holds,
                options(nomem, nostack, preserves_flags),
            );
        }
        holds != 0
    }};
}

/// Whether `predicate` is true in all lanes of `mask` that have not exited. Every lane gets the same result.
///
/// # Safety
///
/// - The calling lane must be in `mask`.
/// - Each lane of `mask` that has not exited must reach this function with the same `mask`.
#[gpu_only(sim = {
    warp_function("warp_vote_all", mask, predicate.into(), |warp| lanes_where(warp, |vote| vote != 0) == warp.mask)
})]
#[inline(always)]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    vote!("all", mask, predicate)
}

/// Whether `predicate` is true in any lane of `mask`. Every lane gets the same result.
///
/// # Safety
///
/// As for [`warp_vote_all`].
#[gpu_only(sim = {
    warp_function("warp_vote_any", mask, predicate.into(), |warp| lanes_where(warp, |vote| vote != 0) != 0)
})]
#[inline(always)]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    vote!("any", mask, predicate)
}

/// The lanes of `mask` in which `predicate` is true: bit i for lane i, and 0 for a lane that is not in `mask` or has
/// exited. Every lane gets the same result.
///
/// # Safety
///
/// As for [`warp_vote_all`].
#[gpu_only(sim = {
    warp_function("warp_vote_ballot", mask, predicate.into(), |warp| lanes_where(warp, |vote| vote != 0))
})]
#[inline(always)]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    let lanes: u32;
    // SAFETY: the caller upholds what the instruction asks for, and it accesses no memory. The braces keep the
    // predicate register's name apart from every other use.
    unsafe {
        asm!(
            "{{",
            ".reg .pred p;",
            "setp.ne.u32 p, {predicate}, 0;",
            "vote.sync.ballot.b32 {lanes}, p, {mask};",
            "}}",
            predicate = in(reg32) u32::from(predicate),
            mask = in(reg32) mask,
            lanes = out(reg32) lanes,
            options(nomem, nostack, preserves_flags),
        );
    }
    lanes
}
