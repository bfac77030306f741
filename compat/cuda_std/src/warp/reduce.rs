//! Reductions: one number of the numbers of all lanes of a warp (PTX 9.7.13.12, `redux.sync`).

use crate::gpu_only;
#[cfg(not(target_arch = "nvptx64"))]
use {super::lanes, cuda_sim::device::warp_function};
#[cfg(target_arch = "nvptx64")]
use {
    super::{WarpShuffleValue, warp_shuffle_idx, warp_shuffle_xor, warp_vote_ballot},
    crate::cfg::ComputeCapability,
    core::arch::asm,
};

/// How the numbers of a reduction are combined.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// Their sum, wrapping.
    Add,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The bits that all have.
    And,
    /// The bits that any has.
    Or,
    /// The bits that an odd number of them have.
    Xor,
}

/// Combines the values of all lanes of `mask` that have not exited. Every lane gets the same result.
///
/// One instruction since compute capability 8.0. For 7.5 it is a vote and shuffles: five of them where all 32 lanes
/// take part, else one for each lane that does. `op` should be a constant: at run time it is a jump.
///
/// # Safety
///
/// - The calling lane must be in `mask`.
/// - Each lane of `mask` that has not exited must reach this function with the same `mask` and the same `op`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: as the caller promises.
    unsafe { T::reduce(mask, value, op) }
}

/// A number that lanes can combine.
pub trait WarpReduceValue: Sized {
    /// What [`warp_reduce`] does.
    ///
    /// # Safety
    ///
    /// As there.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self;
}

/// One instruction; the literals make its operation and type.
#[cfg(target_arch = "nvptx64")]
macro_rules! redux {
    ($operation:literal $type:literal, $mask:ident, $value:ident) => {{
        let result;
        // SAFETY: the caller upholds what the instruction asks for, and it accesses no memory.
        unsafe {
            asm!(
                concat!("redux.sync.", $operation, $type, " {}, {}, {};"),
                out(reg32) result,
                in(reg32) $value,
                in(reg32) $mask,
                options(nomem, nostack, preserves_flags),
            );
        }
        result
    }};
}

/// Two values become one.
macro_rules! combine {
    ($op:ident, $a:ident, $b:ident) => {
        match $op {
            WarpReductionOp::Add => $a.wrapping_add($b),
            WarpReductionOp::Min => $a.min($b),
            WarpReductionOp::Max => $a.max($b),
            WarpReductionOp::And => $a & $b,
            WarpReductionOp::Or => $a | $b,
            WarpReductionOp::Xor => $a ^ $b,
        }
    };
}

/// Implements the trait for one type. The literal is PTX's name of the type where it calculates.
macro_rules! reduction {
    ($type:ident, $ptx:literal) => {
        impl WarpReduceValue for $type {
            #[gpu_only(sim = {
                // The upper bits of the exchanged word are lost again.
                warp_function("warp_reduce", mask, value as u64, |warp| {
                    let values = lanes(warp).map(|(_, value)| value as $type);
                    values.reduce(|a, b| combine!(op, a, b)).unwrap_or(value)
                })
            })]
            #[inline(always)]
            unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
                if const { !ComputeCapability::Compute80.is_there() } {
                    // SAFETY: as the caller promises.
                    return unsafe { by_shuffles(mask, value, |a, b| combine!(op, a, b)) };
                }
                match op {
                    WarpReductionOp::Add => redux!("add." $ptx, mask, value),
                    WarpReductionOp::Min => redux!("min." $ptx, mask, value),
                    WarpReductionOp::Max => redux!("max." $ptx, mask, value),
                    WarpReductionOp::And => redux!("and." "b32", mask, value),
                    WarpReductionOp::Or => redux!("or." "b32", mask, value),
                    WarpReductionOp::Xor => redux!("xor." "b32", mask, value),
                }
            }
        }
    };
}

reduction!(u32, "u32");
reduction!(i32, "s32");

/// The reduction where there is no instruction for it.
///
/// # Safety
///
/// As for [`warp_reduce`].
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn by_shuffles<T: WarpShuffleValue + Copy>(mask: u32, value: T, combine: impl Fn(T, T) -> T) -> T {
    // SAFETY: as the caller promises; the branches below are the same in all lanes of the mask.
    unsafe {
        let present = warp_vote_ballot(mask, true);
        if present == u32::MAX {
            let mut all = value;
            let mut distance = 16;
            while distance > 0 {
                all = combine(all, warp_shuffle_xor(mask, all, distance, 32).0);
                distance /= 2;
            }
            return all;
        }
        let mut all = warp_shuffle_idx(mask, value, present.trailing_zeros(), 32).0;
        let mut rest = present & (present - 1);
        while rest != 0 {
            all = combine(all, warp_shuffle_idx(mask, value, rest.trailing_zeros(), 32).0);
            rest &= rest - 1;
        }
        all
    }
}
