//! Solution of exercise 1.2: load once, use sixteen times.
//!
//! The threads of a CTA load each tile together; an element that was loaded once serves 16 threads.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

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
        let a_s = Shared::new(shared_array![f32; TILE * TILE], TILE * TILE);
        let b_s = Shared::new(shared_array![f32; TILE * TILE], TILE * TILE);
        let mut sum = 0.0;
        for k0 in (0..width).step_by(TILE) {
            a_s.set(ty * TILE + tx, a.get(row * width + k0 + tx));
            b_s.set(ty * TILE + tx, b.get((k0 + ty) * width + column));
            // RAW: both tiles are filled.
            thread::sync_threads();
            for i in 0..TILE {
                sum += a_s.get(ty * TILE + i) * b_s.get(i * TILE + tx);
            }
            // WAR: both tiles are drained.
            thread::sync_threads();
        }
        GlobalMut::new(p, width * width).set(row * width + column, sum);
    }
}
