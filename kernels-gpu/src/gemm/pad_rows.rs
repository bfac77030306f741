//! Pads the rows of an operand with an unaligned leading dimension, for the tensor-core kernels: they load 16 bytes at
//! a time.
//!
//! ```text
//! thread t: vector t of the padded matrix, 8 elements of 2 bytes
//!     if the 4-byte words that hold them are inside the row: load 4 words, or 5 and shift them by an element
//!     else: load the elements one by one; zeros past the end of the row
//!     store 16 bytes
//! ```
//!
//! A row of the matrix may start at any multiple of 2 bytes, so all its vectors start in the middle of a word, or none:
//! a warp branches once per row. The loads of neighboring threads are in the same 512 bytes, which come from device
//! memory once and for the other loads from L1. Words that reach over an end of a row are not loaded: the memory
//! between two rows is not ours.
//!
//! The layout is [`CopyRows`]'s.

use cuda_std::{kernel, thread};
use cuda_views::{Global, GlobalMut};
use tilewright_contract::CopyRows;

use crate::block::copies;

/// Words of a vector.
const WORDS: usize = CopyRows::VECTOR as usize / 2;

/// Copies the matrix at `from` into the padded rows at `to`, and that at `next_from` into those at `next_to`.
///
/// # Safety
/// For each of both, of which the second may be [`CopyRows::NONE`]: `from` are the matrices that `copy` describes, in
/// global memory, at a multiple of 2 bytes; `to` has room for [`CopyRows::to_elems`] elements for each at a multiple of
/// 16 bytes, and does not overlap them. The grid has [`CopyRows::blocks`] CTAs for the first and then those for the
/// second, of [`CopyRows::THREADS`] threads, both along x, and a row along y for each matrix of the longer batch.
#[kernel(max_threads = 256)]
pub unsafe fn copy_rows_b16(
    from: *const u16,
    to: *mut u16,
    copy: CopyRows,
    next_from: *const u16,
    next_to: *mut u16,
    next: CopyRows,
) {
    let operands = [(from, to, copy), (next_from, next_to, next)];
    let matrix = copies::of_cta(operands[0], operands[1], CopyRows::blocks, |copy| {
        copy.to_elems() as u64
    });
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
    // If the matrix starts in the middle of a word, the first whole word starts at its second element.
    let low = from.addr() / 2 % 2;
    let is_odd = !(first + low).is_multiple_of(2);
    let before = u32::from(is_odd);
    let is_inside = column >= before && column + CopyRows::VECTOR + before <= copy.columns;
    // SAFETY: the caller's promise; the words are inside the row, and so are the elements that are loaded. No other
    // thread writes the vector.
    unsafe {
        let values = if is_inside {
            let words = Global::new_with(from.wrapping_add(low).cast::<u32>(), || (copy.from_elems() - low) / 2);
            load_words(words, (first + low) / 2 - low, is_odd)
        } else {
            let elements = Global::new_with(from, || copy.from_elems());
            // A padded row may have whole vectors past the end of the matrix's.
            load_elements(elements, first, copy.columns.saturating_sub(column))
        };
        let to = GlobalMut::new_with(to.cast::<u32>(), || copy.to_elems() / 2);
        to.set_vec::<WORDS>(vector as usize * WORDS, values);
    }
}

/// The words from word `at` on, or with `is_odd` from its upper half on.
///
/// # Safety
/// All of them, with `is_odd` one more, are in the view.
#[inline(always)]
unsafe fn load_words(from: Global<u32>, at: usize, is_odd: bool) -> [u32; WORDS] {
    // SAFETY: the caller's promise.
    let words = [0, 1, 2, 3].map(|i| unsafe { from.get(at + i) });
    // SAFETY: as above.
    let last = unsafe { from.get_if(is_odd, || at + WORDS, 0) };
    let [a, b, c, d] = words;
    let shifted = [[a, b], [b, c], [c, d], [d, last]].map(|[low, high]| low >> 16 | high << 16);
    if is_odd { shifted } else { words }
}

/// `left` elements from `first` on, then zeros.
///
/// # Safety
/// The elements are in the view.
#[inline(always)]
unsafe fn load_elements(from: Global<u16>, first: usize, left: u32) -> [u32; WORDS] {
    if left == 0 {
        return [0; WORDS];
    }
    // Past the end the last element is loaded again: with a branch around each load, each would wait for the previous
    // one.
    let element = |i: u32| {
        // SAFETY: the caller's promise; `left` is not 0.
        let element = unsafe { from.get(first + i.min(left - 1) as usize) };
        if i < left { u32::from(element) } else { 0 }
    };
    [0, 2, 4, 6].map(|i| element(i) | element(i + 1) << 16)
}
