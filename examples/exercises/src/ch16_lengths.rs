//! Exercise 16.1: right for every length that was tried.
//!
//! The kernel adds neighbors, `to[i] = from[i] + from[i + 1]`, and the last element stays as it is. Its author tried
//! 64 and 128 elements. The check tries more.

use cuda_std::{kernel, thread};
use cuda_views::{Global, GlobalMut};

/// Adds neighbors.
///
/// # Safety
/// `from` and `to` have `len` elements; CTAs of 64 threads that cover them.
#[kernel]
pub unsafe fn add_neighbors(from: *const u32, to: *mut u32, len: usize) {
    let i = thread::index_1d() as usize;
    // SAFETY: the views check them.
    unsafe {
        let (from, to) = (Global::new(from, len), GlobalMut::new(to, len));
        let is_last = i == thread::grid_dim_x() as usize * 64 - 1;
        to.set(i, from.get(i) + from.get_if(!is_last, || i + 1, 0));
    }
}
