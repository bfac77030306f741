//! Lesson 2: tiles in static shared memory.
//!
//! ```text
//! for each k-tile:
//!     each thread loads one element of A and one of B into shared memory   (zero outside the matrix)
//!     barrier                                                              RAW: tiles filled
//!     for i in 0..TILE: sum += A_s[row][i] * B_s[i][column]
//!     barrier                                                              WAR: tiles drained
//! C[row][column] = sum
//! ```
//!
//! **What changed since lesson 1.** The threads of a CTA need the same rows of A and the same columns of B. They load
//! them together, tile by tile, and each element that was loaded once serves TILE threads.
//!
//! **Cost.** TILE times fewer loads from global memory, but still two loads per FMA, now from shared memory, and two
//! barriers per k-tile.
//!
//! **Shared memory.** 2 * 32 * 32 * 4 = 8192 bytes, static: the arrays are part of the program (`.shared .b8 a_s[4096]`
//! in PTX). Their size is fixed when the kernel is compiled, and their sum is at most 48 KiB.
//!
//! Source: CUDA C++ Programming Guide, "Shared Memory".

use cuda_std::{kernel, shared_array, thread};
use cuda_views::Shared;
use tilewright_contract::{Bytes, GemmArgs, GemmParams, TileOrigin, lessons};

use crate::block::operands::Operands;
use crate::block::unroll::unrolled;

/// Rows and columns of C of a CTA, and the depth of a k-tile.
const TILE: u32 = 32;
/// One for each element of the tile.
const THREADS: u32 = TILE * TILE;
/// Elements of `A_s`, and of `B_s`.
const ELEMS: usize = (TILE * TILE) as usize;

const _: () = assert!(lessons::STATIC_TILES.has_geometry([TILE; 3], [TILE; 2], Bytes(8 * TILE * TILE)));

/// C = A * B, row-major, any extents and leading dimensions.
///
/// # Safety
/// `params` describes matrices in global memory. The CTA has TILE x TILE threads, the grid covers C.
#[kernel(max_threads = THREADS)]
pub unsafe fn lesson_02_static_tiles(#[grid_constant] params: &GemmParams<f32>) {
    let GemmArgs { m, n, k, lda, ldb, ldc } = params.args();
    let at = |row: u32, column: u32, ld: u32| row as usize * ld as usize + column as usize;

    // SAFETY: every access to global memory is guarded by the extents. In shared memory each thread writes an element
    // of its own, and barriers separate the writes from the reads by other threads.
    unsafe {
        let Operands { a, b, c, .. } = Operands::new(params);
        let a_s = Shared::new(shared_array![f32; ELEMS], ELEMS);
        let b_s = Shared::new(shared_array![f32; ELEMS], ELEMS);

        let tile = TileOrigin::of_block(thread::block_idx_x(), n, TILE);
        let (tx, ty) = (thread::thread_idx_x(), thread::thread_idx_y());
        let (row, column) = (tile.row + ty, tile.column + tx);

        let mut sum = 0.0;
        let mut k0 = 0;
        while k0 < k {
            let (a_k, b_k) = (k0 + tx, k0 + ty);
            a_s.set(
                at(ty, tx, TILE),
                a.get_if(row < m && a_k < k, || at(row, a_k, lda), 0.0),
            );
            b_s.set(
                at(ty, tx, TILE),
                b.get_if(b_k < k && column < n, || at(b_k, column, ldb), 0.0),
            );
            // RAW: both tiles are filled before any thread reads what others wrote.
            thread::sync_threads();
            unrolled!(TILE, |i| sum += a_s.get(at(ty, i, TILE)) * b_s.get(at(i, tx, TILE)));
            // WAR: both tiles are drained before the next k-tile overwrites them.
            thread::sync_threads();
            k0 += TILE;
        }
        // No thread returns early: each one loads elements that others need, and takes part in every barrier.
        c.set_if(row < m && column < n, || at(row, column, ldc), || sum);
    }
}
