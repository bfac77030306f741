//! Lesson 9: a pipeline of `cp.async`.
//!
//! ```text
//! start the loads of k-tiles 0 and 1, one group each; wait for the first; barrier
//! for each k-tile:
//!     for i in 0..16:
//!         next = row i + 1 of this stage
//!         (after the last row: wait for the next k-tile; barrier; next = its row 0)
//!         start two of the loads of the k-tile after the next
//!         acc += outer product of fragment; fragment = next
//! ```
//!
//! **What changed since lesson 8.** `cp.async` loads from global to shared memory without a register in between, and
//! goes on while the thread computes. Two k-tiles are on their way, in a pipeline of three stages; and the registers
//! that they no longer take make room for 16 x 8 elements of C per thread. CTAs that run at the same time form groups
//! of 8 tiles along M, so that L2 holds what they share.
//!
//! **Shared memory.** 3 * 16 * (260 + 132) * 4 = 75,264 bytes, dynamic. Source: PTX ISA, "cp.async"; CUTLASS,
//! "Efficient GEMM in CUDA" (software pipelining).

use cuda_std::{kernel, shared, thread};
use cuda_views::Shared;
use tilewright_contract::{Bytes, GemmArgs, GemmParams, RasterTile, lessons};

use crate::block::{operands::Operands, unroll::unrolled};
use crate::ptx::{async_copy, fma::fma};

/// Rows and columns of C of a CTA; depth of a k-tile; threads, 8 warps of 64 x 64 elements of C, 16 x 8 per thread.
const BLOCK_M: u32 = 256;
const BLOCK_N: u32 = 128;
const BLOCK_K: u32 = 16;
const THREADS: u32 = 256;
/// Elements from one row of `A_s` and of `B_s` to the next, of `A_s`, and of a stage.
const A_PITCH: u32 = BLOCK_M + 4;
const B_PITCH: u32 = BLOCK_N + 4;
const A_ELEMS: u32 = BLOCK_K * A_PITCH;
const STAGE: u32 = A_ELEMS + BLOCK_K * B_PITCH;
const STAGES: u32 = 3;
const BYTES: u32 = 4 * STAGES * STAGE;
/// Tiles along M of a group of CTAs.
const GROUP_M: u32 = 8;

const _: () = assert!(lessons::CP_ASYNC.has_geometry([BLOCK_M, BLOCK_N, BLOCK_K], [THREADS, 1], Bytes(BYTES)));

/// C = A * B, row-major, any extents and leading dimensions.
///
/// # Safety
/// `params` describes matrices in global memory, of which BLOCK_M rows span less than 2^32 elements. The CTA has
/// THREADS threads and dynamic shared memory for all stages, the grid covers C.
#[kernel(max_threads = THREADS, min_blocks = 1)]
pub unsafe fn lesson_09_cp_async(#[grid_constant] params: &GemmParams<f32>) {
    let GemmArgs { m, n, k, lda, ldb, ldc } = params.args();
    // SAFETY: every access to global memory is guarded by the extents. Waits and barriers separate the loads to a stage
    // from the reads of other threads. Vectors begin at multiples of 4.
    unsafe {
        let Operands { a, b, c, .. } = Operands::new(params);
        let stages = Shared::new(shared::dynamic_shared_mem::<f32>(), (STAGES * STAGE) as usize);
        let (tiles_m, tiles_n) = (m.div_ceil(BLOCK_M), n.div_ceil(BLOCK_N));
        let tile = RasterTile::of_block(thread::block_idx_x(), tiles_m, tiles_n, GROUP_M);
        let (tile_row, tile_column) = (tile.tile_m * BLOCK_M, tile.tile_n * BLOCK_N);
        let t = thread::thread_idx_x();

        // This thread's loads of a k-tile: 8 lanes take 8 elements of a row of A, 32 bytes, a warp 32 of a row of B.
        // Rows below A's last are read as the last: what they give is not stored. Past the end of K are zeros.
        let (a_m, a_k, b_k, b_n) = (t / 8, t % 8, t / BLOCK_N, t % BLOCK_N);
        let a_rows = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| (a_m + 32 * i).min(m - 1 - tile_row) * lda);
        let load = |stage: u32, k0: u32, number: u32| {
            if number < 16 {
                let (i, depth) = (number / 2, a_k + number % 2 * 8);
                let to = stage + depth * A_PITCH + a_m + 32 * i;
                let from = || tile_row as usize * lda as usize + (k0 + depth) as usize + a_rows[i as usize] as usize;
                async_copy::copy::<f32, 1>(stages, to, a, from, (k0 + depth < k).into());
            } else if number < 24 {
                let depth = b_k + (number - 16) * 2;
                let to = stage + A_ELEMS + depth * B_PITCH + b_n;
                let from = || (k0 + depth) as usize * ldb as usize + (tile_column + b_n) as usize;
                async_copy::copy::<f32, 1>(stages, to, b, from, (k0 + depth < k && tile_column + b_n < n).into());
            }
        };

        let (warp, lane) = (t / 32, t % 32);
        let (y, x) = ((lane / 2 % 2) + (lane / 16 * 2), (lane % 2) + (lane / 4 % 4 * 2));
        let (row, column) = (warp % 4 * 64 + 4 * y, warp / 4 * 64 + 4 * x);
        let fragments = |stage: u32, i: u32| -> ([[f32; 4]; 4], [[f32; 4]; 2]) {
            let (of_a, of_b) = (stage + i * A_PITCH + row, stage + A_ELEMS + i * B_PITCH + column);
            let vec4 = |first: u32| stages.get_vec(first as usize);
            (
                [0, 16, 32, 48].map(|rows| vec4(of_a + rows)),
                [0, 32].map(|columns| vec4(of_b + columns)),
            )
        };

        for ahead in 0..2 {
            unrolled!(24, |number| load(ahead * STAGE, ahead * BLOCK_K, number));
            async_copy::commit();
        }
        async_copy::wait::<1>();
        // RAW: every thread's loads of stage 0 are there.
        thread::sync_threads();

        let mut acc = [[0.0; 8]; 16];
        let (mut stage, mut free) = (0, 2 * STAGE);
        let mut fragment = fragments(stage, 0);
        let mut k0 = 0;
        while k0 < k {
            unrolled!(BLOCK_K, at most 16, |i| {
                if i + 1 == BLOCK_K {
                    async_copy::commit();
                    async_copy::wait::<1>();
                    // RAW: every thread's loads of the next stage are there. WAR: no thread reads this stage any more,
                    // which the loads that start next write.
                    thread::sync_threads();
                    free = stage;
                    stage = if stage == 2 * STAGE { 0 } else { stage + STAGE };
                }
                let next = fragments(stage, (i + 1) % BLOCK_K);
                if i + 1 < BLOCK_K {
                    load(free, k0 + 2 * BLOCK_K, 2 * i);
                    load(free, k0 + 2 * BLOCK_K, 2 * i + 1);
                }
                // Row by row, in serpentine order: ptxas keeps the order, and reuses operands.
                unrolled!(16, at most 16, |r| unrolled!(8, at most 8, |turn| {
                    let s = if r % 2 == 0 { turn } else { 7 - turn };
                    fma(&mut acc[r][s], fragment.0[r / 4][r % 4], fragment.1[s / 4][s % 4]);
                }));
                fragment = next;
            });
            k0 += BLOCK_K;
        }

        unrolled!(16, at most 16, |r| {
            let row = tile_row + row + r / 4 * 16 + r % 4;
            for s in 0..8 {
                let column = tile_column + column + s / 4 * 32 + s % 4;
                let index = || row as usize * ldc as usize + column as usize;
                c.set_if(row < m && column < n, index, || acc[r as usize][s as usize]);
            }
        });
    }
}
