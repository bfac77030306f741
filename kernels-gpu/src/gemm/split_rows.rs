//! Splits f32 into three bf16 each, for [`wgmma_bf16x6_kernels`](super::wgmma_bf16x6_kernels).
//!
//! ```text
//! thread t: vector t of each part, 8 elements
//!     load 8 elements, zeros past the end of the row
//!     first = the nearest bf16, second = that of the rest, third = that of what is left
//!     store 16 bytes of each part
//! ```
//!
//! Both rests are exact (Sterbenz): the three parts have 24 bits of the significand, and of most elements more than
//! they need. What is lost are bits below 2^-133, the smallest bf16. A finite element whose nearest bf16 would be an
//! infinity gets the largest finite one; an infinity or a NaN is the first part, and the others are 0.
//!
//! The layout of a part is [`CopyRows`]'s; the parts of a matrix follow one another.

use cuda_std::{kernel, thread};
use cuda_views::{Global, GlobalMut};
use tilewright_contract::{CopyKind, CopyRows};

use crate::block::copies;
use crate::block::unroll::unrolled;
use crate::ptx::convert;

/// Elements of a vector, which a thread splits.
const VECTOR: usize = CopyRows::VECTOR as usize;

/// Splits the matrix at `from` into the parts at `to`, and that at `next_from` into those at `next_to`.
///
/// # Safety
/// For each of both, of which the second may be [`CopyRows::NONE`]: `from` are the matrices that `copy` describes, in
/// global memory; `to` is memory for [`CopyRows::to_elems`] elements for each part of each at a multiple of 16 bytes,
/// and does not overlap them. The grid has [`CopyRows::blocks`] CTAs for the first and then those for the second, of
/// [`CopyRows::THREADS`] threads, both along x, and a row along y for each matrix of the longer batch.
#[kernel(max_threads = 256)]
pub unsafe fn split_rows_f32(
    from: *const f32,
    to: *mut u16,
    copy: CopyRows,
    next_from: *const f32,
    next_to: *mut u16,
    next: CopyRows,
) {
    let parts = const { CopyKind::Split.parts() };
    let operands = [(from, to, copy), (next_from, next_to, next)];
    let to_stride = |copy: &CopyRows| u64::from(parts) * copy.to_elems() as u64;
    let matrix = copies::of_cta(operands[0], operands[1], CopyRows::blocks, to_stride);
    let Some(copies::Matrix { from, to, copy, cta }) = matrix else {
        return;
    };
    let vector = cta * CopyRows::THREADS + thread::thread_idx_x();
    // Never 0: without vectors nothing is launched. Stated to the compiler, the division has no case for it.
    let vectors_of_row = copy.vectors_of_row().max(1);
    let (row, column) = (vector / vectors_of_row, vector % vectors_of_row * CopyRows::VECTOR);
    if row >= copy.rows {
        return;
    }
    let first = row as usize * copy.from_ld as usize + column as usize;
    let left = copy.columns.saturating_sub(column);
    // Both vectors of 16 bytes are aligned and inside the row.
    let is_vec4 = left >= CopyRows::VECTOR && from.wrapping_add(first).addr().is_multiple_of(16);
    // SAFETY: the caller's promise; what is loaded is inside the row, and no other thread writes these vectors.
    unsafe {
        let from = Global::new_with(from, || copy.from_elems());
        let mut rest = [0.0_f32; VECTOR];
        if is_vec4 {
            let [low, high] = [from.get_vec::<4>(first), from.get_vec::<4>(first + 4)];
            rest = [low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]];
        } else if left > 0 {
            unrolled!(8, at most 8, |i| {
                // Past the end the last element is loaded again: with a branch around each load, each would wait for
                // the previous one.
                let element = from.get(first + (i as u32).min(left - 1) as usize);
                rest[i] = if (i as u32) < left { element } else { 0.0 };
            });
        }
        let to = GlobalMut::new_with(to.cast::<u32>(), || parts as usize * copy.to_elems() / 2);
        let mut at = vector as usize * VECTOR / 2;
        let mut part = 0;
        while part < parts {
            let mut words = [0_u32; VECTOR / 2];
            unrolled!(4, at most 4, |pair| {
                let two = [rest[2 * pair], rest[2 * pair + 1]];
                let [low, high] = nearest(two);
                words[pair] = low >> 16 | high;
                [rest[2 * pair], rest[2 * pair + 1]] = [left_of(two[0], low), left_of(two[1], high)];
            });
            to.set_vec::<4>(at, words);
            at += copy.to_elems() / 2;
            part += 1;
        }
    }
}

/// The nearest bf16 of each, or the largest finite one, as the bits of an f32.
#[inline(always)]
fn nearest(two: [f32; 2]) -> [u32; 2] {
    /// The largest finite bf16.
    const LARGEST: u32 = 0x7f7f_0000;
    const INFINITY: u32 = 0x7f80_0000;
    let rounded = convert::f32_to_bf16x2(two);
    [0, 1].map(|i| {
        let bits = u32::from(rounded[i].to_bits()) << 16;
        let overflows = bits & !(1 << 31) == INFINITY && two[i].is_finite();
        if overflows { bits & 1 << 31 | LARGEST } else { bits }
    })
}

/// What a part leaves of an element: the difference, which is exact, or nothing of an infinity or a NaN.
#[inline(always)]
fn left_of(element: f32, part: u32) -> f32 {
    if element.is_finite() {
        element - f32::from_bits(part)
    } else {
        0.0
    }
}
