//! Exercise 17.2: right for squares only.
//!
//! The library's rule: any m, n and k, rows longer than the matrix is wide. This product was tested with square
//! matrices, packed.

use cuda_std::{kernel, thread};
use cuda_views::{Global, GlobalMut};

use crate::support::Shape;

/// C = A * B.
///
/// # Safety
/// The matrices are those of `shape`; CTAs of 8 x 8 threads, the grid covers C along x and y.
#[kernel]
pub unsafe fn product(a: *const f32, b: *const f32, c: *mut f32, shape: Shape) {
    let Shape { m, n, k, ld } = shape;
    let [lda, ldb, ldc] = [n; 3];
    let row = thread::block_idx_y() as usize * 8 + thread::thread_idx_y() as usize;
    let column = thread::block_idx_x() as usize * 8 + thread::thread_idx_x() as usize;
    if row >= m || column >= n {
        return;
    }
    // SAFETY: row < m, column < n; the views check the rest.
    unsafe {
        let a = Global::new(a, (m - 1) * ld[0] + k);
        let b = Global::new(b, (k - 1) * ld[1] + n);
        let c = GlobalMut::new(c, (m - 1) * ld[2] + n);
        let sum = (0..k).map(|i| a.get(row * lda + i) * b.get(i * ldb + column)).sum();
        c.set(row * ldc + column, sum);
    }
}
