//! Lesson 4: a column of registers per thread.
//!
//! ```text
//! for each k-tile of 8:
//!     each thread loads one element of A and one of B into shared memory, A transposed   (zero outside the matrix)
//!     barrier                                                                            RAW: tiles filled
//!     for i in 0..8:
//!         load 1 element of B_s and 8 of A_s, two vec4
//!         acc[0..8] += 8 products
//!     barrier                                                                            WAR: tiles drained
//! C[8 rows][column] = acc
//! ```
//!
//! **What changed since lesson 3.** A thread computes 8 rows of one column, so that an element of `B_s` serves 8 FMAs
//! once it is in a register. 8 FMAs take three loads in place of 16. The k-tile is no longer as deep as the tile is
//! wide: 64 x 64 elements of C with only 4 KiB of shared memory.
//!
//! **Layout.** `A_s` is transposed, so that the 8 rows of a thread are adjacent; all lanes of a warp read the same
//! ones, a broadcast. A warp stores 8 columns of 4 rows of A: with a pitch of 64 + 4 the 32 addresses are in 32 banks.
//!
//! **Shared memory.** 2 * 8 * 68 * 4 = 4352 bytes, static: `A_s`, then `B_s`.
//!
//! Source: V. Volkov, "Better Performance at Lower Occupancy" (GTC 2010); S. Boehm, "How to Optimize a CUDA Matmul
//! Kernel for cuBLAS-like Performance", kernel 4.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::Shared;
use tilewright_contract::{Bytes, GemmArgs, GemmParams, TileOrigin, lessons};

use crate::block::operands::Operands;
use crate::block::unroll::unrolled;

/// Rows and columns of C of a CTA.
const TILE: u32 = 64;
/// Depth of a k-tile.
const BLOCK_K: u32 = 8;
/// Rows of C of a thread.
const ROWS: u32 = 8;
/// Threads of a CTA: each loads one element of A and one of B.
const THREADS: u32 = TILE * TILE / ROWS;
/// Elements from one row of `A_s` or `B_s` to the next.
const PITCH: u32 = TILE + 4;
/// Elements of `A_s`: `B_s` begins here.
const A_ELEMS: u32 = BLOCK_K * PITCH;
const BYTES: u32 = 4 * 2 * A_ELEMS;

const _: () = assert!(lessons::REGISTER_COLUMN.has_geometry([TILE, TILE, BLOCK_K], [THREADS, 1], Bytes(BYTES)));
const _: () = assert!(THREADS == TILE * BLOCK_K);

/// C = A * B, row-major, any extents and leading dimensions.
///
/// # Safety
/// `params` describes matrices in global memory. The CTA has THREADS threads, the grid covers C.
#[kernel(max_threads = THREADS)]
pub unsafe fn lesson_04_register_column(#[grid_constant] params: &GemmParams<f32>) {
    let GemmArgs { m, n, k, lda, ldb, ldc } = params.args();
    let at = |row: u32, column: u32, ld: u32| row as usize * ld as usize + column as usize;

    // SAFETY: every access to global memory is guarded by the extents. In shared memory each thread writes elements of
    // its own, and barriers separate the writes from the reads by other threads. Vectors begin at multiples of 4.
    unsafe {
        let Operands { a, b, c, .. } = Operands::new(params);
        // u128: aligned for vec4.
        let stage = shared_array![u128; BYTES as usize / 16].cast::<f32>();
        let a_s = Shared::new(stage, A_ELEMS as usize);
        let b_s = Shared::new(stage.add(A_ELEMS as usize), A_ELEMS as usize);

        let tile = TileOrigin::of_block(thread::block_idx_x(), n, TILE);
        let t = thread::thread_idx_x();
        // What this thread loads of each k-tile: adjacent threads take adjacent elements of a row.
        let (a_m, a_k) = (t / BLOCK_K, t % BLOCK_K);
        let (b_k, b_n) = (t / TILE, t % TILE);
        // What it computes.
        let (row, column) = (t / TILE * ROWS, t % TILE);

        let mut acc = [0.0; ROWS as usize];
        let mut k0 = 0;
        while k0 < k {
            let (a_row, a_column) = (tile.row + a_m, k0 + a_k);
            let (b_row, b_column) = (k0 + b_k, tile.column + b_n);
            let from_a = a.get_if(a_row < m && a_column < k, || at(a_row, a_column, lda), 0.0);
            let from_b = b.get_if(b_row < k && b_column < n, || at(b_row, b_column, ldb), 0.0);
            a_s.set(at(a_k, a_m, PITCH), from_a);
            b_s.set(at(b_k, b_n, PITCH), from_b);
            // RAW: both tiles are filled before any thread reads what others wrote.
            thread::sync_threads();
            unrolled!(BLOCK_K, at most 8, |i| {
                let upper: [f32; 4] = a_s.get_vec(at(i, row, PITCH));
                let lower: [f32; 4] = a_s.get_vec(at(i, row + 4, PITCH));
                let from_b = b_s.get(at(i, column, PITCH));
                for r in 0..4 {
                    acc[r] += upper[r] * from_b;
                    acc[4 + r] += lower[r] * from_b;
                }
            });
            // WAR: both tiles are drained before the next k-tile overwrites them.
            thread::sync_threads();
            k0 += BLOCK_K;
        }

        let (row, column) = (tile.row + row, tile.column + column);
        unrolled!(ROWS, at most 8, |r| {
            c.set_if(row + r < m && column < n, || at(row + r, column, ldc), || acc[r as usize]);
        });
    }
}
