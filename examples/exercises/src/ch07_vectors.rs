//! Exercise 7.1: vectors that do not always fit.
//!
//! Rows are copied 16 bytes at a time. That asks for rows that start at multiples of 16 bytes, and the leading
//! dimension is whatever the caller has. The kernel must be right for each, and use vectors where it can.

use cuda_std::{kernel, thread};
use cuda_views::{Global, GlobalMut};

/// Copies rows of `columns` elements, a multiple of 4, `ld` elements apart, to packed rows.
///
/// # Safety
/// `from` has `rows` rows, `to` has `rows * columns` elements; one thread per 4 elements of a row along x, one CTA per
/// row.
#[kernel]
pub unsafe fn pack(from: *const u32, to: *mut u32, rows: usize, columns: usize, ld: usize) {
    let (row, first) = (thread::block_idx_x() as usize, 4 * thread::thread_idx_x() as usize);
    // SAFETY: first + 3 < columns.
    unsafe {
        let from = Global::new(from, (rows - 1) * ld + columns);
        let to = GlobalMut::new(to, rows * columns);
        let at = row * ld + first;
        let values = from.get_vec::<4>(at);
        to.set_vec(row * columns + first, values);
    }
}
