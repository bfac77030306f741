//! Exercise 1.2: load once, use sixteen times.
//!
//! The product is right, and each thread loads a whole row of A and a whole column of B from global memory. Let the
//! CTA load tiles of 16 x 16 into shared memory, and compute from there. `width` is a multiple of 16.

use cuda_std::{kernel, thread};
use cuda_views::{Global, GlobalMut};

/// Rows and columns of a tile.
const TILE: usize = 16;

/// P = A * B.
///
/// # Safety
/// The matrices have `width * width` elements, `width` is a multiple of 16. CTAs of 16 x 16 threads, the grid covers P.
#[kernel]
pub unsafe fn product(a: *const f32, b: *const f32, p: *mut f32, width: usize) {
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let row = thread::block_idx_y() as usize * TILE + ty;
    let column = thread::block_idx_x() as usize * TILE + tx;
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
