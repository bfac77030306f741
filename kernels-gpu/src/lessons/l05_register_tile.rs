//! Lesson 5: a tile of registers per thread.
//!
//! ```text
//! for each k-tile of 8:
//!     each thread loads 4 elements of A and 4 of B into shared memory, A transposed   (zero outside the matrix)
//!     barrier                                                                         RAW: tiles filled
//!     for i in 0..8:
//!         load 8 elements of A_s and 8 of B_s, two vec4 each
//!         acc[8][8] += their outer product
//!     barrier                                                                         WAR: tiles drained
//! C[8 rows][8 columns] = acc
//! ```
//!
//! **What changed since lesson 4.** Reuse in both directions: 16 elements in registers feed 64 FMAs, so that an FMA
//! takes a quarter of a load in place of 9/8. From here on shared memory can keep up with the FMA units.
//!
//! **Layout.** A thread's 8 rows are two groups of 4, half a tile apart, and so are its columns: the vec4 that adjacent
//! threads load are adjacent, and free of bank conflicts.
//!
//! **Cost.** 64 accumulators and 16 operands of the 255 registers that a thread can have: two CTAs per SM.
//!
//! **Shared memory.** 2 * 8 * 132 * 4 = 8448 bytes, static.
//!
//! Source: S. Boehm, "How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance", kernel 5.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::Shared;
use tilewright_contract::{Bytes, GemmArgs, GemmParams, TileOrigin, lessons};

use crate::block::operands::Operands;
use crate::block::unroll::unrolled;

/// Rows and columns of C of a CTA.
const TILE: u32 = 128;
/// Depth of a k-tile.
const BLOCK_K: u32 = 8;
/// Rows and columns of C of a thread.
const SIDE: u32 = 8;
/// Threads of a CTA, 16 x 16.
const THREADS: u32 = (TILE / SIDE) * (TILE / SIDE);
/// Elements from one row of `A_s` or `B_s` to the next.
const PITCH: u32 = TILE + 4;
/// Elements of `A_s`: `B_s` begins here.
const A_ELEMS: u32 = BLOCK_K * PITCH;
const BYTES: u32 = 4 * 2 * A_ELEMS;

const _: () = assert!(lessons::REGISTER_TILE.has_geometry([TILE, TILE, BLOCK_K], [THREADS, 1], Bytes(BYTES)));

/// C = A * B, row-major, any extents and leading dimensions.
///
/// # Safety
/// `params` describes matrices in global memory. The CTA has THREADS threads, the grid covers C.
#[kernel(max_threads = THREADS)]
pub unsafe fn lesson_05_register_tile(#[grid_constant] params: &GemmParams<f32>) {
    let GemmArgs { m, n, k, lda, ldb, ldc } = params.args();
    let at = |row: u32, column: u32, ld: u32| row as usize * ld as usize + column as usize;

    // SAFETY: as in lesson 4.
    unsafe {
        let Operands { a, b, c, .. } = Operands::new(params);
        // u128: aligned for vec4.
        let stage = shared_array![u128; BYTES as usize / 16].cast::<f32>();
        let a_s = Shared::new(stage, A_ELEMS as usize);
        let b_s = Shared::new(stage.add(A_ELEMS as usize), A_ELEMS as usize);

        let tile = TileOrigin::of_block(thread::block_idx_x(), n, TILE);
        let t = thread::thread_idx_x();
        // The first of this thread's rows and of its columns.
        let (row, column) = (t / 16 * 4, t % 16 * 4);

        let mut acc = [[0.0; SIDE as usize]; SIDE as usize];
        let mut k0 = 0;
        while k0 < k {
            for i in 0..TILE * BLOCK_K / THREADS {
                let element = t + i * THREADS;
                let (a_m, a_k) = (element / BLOCK_K, element % BLOCK_K);
                let (b_k, b_n) = (element / TILE, element % TILE);
                let (a_row, a_column) = (tile.row + a_m, k0 + a_k);
                let (b_row, b_column) = (k0 + b_k, tile.column + b_n);
                let from_a = a.get_if(a_row < m && a_column < k, || at(a_row, a_column, lda), 0.0);
                let from_b = b.get_if(b_row < k && b_column < n, || at(b_row, b_column, ldb), 0.0);
                a_s.set(at(a_k, a_m, PITCH), from_a);
                b_s.set(at(b_k, b_n, PITCH), from_b);
            }
            // RAW: both tiles are filled before any thread reads what others wrote.
            thread::sync_threads();
            unrolled!(BLOCK_K, at most 8, |i| {
                let a_i: [[f32; 4]; 2] = [0, TILE / 2].map(|half| a_s.get_vec(at(i, row + half, PITCH)));
                let b_i: [[f32; 4]; 2] = [0, TILE / 2].map(|half| b_s.get_vec(at(i, column + half, PITCH)));
                for r in 0..8 {
                    for s in 0..8 {
                        acc[r][s] += a_i[r / 4][r % 4] * b_i[s / 4][s % 4];
                    }
                }
            });
            // WAR: both tiles are drained before the next k-tile overwrites them.
            thread::sync_threads();
            k0 += BLOCK_K;
        }

        // Written out: accumulators with an index that is not a constant would be in local memory.
        unrolled!(8, at most 8, |r| {
            let row = tile.row + row + r / 4 * (TILE / 2) + r % 4;
            for s in 0..8 {
                let column = tile.column + column + s / 4 * (TILE / 2) + s % 4;
                c.set_if(row < m && column < n, || at(row, column, ldc), || acc[r as usize][s as usize]);
            }
        });
    }
}
