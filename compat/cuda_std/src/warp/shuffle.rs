//! Shuffles: each lane of a warp reads what another one brought (PTX 9.7.9.6, `shfl.sync`).

use crate::{bf16, f16, gpu_only};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use cuda_sim::device::warp_function;
use pastey::paste;

/// The four functions.
macro_rules! shuffles {
    ($($(#[$doc:meta])* $name:ident($operand:ident) = $mode:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// `width` splits the warp into segments of that many lanes: 1, 2, 4, 8, 16 or 32. Where the source is out of
        /// range the lane gets its own value back, and `false`; else the source's value, and `true`.
        ///
        /// A value of up to 32 bits is one instruction, one of 64 bits two, one of 128 bits four.
        ///
        /// # Panics
        ///
        /// Panics if `width` is none of these.
        ///
        /// # Safety
        ///
        /// - The calling lane must be in `mask`.
        /// - Each lane of `mask` that has not exited must reach this function with the same `mask`.
        ///
        /// The value from a lane that is not in `mask` or has exited is undefined; nothing may depend on it.
        ///
        /// # On the host
        ///
        /// That value is different in each lane and run, and reading it is a fault (`AbsentLane`).
        #[inline(always)]
        #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
        pub unsafe fn $name<T: WarpShuffleValue>(mask: u32, value: T, $operand: u32, width: u32) -> (T, bool) {
            // SAFETY: as the caller promises.
            unsafe { T::shuffle(WarpShuffleMode::$mode, mask, value, $operand, width) }
        }
    )*};
}

shuffles! {
    /// Reads from lane `idx` of the segment. Of `idx` the low bits count that number the segment's lanes, so the source
    /// is always in range.
    warp_shuffle_idx(idx) = Idx;
    /// Reads from the lane `delta` (of which the low five bits count) before this one. A lane before the segment is out
    /// of range.
    warp_shuffle_up(delta) = Up;
    /// Reads from the lane `delta` (of which the low five bits count) after this one. A lane after the segment is out
    /// of range.
    warp_shuffle_down(delta) = Down;
    /// Reads from the lane whose number differs from this one's in the bits of `lane_mask` (of which the low five
    /// count). A lane after the segment is out of range, one before it is not.
    warp_shuffle_xor(lane_mask) = Xor;
}

/// A value that lanes can exchange.
pub trait WarpShuffleValue: Sized {
    /// What the four functions do. `mode` must be a constant, or every mode is in the code.
    ///
    /// # Safety
    ///
    /// As there.
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, value: Self, b: u32, width: u32) -> (Self, bool);
}

/// How a lane finds its source.
#[doc(hidden)]
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarpShuffleMode {
    /// The lane of that number.
    Idx = 0,
    /// So many lanes before.
    Up = 1,
    /// So many lanes after.
    Down = 2,
    /// The lane whose number differs in these bits.
    Xor = 3,
}

/// The instruction's third operand, `c`: the bits of a lane's number that name its segment, and to which lane of it
/// sources are limited.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn segments(mode: WarpShuffleMode, width: u32) -> u32 {
    assert!(
        width.is_power_of_two() && width <= 32,
        "the width of a shuffle is a power of two up to 32"
    );
    let limit = match mode {
        WarpShuffleMode::Up => 0,
        _ => 31,
    };
    (32 - width) << 8 | limit
}

/// The source of `lane` and whether it is in range, by the instruction's rules; `b` and `c` are its operands.
#[cfg(not(target_arch = "nvptx64"))]
fn source(mode: WarpShuffleMode, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (offset, limit, segment) = (b & 31, c & 31, c >> 8 & 31);
    let first = lane & segment;
    let last = first | limit & !segment;
    let (source, in_range) = match mode {
        WarpShuffleMode::Idx => {
            let source = first | offset & !segment;
            (source, source <= last)
        }
        // `last` is the segment's first lane here.
        WarpShuffleMode::Up => (lane.wrapping_sub(offset), lane >= last + offset),
        WarpShuffleMode::Down => (lane + offset, lane + offset <= last),
        WarpShuffleMode::Xor => (lane ^ offset, lane ^ offset <= last),
    };
    (if in_range { source } else { lane }, in_range)
}

/// Shuffles 64 bits at once.
///
/// # Safety
///
/// As for the functions above.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
unsafe fn shuffle_64(mode: WarpShuffleMode, mask: u32, value: u64, b: u32, width: u32) -> (u64, bool) {
    let c = segments(mode, width);
    let name = match mode {
        WarpShuffleMode::Idx => "warp_shuffle_idx",
        WarpShuffleMode::Up => "warp_shuffle_up",
        WarpShuffleMode::Down => "warp_shuffle_down",
        WarpShuffleMode::Xor => "warp_shuffle_xor",
    };
    warp_function(name, mask, value, |warp| {
        let (source, in_range) = source(mode, warp.lane, b, c);
        (warp.of(source), in_range)
    })
}

/// Shuffles 32 bits.
///
/// # Safety
///
/// As for the functions above.
#[gpu_only(sim = {
    // SAFETY: as the caller promises.
    let (value, in_range) = unsafe { shuffle_64(mode, mask, value.into(), b, width) };
    (value as u32, in_range)
})]
#[inline(always)]
unsafe fn shuffle_32(mode: WarpShuffleMode, mask: u32, value: u32, b: u32, width: u32) -> (u32, bool) {
    let c = segments(mode, width);
    let (result, in_range): (u32, u32);
    macro_rules! shuffle {
        ($mode:literal) => {
            // SAFETY: the caller upholds what the instruction asks for, and it accesses no memory. The braces keep the
            // predicate register's name apart from every other use.
            unsafe {
                asm!(
                    "{{",
                    ".reg .pred p;",
                    concat!("shfl.sync.", $mode, ".b32 {result}|p, {value}, {b}, {c}, {mask};"),
                    "selp.u32 {in_range}, 1, 0, p;",
                    "}}",
                    result = out(reg32) result,
                    value = in(reg32) value,
                    b = in(reg32) b,
                    c = in(reg32) c,
                    mask = in(reg32) mask,
                    in_range = out(reg32) in_range,
                    options(nomem, nostack, preserves_flags),
                )
            }
        };
    }
    match mode {
        WarpShuffleMode::Idx => shuffle!("idx"),
        WarpShuffleMode::Up => shuffle!("up"),
        WarpShuffleMode::Down => shuffle!("down"),
        WarpShuffleMode::Xor => shuffle!("bfly"),
    }
    (result, in_range != 0)
}

/// Shuffles 64 bits, in two instructions.
///
/// # Safety
///
/// As for the functions above.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn shuffle_64(mode: WarpShuffleMode, mask: u32, value: u64, b: u32, width: u32) -> (u64, bool) {
    // SAFETY: as the caller promises.
    let ((low, in_range), (high, _)) = unsafe {
        (
            shuffle_32(mode, mask, value as u32, b, width),
            shuffle_32(mode, mask, (value >> 32) as u32, b, width),
        )
    };
    (u64::from(high) << 32 | u64::from(low), in_range)
}

/// Shuffles 128 bits, as two halves.
///
/// # Safety
///
/// As for the functions above.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
unsafe fn shuffle_128(mode: WarpShuffleMode, mask: u32, value: u128, b: u32, width: u32) -> (u128, bool) {
    // SAFETY: as the caller promises.
    let ((low, in_range), (high, _)) = unsafe {
        (
            shuffle_64(mode, mask, value as u64, b, width),
            shuffle_64(mode, mask, (value >> 64) as u64, b, width),
        )
    };
    (u128::from(high) << 64 | u128::from(low), in_range)
}

/// Implements the trait: as which word a value travels, the word of a value, and the value of a word.
macro_rules! values {
    ($($type:ident $width:literal |$value:ident| $word:expr, |$bits:ident| $back:expr;)*) => {$(
        paste! {
            impl WarpShuffleValue for $type {
                #[inline(always)]
                unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, $value: Self, b: u32, width: u32) -> (Self, bool) {
                    // SAFETY: as the caller promises.
                    let ($bits, in_range) = unsafe { [<shuffle_ $width>](mode, mask, $word, b, width) };
                    ($back, in_range)
                }
            }
        }
    )*};
}

values! {
    u8 32 |value| value.into(), |bits| bits as u8;
    i8 32 |value| value as u32, |bits| bits as i8;
    u16 32 |value| value.into(), |bits| bits as u16;
    i16 32 |value| value as u32, |bits| bits as i16;
    f16 32 |value| value.to_bits().into(), |bits| f16::from_bits(bits as u16);
    bf16 32 |value| value.to_bits().into(), |bits| bf16::from_bits(bits as u16);
    u32 32 |value| value, |bits| bits;
    i32 32 |value| value as u32, |bits| bits as i32;
    f32 32 |value| value.to_bits(), |bits| f32::from_bits(bits);
    u64 64 |value| value, |bits| bits;
    i64 64 |value| value as u64, |bits| bits as i64;
    f64 64 |value| value.to_bits(), |bits| f64::from_bits(bits);
    u128 128 |value| value, |bits| bits;
    i128 128 |value| value as u128, |bits| bits as i128;
}

#[cfg(test)]
mod tests {
    use super::WarpShuffleMode::{self, *};
    use super::{segments, source};

    /// The sources of all lanes, and the mask of those in range.
    fn sources(mode: WarpShuffleMode, b: u32, width: u32) -> (Vec<u32>, u32) {
        let c = segments(mode, width);
        let all = (0..32).map(|lane| source(mode, lane, b, c));
        let in_range = all
            .clone()
            .enumerate()
            .map(|(lane, (_, ok))| u32::from(ok) << lane)
            .sum();
        (all.map(|(source, _)| source).collect(), in_range)
    }

    fn lanes(source: impl Fn(u32) -> u32) -> Vec<u32> {
        (0..32).map(source).collect()
    }

    #[test]
    fn sources_and_ranges_are_the_instruction_s() {
        // One segment. Lanes without a source keep their own value.
        std::assert_eq!(sources(Idx, 5, 32), (lanes(|_| 5), u32::MAX));
        std::assert_eq!(
            sources(Up, 3, 32),
            (lanes(|l| if l < 3 { l } else { l - 3 }), u32::MAX << 3)
        );
        std::assert_eq!(
            sources(Down, 3, 32),
            (lanes(|l| if l > 28 { l } else { l + 3 }), u32::MAX >> 3)
        );
        std::assert_eq!(sources(Xor, 1, 32), (lanes(|l| l ^ 1), u32::MAX));
        // Of the operand five bits count.
        std::assert_eq!(sources(Idx, 37, 32), sources(Idx, 5, 32));
        std::assert_eq!(sources(Down, 32, 32), (lanes(|l| l), u32::MAX));
        // Segments of 8.
        std::assert_eq!(sources(Idx, 10, 8), (lanes(|l| l / 8 * 8 + 2), u32::MAX));
        std::assert_eq!(
            sources(Up, 2, 8),
            (lanes(|l| if l % 8 < 2 { l } else { l - 2 }), 0xfcfc_fcfc)
        );
        std::assert_eq!(
            sources(Down, 2, 8),
            (lanes(|l| if l % 8 > 5 { l } else { l + 2 }), 0x3f3f_3f3f)
        );
        // Beyond the segment, an exclusive or reaches those before and not those after.
        std::assert_eq!(
            sources(Xor, 8, 8),
            (lanes(|l| if l / 8 % 2 == 1 { l - 8 } else { l }), 0xff00_ff00)
        );
        // Segments of 1.
        std::assert_eq!(sources(Down, 1, 1), (lanes(|l| l), 0));
    }

    #[test]
    #[should_panic(expected = "power of two up to 32")]
    fn a_width_that_is_no_power_of_two_is_refused() {
        segments(Idx, 12);
    }

    #[test]
    #[should_panic(expected = "power of two up to 32")]
    fn a_width_beyond_the_warp_is_refused() {
        segments(Idx, 64);
    }
}
