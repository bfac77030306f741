//! Solution of exercise 7.1: vectors that do not always fit.
//!
//! The choice is the same for the whole launch: vectors where `ld` is a multiple of 4 elements, else single elements.

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
        let values = match ld % 4 {
            0 => from.get_vec::<4>(at),
            _ => [from.get(at), from.get(at + 1), from.get(at + 2), from.get(at + 3)],
        };
        to.set_vec(row * columns + first, values);
    }
}
