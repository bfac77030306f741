//! The tiled product of the slides, in Rust: as the slides have it, and mended.

use cuda_std::{kernel, shared::dynamic_shared_mem, thread};
use cuda_views::{Global, GlobalMut, Shared};

/// `TILE_WIDTH` of the slides.
pub const TILE: usize = 16;

/// Carves the allocation as the slides do: `As_Bs` is a `float` pointer, and the size of `A_s`, which is passed in
/// bytes, is added to it.
///
/// # Safety
/// The matrices have `width * width` elements, `width` is a multiple of 16. CTAs of 16 x 16 threads, the grid covers P;
/// dynamic shared memory for two tiles.
#[kernel]
pub unsafe fn of_the_slides(a: *const f32, b: *const f32, p: *mut f32, width: usize, a_bytes: usize) {
    let as_bs = dynamic_shared_mem::<f32>();
    // SAFETY: none; this is the bug.
    let tiles = unsafe {
        [
            Shared::new(as_bs, TILE * TILE),
            Shared::new(as_bs.add(a_bytes), TILE * TILE),
        ]
    };
    // SAFETY: the caller's promise.
    unsafe { product(a, b, p, width, tiles) }
}

/// Carves the allocation by bytes: the base is a pointer to bytes, and so a number of bytes may be added to it.
///
/// # Safety
/// As for [`of_the_slides`], with `a_bytes` bytes for `A_s`.
#[kernel]
pub unsafe fn mended(a: *const f32, b: *const f32, p: *mut f32, width: usize, a_bytes: usize) {
    let as_bs = dynamic_shared_mem::<u8>();
    // SAFETY: the allocation holds both tiles.
    let tiles = unsafe {
        let b_s = as_bs.add(a_bytes);
        [
            Shared::new(as_bs.cast(), TILE * TILE),
            Shared::new(b_s.cast(), TILE * TILE),
        ]
    };
    // SAFETY: the caller's promise.
    unsafe { product(a, b, p, width, tiles) }
}

/// P = A * B through two tiles.
///
/// # Safety
/// As for [`of_the_slides`]; the tiles are of shared memory.
unsafe fn product(a: *const f32, b: *const f32, p: *mut f32, width: usize, [a_s, b_s]: [Shared<f32>; 2]) {
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let row = thread::block_idx_y() as usize * TILE + ty;
    let column = thread::block_idx_x() as usize * TILE + tx;
    // SAFETY: row, column < width, and the views check the tiles.
    unsafe {
        let (a, b) = (Global::new(a, width * width), Global::new(b, width * width));
        let mut sum = 0.0;
        for k0 in (0..width).step_by(TILE) {
            a_s.set(ty * TILE + tx, a.get(row * width + k0 + tx));
            b_s.set(ty * TILE + tx, b.get((k0 + ty) * width + column));
            // RAW: both tiles are filled before any thread reads what others wrote.
            thread::sync_threads();
            for i in 0..TILE {
                sum += a_s.get(ty * TILE + i) * b_s.get(i * TILE + tx);
            }
            // WAR: both tiles are drained before the next k-tile overwrites them.
            thread::sync_threads();
        }
        GlobalMut::new(p, width * width).set(row * width + column, sum);
    }
}
