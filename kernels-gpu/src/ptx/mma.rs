//! `mma.sync`: a warp multiplies matrices on its tensor cores (PTX ISA, "Warp Level Matrix Instructions: mma", "Matrix
//! Fragments for mma.m16n8k16 with floating point type").
//!
//! `D = A B + C`: A is 16 x 16 of f16 or bf16, B 16 x 8 of the same, C and D 16 x 8 of f32. Each lane holds a fragment
//! of each; with `group = lane / 4` and `pair = 2 (lane % 4)`:
//!
//! ```text
//! A (row, k)       register 0        register 1            register 2            register 3
//!                  group, pair ..    group + 8, pair ..    group, pair + 8 ..    group + 8, pair + 8 ..
//! B (k, column)    register 0        register 1
//!                  pair .., group    pair + 8 .., group
//! C (row, column)  0              1                  2                  3
//!                  group, pair    group, pair + 1    group + 8, pair    group + 8, pair + 1
//! ```
//!
//! A register of A and B holds two neighbours along k, the first one in the lower half (`..`). [`a_place`], [`b_place`]
//! and [`c_place`] say the same.
//!
//! [`ldmatrix::load`](super::ldmatrix::load) of 4 matrices of a row-major A gives its fragment, rows 0 - 7 and 8 - 15
//! of its left half and then of its right one; `load` of a K-major B, or `load_transposed` of an
//! N-major one, gives that of B.
//!
//! # Rounding
//!
//! On the host the products of a sum are added to C one after the other, from k = 0 on, each product exact (where it
//! stays in f32's range), each sum rounded to nearest. The ISA leaves order and rounding to the hardware ("at least
//! single precision"), and what tensor cores do is less than that in the last bits: they align several products to the
//! largest one and truncate. Results are equal where every partial sum is exact, as with small integers; else they
//! differ by a few units of the last place of the largest partial sum.
//!
//! Exists from `sm_80` on.

use bytemuck::Pod;
use half::{bf16, f16};

/// A lane's part of A: 8 elements.
pub type FragmentA = [u32; 4];
/// A lane's part of B: 4 elements.
pub type FragmentB = [u32; 2];
/// A lane's part of C or D.
pub type FragmentC = [f32; 4];

/// Row and k of element `which`, 0 or 1, in `register`, 0 to 3, of A.
#[inline(always)]
pub const fn a_place(lane: u32, register: u32, which: u32) -> (u32, u32) {
    (lane / 4 + register % 2 * 8, 2 * (lane % 4) + register / 2 * 8 + which)
}

/// k and column of element `which`, 0 or 1, in `register`, 0 or 1, of B.
#[inline(always)]
pub const fn b_place(lane: u32, register: u32, which: u32) -> (u32, u32) {
    (2 * (lane % 4) + register * 8 + which, lane / 4)
}

/// Row and column of element `number`, 0 to 3, of C and D.
#[inline(always)]
pub const fn c_place(lane: u32, number: u32) -> (u32, u32) {
    (lane / 4 + number / 2 * 8, 2 * (lane % 4) + number % 2)
}

/// An element of A and B: f16 or bf16.
pub trait MmaElement: Pod {
    /// See [`mma`].
    ///
    /// # Safety
    /// As there.
    #[doc(hidden)]
    unsafe fn mma(c: &mut FragmentC, a: FragmentA, b: FragmentB);
}

/// `c += a * b` by the warp: `mma.sync.aligned.m16n8k16.row.col.f32.T.T.f32`.
///
/// # Safety
/// All 32 lanes of the warp execute this together.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn mma<T: MmaElement>(c: &mut FragmentC, a: FragmentA, b: FragmentB) {
    // SAFETY: the caller's promise.
    unsafe { T::mma(c, a, b) }
}

macro_rules! factors {
    ($($type:ident = $name:literal;)*) => {$(
        impl MmaElement for $type {
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn mma(c: &mut FragmentC, a: FragmentA, b: FragmentB) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller's promise. Not `pure`: it stays where all lanes are, in the order of the program,
                // as `fma`.
                unsafe {
                    core::arch::asm!(
                        concat!(
                            "mma.sync.aligned.m16n8k16.row.col.f32.", $name, ".", $name, ".f32 ",
                            "{{{c0}, {c1}, {c2}, {c3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, ",
                            "{{{c0}, {c1}, {c2}, {c3}}};"
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
                        options(nomem, nostack, preserves_flags),
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                host::mma(c, a, b, |bits| $type::from_bits(bits).to_f32());
            }
        }
    )*};
}

factors! {
    f16 = "f16";
    bf16 = "bf16";
}

/// The product on the host.
#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use super::{FragmentA, FragmentB, FragmentC, a_place, b_place, c_place};
    use cuda_views::matrix::{LaneWords, warp_gather};

    /// Exchanges fragments with the warp, and adds to this lane's part of C.
    #[track_caller]
    pub(super) fn mma(c: &mut FragmentC, a: FragmentA, b: FragmentB, widen: fn(u16) -> f32) {
        let two = |[low, high]: [u32; 2]| u64::from(low) | u64::from(high) << 32;
        let own = [two([a[0], a[1]]), two([a[2], a[3]]), two(b)];
        let lane = cuda_std::warp::lane_id();
        warp_gather(own, |words| {
            // The two rows of A and the two columns of B that this lane's elements are of.
            let (first_row, first_column) = c_place(lane, 0);
            let mut rows = [[0.0; 16]; 2];
            let mut columns = [[0.0; 16]; 2];
            for (holder, words) in (0..).zip(words) {
                for register in 0..4 {
                    for which in 0..2 {
                        let (row, k) = a_place(holder, register, which);
                        if row % 8 == first_row {
                            let element = element(words, register, which);
                            rows[row as usize / 8][k as usize] = widen(element);
                        }
                        if register < 2 {
                            let (k, column) = b_place(holder, register, which);
                            if column / 2 * 2 == first_column {
                                let element = element(words, 4 + register, which);
                                columns[column as usize % 2][k as usize] = widen(element);
                            }
                        }
                    }
                }
            }
            for (number, sum) in (0..).zip(c.iter_mut()) {
                let (row, column) = c_place(lane, number);
                let (row, column) = (&rows[row as usize / 8], &columns[column as usize % 2]);
                *sum = row.iter().zip(column).fold(*sum, |sum, (a, b)| sum + a * b);
            }
        });
    }

    /// Of the registers of A, then of B.
    fn element(words: &LaneWords, register: u32, which: u32) -> u16 {
        (words[register as usize / 2] >> (register % 2 * 32 + which * 16)) as u16
    }
}
