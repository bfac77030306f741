//! Exercise 1.1: a matrix whose edge is no multiple of the CTA.
//!
//! Each thread computes one element of P = A * B, square and row-major. The grid has whole CTAs of 16 x 16 threads,
//! the matrix 20 x 20 elements. Keep the threads outside the matrix from touching memory.

use cuda_std::{kernel, thread};
use cuda_views::{Global, GlobalMut};

/// Rows and columns of C of a CTA.
const TILE: usize = 16;

/// P = A * B.
///
/// # Safety
/// The matrices have `width * width` elements. CTAs of 16 x 16 threads, the grid covers P.
#[kernel]
pub unsafe fn product(a: *const f32, b: *const f32, p: *mut f32, width: usize) {
    let row = thread::block_idx_y() as usize * TILE + thread::thread_idx_y() as usize;
    let column = thread::block_idx_x() as usize * TILE + thread::thread_idx_x() as usize;
    // SAFETY: the views check what is not inside the matrix.
    unsafe {
        let (a, b) = (Global::new(a, width * width), Global::new(b, width * width));
        let mut sum = 0.0;
        for i in 0..width {
            sum += a.get(row * width + i) * b.get(i * width + column);
        }
        GlobalMut::new(p, width * width).set(row * width + column, sum);
    }
}
