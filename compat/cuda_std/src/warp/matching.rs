//! Matches: which lanes of a warp have the same value (PTX 9.7.13.10, `match.sync`).

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use pastey::paste;
#[cfg(not(target_arch = "nvptx64"))]
use {super::lanes_where, cuda_sim::device::warp_function};

/// The lanes of `mask` that brought the same bits as this one: bit i for lane i, and 0 for a lane that is not in `mask`
/// or has exited.
///
/// Bits are compared, so a NaN matches the same NaN, and 0.0 does not match -0.0.
///
/// # Safety
///
/// - The calling lane must be in `mask`.
/// - Each lane of `mask` that has not exited must reach this function with the same `mask`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { T::match_any(mask, value) }
}

/// The lanes of `mask` that have not exited, if all of them brought the same bits; else nothing. Every lane gets the
/// same result.
///
/// Bits are compared, so a NaN matches the same NaN, and 0.0 does not match -0.0.
///
/// # Safety
///
/// As for [`warp_match_any`].
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: as the caller promises.
    unsafe { T::match_all(mask, value) }
}

/// A value of 32 or 64 bits that lanes can compare.
pub trait WarpMatchValue: Sized {
    /// What [`warp_match_any`] does.
    ///
    /// # Safety
    ///
    /// As there.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn match_any(mask: u32, value: Self) -> u32;

    /// What [`warp_match_all`] does.
    ///
    /// # Safety
    ///
    /// As there.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn match_all(mask: u32, value: Self) -> Option<u32>;
}

/// The two instructions for a width.
macro_rules! instructions {
    ($width:literal) => {
        paste! {
            /// # Safety
            ///
            /// As for [`warp_match_any`].
            #[gpu_only(sim = {
                warp_function("warp_match_any", mask, value.into(), |warp| {
                    lanes_where(warp, |other| other == u64::from(value))
                })
            })]
            #[inline(always)]
            unsafe fn [<match_any_ $width>](mask: u32, value: [<u $width>]) -> u32 {
                let lanes: u32;
                // SAFETY: the caller upholds what the instruction asks for, and it accesses no memory.
                unsafe {
                    asm!(
                        concat!("match.any.sync.b", $width, " {}, {}, {};"),
                        out(reg32) lanes,
                        in([<reg $width>]) value,
                        in(reg32) mask,
                        options(nomem, nostack, preserves_flags),
                    );
                }
                lanes
            }

            /// # Safety
            ///
            /// As for [`warp_match_all`].
            #[gpu_only(sim = {
                warp_function("warp_match_all", mask, value.into(), |warp| {
                    let same = lanes_where(warp, |other| other == u64::from(value));
                    (same == warp.mask).then_some(same)
                })
            })]
            #[inline(always)]
            unsafe fn [<match_all_ $width>](mask: u32, value: [<u $width>]) -> Option<u32> {
                let (lanes, all): (u32, u32);
                // SAFETY: the caller upholds what the instruction asks for, and it accesses no memory. The braces keep
                // the predicate register's name apart from every other use.
                unsafe {
                    asm!(
                        "{{",
                        ".reg .pred p;",
                        concat!("match.all.sync.b", $width, " {lanes}|p, {value}, {mask};"),
                        "selp.u32 {all}, 1, 0, p;",
                        "}}",
                        lanes = out(reg32) lanes,
                        value = in([<reg $width>]) value,
                        mask = in(reg32) mask,
                        all = out(reg32) all,
                        options(nomem, nostack, preserves_flags),
                    );
                }
                if all != 0 { Some(lanes) } else { None }
            }
        }
    };
}

instructions!(32);
instructions!(64);

macro_rules! values {
    ($($type:ident $width:literal |$value:ident| $bits:expr;)*) => {$(
        paste! {
            impl WarpMatchValue for $type {
                #[inline(always)]
                unsafe fn match_any(mask: u32, $value: Self) -> u32 {
                    // SAFETY: as the caller promises.
                    unsafe { [<match_any_ $width>](mask, $bits) }
                }

                #[inline(always)]
                unsafe fn match_all(mask: u32, $value: Self) -> Option<u32> {
                    // SAFETY: as the caller promises.
                    unsafe { [<match_all_ $width>](mask, $bits) }
                }
            }
        }
    )*};
}

values! {
    u32 32 |value| value;
    i32 32 |value| value as u32;
    f32 32 |value| value.to_bits();
    u64 64 |value| value;
    i64 64 |value| value as u64;
    f64 64 |value| value.to_bits();
}
