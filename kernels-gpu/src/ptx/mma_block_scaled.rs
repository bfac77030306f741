//! `mma.sync` of block-scaled operands: a warp multiplies matrices of 4 or 8 bits whose blocks along K have scales (PTX
//! ISA, "Block Scaling for mma.sync", "Matrix Fragments for mma.m16n8k64", ".. mma.m16n8k32").
//!
//! `D = A B + C`: A is 16 x k, B k x 8, 32 bytes along K in every format, C and D 16 x 8 of f32. Each lane holds a
//! fragment of each; with `group = lane / 4` and `part = lane % 4`, bytes along K of a register:
//!
//! ```text
//! A (row, byte)      register 0           register 1              register 2                register 3
//!                    group, 4 part ..     group + 8, 4 part ..    group, 16 + 4 part ..     group + 8, 16 + 4 part ..
//! B (byte, column)   register 0           register 1
//!                    4 part .., group     16 + 4 part .., group
//! C (row, column)    as of every m16n8: `mma::c_place`
//! ```
//!
//! [`ldmatrix::load`](super::ldmatrix::load) of K-major rows gives these fragments, as it does those of 16-bit
//! elements: what it moves is bytes.
//!
//! # Scales
//!
//! A register holds four scales of a row of A or of a column of B, that of the smallest k in the lowest byte. Of its
//! quad of lanes the instruction reads two for A and one for B, which it names:
//!
//! ```text
//! A   lanes half 0: part 0 has row `group`, part 1 row `group + 8`; half 1: parts 2 and 3
//! B   lane `part` has column `group`, for the part that is named
//! ```
//!
//! (CUTLASS, `mma_traits_sm120.hpp`, has the same layouts.) So one register serves two instructions for A, 32 rows, and
//! four for B, 32 columns.
//! [`ScaleLayout`](tilewright_contract::ScaleLayout) keeps them where one load of a lane brings them. A first byte is
//! named, too: of NVFP4 all four bytes are used, of MXFP4 two, of MXFP8 one.
//!
//! # Rounding
//!
//! On the host the sum over K of one instruction is exact but for C: products and their scales in f64, one rounding to
//! f32 when C is added. The ISA leaves order and rounding to the hardware. Results are equal where every partial sum is
//! exact in f32.
//!
//! Exists on 12.x alone (`sm_120f`), and was never run on hardware here.

use tilewright_contract::BlockFormat;

use super::mma::{FragmentA, FragmentB, FragmentC};

/// Which scales of its registers an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScaleSelector {
    /// The first byte, of A and of B: 0 for NVFP4; 0 or 2 for MXFP4; 0 to 3 for MXFP8.
    pub byte: u16,
    /// The half of the quad that has A's scales: 0 or 1.
    pub half: u16,
    /// The lane of the quad that has B's scales: 0 to 3.
    pub part: u16,
}

/// A block-scaled format as a type.
pub trait Format {
    /// The format.
    const FORMAT: BlockFormat;

    /// `c += a * b` by the warp, with scales `scale_a` and `scale_b`, of which `selector` names those to read:
    /// `mma.sync.aligned.kind::K.block_scale.scale_vec::SX`.
    ///
    /// # Safety
    /// All 32 lanes of the warp execute this together, with the same selector, which is one of the format.
    unsafe fn mma(c: &mut FragmentC, a: FragmentA, b: FragmentB, scale_a: u32, scale_b: u32, selector: ScaleSelector);
}

macro_rules! formats {
    ($($(#[$doc:meta])* $type:ident: $format:ident, $instruction:literal;)*) => {$(
        $(#[$doc])*
        pub struct $type;

        impl Format for $type {
            const FORMAT: BlockFormat = BlockFormat::$format;

            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn mma(
                c: &mut FragmentC,
                a: FragmentA,
                b: FragmentB,
                scale_a: u32,
                scale_b: u32,
                selector: ScaleSelector,
            ) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller's promise. Not `pure`: it stays where all lanes are.
                unsafe {
                    core::arch::asm!(
                        concat!(
                            "mma.sync.aligned.", $instruction, " ",
                            "{{{c0}, {c1}, {c2}, {c3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, ",
                            "{{{c0}, {c1}, {c2}, {c3}}}, {sa}, {{{byte}, {half}}}, {sb}, {{{byte}, {part}}};"
                        ),
                        c0 = inout(reg32) c[0],
                        c1 = inout(reg32) c[1],
                        c2 = inout(reg32) c[2],
                        c3 = inout(reg32) c[3],
                        a0 = in(reg32) a[0],
                        a1 = in(reg32) a[1],
                        a2 = in(reg32) a[2],
                        a3 = in(reg32) a[3],
                        b0 = in(reg32) b[0],
                        b1 = in(reg32) b[1],
                        sa = in(reg32) scale_a,
                        sb = in(reg32) scale_b,
                        byte = in(reg16) selector.byte,
                        half = in(reg16) selector.half,
                        part = in(reg16) selector.part,
                        options(nomem, nostack, preserves_flags),
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                host::mma(Self::FORMAT, c, a, b, [scale_a, scale_b], selector);
            }
        }
    )*};
}

formats! {
    /// [`BlockFormat::Nvfp4`].
    Nvfp4: Nvfp4, "kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3";
    /// [`BlockFormat::Mxfp4`].
    Mxfp4: Mxfp4, "kind::mxf4nvf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0";
    /// [`BlockFormat::Mxfp8`].
    Mxfp8: Mxfp8, "kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0";
}

/// The product on the host.
#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use cuda_views::matrix::warp_gather;
    use tilewright_contract::BlockFormat;

    use super::{FragmentA, FragmentB, FragmentC, ScaleSelector};
    use crate::ptx::mma::c_place;

    /// The 32 bytes along K of a row of A or a column of B, and the register with its scales.
    #[derive(Clone, Copy, Default)]
    struct Line {
        bytes: [u8; 32],
        scales: [u8; 4],
    }

    /// Exchanges fragments and scales with the warp, and adds to this lane's part of C.
    #[track_caller]
    pub(super) fn mma(
        format: BlockFormat,
        c: &mut FragmentC,
        a: FragmentA,
        b: FragmentB,
        [scale_a, scale_b]: [u32; 2],
        selector: ScaleSelector,
    ) {
        let two = |[low, high]: [u32; 2]| u64::from(low) | u64::from(high) << 32;
        let lane = cuda_std::warp::lane_id() as usize;
        let (group, part) = (lane / 4, lane % 4);
        // Rows `group` and `group + 8` of A, the two columns of B that this lane's elements are of.
        let mut rows = [Line::default(); 2];
        let mut columns = [Line::default(); 2];
        warp_gather([two([a[0], a[1]]), two([a[2], a[3]]), two(b)], |words| {
            let register = |holder: usize, number: usize| (words[holder][number / 2] >> (number % 2 * 32)) as u32;
            for (half, from) in (0..2).flat_map(|half| (0..4).map(move |from| (half, from))) {
                let at = 16 * half + 4 * from;
                let place = |line: &mut Line, holder: usize, number: usize| {
                    line.bytes[at..at + 4].copy_from_slice(&register(holder, number).to_le_bytes());
                };
                for (which, row) in rows.iter_mut().enumerate() {
                    place(row, 4 * group + from, which + 2 * half);
                }
                for (which, column) in columns.iter_mut().enumerate() {
                    place(column, 4 * (2 * part + which) + from, 4 + half);
                }
            }
        });
        warp_gather([two([scale_a, scale_b]), 0, 0], |words| {
            for (which, row) in rows.iter_mut().enumerate() {
                let holder = 4 * group + 2 * usize::from(selector.half) + which;
                row.scales = (words[holder][0] as u32).to_le_bytes();
            }
            for (which, column) in columns.iter_mut().enumerate() {
                let holder = 4 * (2 * part + which) + usize::from(selector.part);
                column.scales = ((words[holder][0] >> 32) as u32).to_le_bytes();
            }
        });
        let first = usize::from(selector.byte);
        for (number, sum) in (0..).zip(c.iter_mut()) {
            let (row, column) = c_place(lane as u32, number);
            let (row, column) = (&rows[row as usize / 8], &columns[column as usize % 2]);
            let mut exact = f64::from(*sum);
            for number in 0..format.mma_scales() as usize {
                let of_block = format.block() as usize;
                let products: f64 = (number * of_block..(number + 1) * of_block)
                    .map(|k| element(format, &row.bytes, k) * element(format, &column.bytes, k))
                    .sum();
                let scales = [row, column].map(|line| scale(format, line.scales[first + number]));
                exact += scales[0] * scales[1] * products;
            }
            *sum = exact as f32;
        }
    }

    /// Element `k` of 32 bytes.
    fn element(format: BlockFormat, bytes: &[u8; 32], k: usize) -> f64 {
        match format {
            BlockFormat::Nvfp4 | BlockFormat::Mxfp4 => {
                let bits = bytes[k / 2] >> (k % 2 * 4) & 15;
                signed(u32::from(bits & 7), bits & 8 != 0, 1, 1)
            }
            BlockFormat::Mxfp8 => e4m3(bytes[k]),
        }
    }

    fn scale(format: BlockFormat, bits: u8) -> f64 {
        match (format.scale_is_exponent(), bits) {
            (true, 0xff) => f64::NAN,
            (true, _) => f64::from_bits((u64::from(bits) + 1023 - 127) << 52),
            // The sign is not part of it.
            (false, _) => e4m3(bits & 0x7f),
        }
    }

    fn e4m3(bits: u8) -> f64 {
        match bits & 0x7f {
            0x7f => f64::NAN,
            magnitude => signed(u32::from(magnitude), bits & 0x80 != 0, 3, 7),
        }
    }

    /// A number with this magnitude: an exponent above `mantissa` bits.
    fn signed(magnitude: u32, is_negative: bool, mantissa: u32, bias: i32) -> f64 {
        let (exponent, fraction) = (magnitude >> mantissa, f64::from(magnitude & ((1 << mantissa) - 1)));
        let unit = f64::from_bits(((1023 - bias + exponent.max(1) as i32 - mantissa as i32) as u64) << 52);
        let implicit = if exponent == 0 {
            0.0
        } else {
            f64::from(1_u32 << mantissa)
        };
        let value = (implicit + fraction) * unit;
        if is_negative { -value } else { value }
    }
}
