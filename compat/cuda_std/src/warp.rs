//! Functions of a warp: the 32 threads of a block that the hardware schedules together (CUDA guide, "SIMT
//! Architecture").
//!
//! Beyond [`sync_warp`] and [`lane_id`], which are all that the published 0.2.2 has, there are the functions of its
//! later development under their names: votes ([`warp_vote_all`], [`warp_vote_any`], [`warp_vote_ballot`]), matches
//! ([`warp_match_any`], [`warp_match_all`]), reductions ([`warp_reduce`]) and shuffles ([`warp_shuffle_idx`],
//! [`warp_shuffle_up`], [`warp_shuffle_down`], [`warp_shuffle_xor`]); and the masks of lanes around this one.
//!
//! # Meeting
//!
//! These functions name the lanes that take part by a mask, bit i for lane i. A lane waits until all lanes of its mask
//! that have not exited are at the same function with the same mask, then all go on with what they brought. None but
//! [`sync_warp`] orders memory accesses.
//!
//! On the host they work in a launch of the simulator, where a mask without the calling lane, or lanes that never come,
//! are faults.

mod matching;
mod reduce;
mod shuffle;
mod vote;

pub use matching::{WarpMatchValue, warp_match_all, warp_match_any};
pub use reduce::{WarpReduceValue, WarpReductionOp, warp_reduce};
#[doc(hidden)]
pub use shuffle::WarpShuffleMode;
pub use shuffle::{WarpShuffleValue, warp_shuffle_down, warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor};
pub use vote::{warp_vote_all, warp_vote_any, warp_vote_ballot};

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::device::{self, WarpValues};

/// Waits until all lanes named by `mask` (bit i for lane i) have come here, and orders their memory accesses among them
/// (PTX 9.7.13.2, `bar.warp.sync`).
///
/// # Safety
///
/// - The calling lane must be in `mask`.
/// - No lane of `mask` may have exited, and each must reach a `sync_warp` with the same `mask`.
#[gpu_only(sim = device::sync_warp)]
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the caller upholds what the instruction asks for.
    unsafe { asm!("bar.warp.sync {};", in(reg32) mask, options(nostack, preserves_flags)) };
}

/// The thread's lane in its warp, 0 to 31 (PTX 10.3, `%laneid`).
#[gpu_only(sim = device::lane_id)]
#[inline(always)]
pub fn lane_id() -> u32 {
    let lane: u32;
    // SAFETY: this reads a special register that is fixed for the life of the thread.
    unsafe { asm!("mov.u32 {}, %laneid;", out(reg32) lane, options(pure, nomem, nostack, preserves_flags)) };
    lane
}

/// The lanes of the warp that execute this together (PTX 9.7.13.11, `activemask`).
///
/// Which these are is the hardware's choice: lanes that took the same branch need not be together. To agree on the
/// lanes that take part in something, use [`warp_vote_ballot`].
///
/// # On the host
///
/// As many as possible: all that reach the call before one of the others must wait for them.
#[gpu_only(sim = device::active_mask)]
#[inline(always)]
pub fn activemask() -> u32 {
    let lanes: u32;
    // SAFETY: this accesses no memory. It is not `pure`: every call must look anew.
    unsafe { asm!("activemask.b32 {};", out(reg32) lanes, options(nomem, nostack, preserves_flags)) };
    lanes
}

/// Functions that return a mask of lanes by their place relative to this one.
macro_rules! lane_masks {
    ($($(#[$doc:meta])* $name:ident = $register:literal, |$lane:ident| $host:expr;)*) => {$(
        $(#[$doc])*
        #[gpu_only(sim = {
            let $lane = lane_id();
            $host
        })]
        #[inline(always)]
        pub fn $name() -> u32 {
            let lanes: u32;
            // SAFETY: this reads a special register that is fixed for the life of the thread.
            unsafe {
                asm!(
                    concat!("mov.u32 {}, ", $register, ";"),
                    out(reg32) lanes,
                    options(pure, nomem, nostack, preserves_flags),
                )
            };
            lanes
        }
    )*};
}

lane_masks! {
    /// The mask of this lane (PTX 10.18, `%lanemask_eq`).
    lanemask_eq = "%lanemask_eq", |lane| 1 << lane;
    /// The mask of this lane and those before it (PTX 10.19, `%lanemask_le`).
    lanemask_le = "%lanemask_le", |lane| u32::MAX >> (31 - lane);
    /// The mask of the lanes before this one (PTX 10.20, `%lanemask_lt`).
    lanemask_lt = "%lanemask_lt", |lane| (1 << lane) - 1;
    /// The mask of this lane and those after it (PTX 10.21, `%lanemask_ge`).
    lanemask_ge = "%lanemask_ge", |lane| u32::MAX << lane;
    /// The mask of the lanes after this one (PTX 10.22, `%lanemask_gt`).
    lanemask_gt = "%lanemask_gt", |lane| u32::MAX << lane << 1;
}

/// What the lanes brought that meet in an exchange, each with its number.
#[cfg(not(target_arch = "nvptx64"))]
fn lanes(warp: &WarpValues) -> impl Iterator<Item = (u32, u64)> + '_ {
    let numbered = (0..).zip(warp.values.iter().copied());
    numbered.filter(|(lane, _)| warp.mask >> lane & 1 == 1)
}

/// The mask of the lanes whose value fits.
#[cfg(not(target_arch = "nvptx64"))]
fn lanes_where(warp: &WarpValues, fits: impl Fn(u64) -> bool) -> u32 {
    lanes(warp)
        .filter(|&(_, value)| fits(value))
        .map(|(lane, _)| 1 << lane)
        .sum()
}
