//! Copies an operand whose rows begin at no multiples of 16 bytes into rows that do, for the kernels of the tensor
//! cores.
//!
//! ```text
//! thread t: chunk t of the copy, 8 elements of 2 bytes
//!     where the 4-byte words that hold them lie inside the row: load 4 words, or 5 and shift them by an element
//!     else: load the elements one by one; zeros for those behind the end of the row
//!     store 16 bytes
//! ```
//!
//! A row of the matrix may begin at any multiple of 2 bytes, so its chunks begin in the middle of a word, or not, all
//! of them alike: what a warp does it decides once a row. The loads of neighbouring threads lie in the same 512 bytes,
//! which come from device memory once and for the other loads from L1. Words that reach over an end of a row are not
//! loaded: what lies between two rows belongs to somebody else.
//!
//! The layout is [`RowCopy`]'s.

use cuda_std::{kernel, thread};
use cuda_views::{Global, GlobalMut};
use tilewright_contract::RowCopy;

/// Words of a chunk.
const WORDS: usize = RowCopy::CHUNK as usize / 2;

/// Copies the matrix at `from` into the rows at `to`.
///
/// # Safety
/// `from` is the matrix that `copy` describes, in global memory, at a multiple of 2 bytes; `to` is memory for
/// [`RowCopy::to_elems`] elements at a multiple of 16 bytes, and does not overlap it. The grid has [`RowCopy::blocks`]
/// blocks of [`RowCopy::THREADS`] threads, both along x.
#[kernel(max_threads = 256)]
pub unsafe fn copy_rows_b16(from: *const u16, to: *mut u16, copy: RowCopy) {
    let chunk = thread::block_idx_x() * RowCopy::THREADS + thread::thread_idx_x();
    // Never 0: without chunks nothing is launched. Known to the compiler, the division has no case for it.
    let chunks_of_row = copy.chunks_of_row().max(1);
    let (row, column) = (chunk / chunks_of_row, chunk % chunks_of_row * RowCopy::CHUNK);
    if row >= copy.rows {
        return;
    }
    let first = row as usize * copy.from_ld as usize + column as usize;
    // Where the matrix begins in the middle of a word, the first whole one begins at its second element.
    let low = from.addr() / 2 % 2;
    let is_odd = !(first + low).is_multiple_of(2);
    let before = u32::from(is_odd);
    let is_inside = column >= before && column + RowCopy::CHUNK + before <= copy.columns;
    // SAFETY: the caller's promise; the words lie inside the row, and so do the elements that are asked for. No other
    // thread writes the chunk.
    unsafe {
        let values = if is_inside {
            let words = Global::new_with(from.wrapping_add(low).cast::<u32>(), || (copy.from_elems() - low) / 2);
            load_words(words, (first + low) / 2 - low, is_odd)
        } else {
            let elements = Global::new_with(from, || copy.from_elems());
            // A row of the copy may have whole chunks behind the end of the matrix's.
            load_elements(elements, first, copy.columns.saturating_sub(column))
        };
        let to = GlobalMut::new_with(to.cast::<u32>(), || copy.to_elems() / 2);
        to.set_vec::<WORDS>(chunk as usize * WORDS, values);
    }
}

/// The words from word `at` on; `is_odd`: from its upper half on.
///
/// # Safety
/// All of them, one more where that is so, lie in the view.
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

/// `left` elements from `first` on, zeros behind them.
///
/// # Safety
/// The elements lie in the view.
#[inline(always)]
unsafe fn load_elements(from: Global<u16>, first: usize, left: u32) -> [u32; WORDS] {
    if left == 0 {
        return [0; WORDS];
    }
    // Behind the end the last element is loaded again: with a branch around each load, each would wait for the one
    // before.
    let element = |i: u32| {
        // SAFETY: the caller's promise; `left` is not 0.
        let element = unsafe { from.get(first + i.min(left - 1) as usize) };
        if i < left { u32::from(element) } else { 0 }
    };
    [0, 2, 4, 6].map(|i| element(i) | element(i + 1) << 16)
}
