//! Solution of exercise 1.1: a matrix whose edge is no multiple of the CTA.
//!
//! The last CTAs of a grid have threads without an element: they must do nothing.

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
    if row >= width || column >= width {
        return;
    }
    // SAFETY: row and column are inside the matrix.
    unsafe {
        let (a, b) = (Global::new(a, width * width), Global::new(b, width * width));
        let mut sum = 0.0;
        for i in 0..width {
            sum += a.get(row * width + i) * b.get(i * width + column);
        }
        GlobalMut::new(p, width * width).set(row * width + column, sum);
    }
}
