//! Exercise 17.1: one formula for shared memory.
//!
//! A family of kernels takes its tile as a parameter: M x K of A and K x N of B in dynamic shared memory.
//! `dynamic_bytes` is what the launch passes. It is right for every square tile.

use cuda_std::{kernel, shared::dynamic_shared_mem, thread};
use cuda_views::{GlobalMut, Shared};

/// Dynamic shared memory of a tile of M x N, with K elements along K.
pub const fn dynamic_bytes([m, n, k]: [usize; 3]) -> usize {
    4 * (m * k + m * n)
}

/// Fills both tiles with ones and writes the elements of their product.
///
/// # Safety
/// `to` has `m * n` elements; one CTA of n x m threads with [`dynamic_bytes`] of dynamic shared memory.
#[kernel]
pub unsafe fn ones(to: *mut f32, m: usize, n: usize, k: usize) {
    let (column, row) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    // SAFETY: row < m, column < n.
    unsafe {
        let base = dynamic_shared_mem::<f32>();
        let (a_s, b_s) = (Shared::new(base, m * k), Shared::new(base.add(m * k), k * n));
        for i in (column..k).step_by(n) {
            a_s.set(row * k + i, 1.0);
        }
        for i in (row..k).step_by(m) {
            b_s.set(i * n + column, 1.0);
        }
        // RAW: both tiles are filled.
        thread::sync_threads();
        let sum = (0..k).map(|i| a_s.get(row * k + i) * b_s.get(i * n + column)).sum();
        GlobalMut::new(to, m * n).set(row * n + column, sum);
    }
}
