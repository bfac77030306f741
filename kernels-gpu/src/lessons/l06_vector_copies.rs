//! Lesson 6: 16-byte loads.
//!
//! ```text
//! for each k-tile of 8:
//!     each thread loads one vec4 of A, along K, and one of B, along N                (zero outside the matrix)
//!     and stores A's, transposed, as 4 elements to A_s, B's as one vec4 to B_s
//!     barrier                                                                        RAW: stage filled
//!     for i in 0..8: acc += outer product of fragments of A_s and B_s, as in lesson 5
//!     barrier                                                                        WAR: stage drained
//! C = acc
//! ```
//!
//! **What changed since lesson 5.** One load, one guard and one address in place of four: of the instructions of a
//! k-tile that are not FMAs, 40 % remain. FMAs are 89 % of all.
//!
//! **Alignment.** The address of a vec4 is a multiple of 16 bytes. Where a matrix begins elsewhere, or its columns or
//! its leading dimension are no multiples of 4, `load4` loads single elements. The choice is the same for the whole
//! launch.
//!
//! **Shared memory.** 2 * 8 * 132 * 4 = 8448 bytes, static.
//!
//! Source: S. Boehm, "How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance", kernel 6.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, Shared};
use tilewright_contract::{Bytes, GemmArgs, GemmParams, TileOrigin, lessons};

use crate::block::operands::Operands;
use crate::block::unroll::unrolled;

/// Rows and columns of C of a CTA.
const TILE: u32 = 128;
/// Depth of a k-tile.
const BLOCK_K: u32 = 8;
/// Threads of a CTA, 16 x 16 with 8 x 8 elements of C each: each loads one vec4 of A and one of B.
const THREADS: u32 = 256;
/// Elements from one row of `A_s` or `B_s` to the next.
const PITCH: u32 = TILE + 4;
/// Elements of `A_s`: `B_s` begins here.
const A_ELEMS: u32 = BLOCK_K * PITCH;
const BYTES: u32 = 4 * 2 * A_ELEMS;

const _: () = assert!(lessons::VECTOR_COPIES.has_geometry([TILE, TILE, BLOCK_K], [THREADS, 1], Bytes(BYTES)));

/// C = A * B, row-major, any extents and leading dimensions.
///
/// # Safety
/// `params` describes matrices in global memory. The CTA has THREADS threads, the grid covers C.
#[kernel(max_threads = THREADS)]
pub unsafe fn lesson_06_vector_copies(#[grid_constant] params: &GemmParams<f32>) {
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
        // What this thread loads of each k-tile: 2 threads take a row of A, 32 a row of B.
        let (a_m, a_k) = (t / 2, t % 2 * 4);
        let (b_k, b_n) = (t / 32, t % 32 * 4);
        // The first of its rows and columns of C.
        let (row, column) = (t / 16 * 4, t % 16 * 4);

        let mut acc = [[0.0; 8]; 8];
        let mut k0 = 0;
        while k0 < k {
            let from_a = load4(a, [m, k, lda], tile.row + a_m, k0 + a_k);
            let from_b = load4(b, [k, n, ldb], k0 + b_k, tile.column + b_n);
            for i in 0..4 {
                a_s.set(at(a_k + i, a_m, PITCH), from_a[i as usize]);
            }
            b_s.set_vec(at(b_k, b_n, PITCH), from_b);
            // RAW: the stage is filled before any thread reads what others wrote.
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
            // WAR: the stage is drained before the next k-tile overwrites it.
            thread::sync_threads();
            k0 += BLOCK_K;
        }

        unrolled!(8, at most 8, |r| {
            let row = tile.row + row + r / 4 * (TILE / 2) + r % 4;
            for s in 0..8 {
                let column = tile.column + column + s / 4 * (TILE / 2) + s % 4;
                c.set_if(row < m && column < n, || at(row, column, ldc), || acc[r as usize][s as usize]);
            }
        });
    }
}

/// Four elements of a row of a matrix from `column` on, a multiple of 4; zero outside.
///
/// # Safety
/// The matrix is in global memory and has these extents.
#[inline(always)]
unsafe fn load4(from: Global<f32>, [rows, columns, ld]: [u32; 3], row: u32, column: u32) -> [f32; 4] {
    let first = row as usize * ld as usize + column as usize;
    let inside = |i: u32| row < rows && column + i < columns;
    // The same for all loads of a launch, and computed once: four elements are inside or outside together, and aligned.
    let takes_vec4 = from.as_ptr().addr() & 15 == 0 && columns & 3 == 0 && ld & 3 == 0;
    // SAFETY: guarded by the extents.
    unsafe {
        match (takes_vec4, inside(0)) {
            (true, true) => from.get_vec(first),
            (true, false) => [0.0; 4],
            (false, _) => [0, 1, 2, 3].map(|i| from.get_if(inside(i), || first + i as usize, 0.0)),
        }
    }
}
