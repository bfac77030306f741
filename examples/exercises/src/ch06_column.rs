//! Exercise 6.1: a column of registers.
//!
//! A CTA computes a tile of 32 x 32. Each thread has one element: two loads from shared memory per FMA. Give each
//! thread four rows of one column, so that an element of B serves four FMAs. The launch has 32 x (32 / ROWS) threads.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// Rows and columns of the tile, and the depth of a k-tile.
pub const TILE: usize = 32;
/// Rows of the tile of one thread.
pub const ROWS: usize = 1;
/// Threads along y.
const THREADS_Y: usize = TILE / ROWS;

/// P = A * B.
///
/// # Safety
/// The matrices have `width * width` elements, `width` is a multiple of 32. CTAs of 32 x (32 / ROWS) threads, the grid
/// covers P.
#[kernel]
pub unsafe fn product(a: *const f32, b: *const f32, p: *mut f32, width: usize) {
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let first_row = thread::block_idx_y() as usize * TILE;
    let column = thread::block_idx_x() as usize * TILE + tx;
    // SAFETY: all indices are inside the matrices and the tiles.
    unsafe {
        let (a, b) = (Global::new(a, width * width), Global::new(b, width * width));
        let a_s = Shared::new(shared_array![f32; TILE * TILE], TILE * TILE);
        let b_s = Shared::new(shared_array![f32; TILE * TILE], TILE * TILE);
        let mut sum = 0.0;
        for k0 in (0..width).step_by(TILE) {
            for row in (ty..TILE).step_by(THREADS_Y) {
                a_s.set(row * TILE + tx, a.get((first_row + row) * width + k0 + tx));
                b_s.set(row * TILE + tx, b.get((k0 + row) * width + column));
            }
            // RAW: both tiles are filled.
            thread::sync_threads();
            for i in 0..TILE {
                sum += a_s.get(ty * TILE + i) * b_s.get(i * TILE + tx);
            }
            // WAR: both tiles are drained.
            thread::sync_threads();
        }
        let p = GlobalMut::new(p, width * width);
        p.set((first_row + ty) * width + column, sum);
    }
}
