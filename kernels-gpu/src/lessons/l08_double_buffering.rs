//! Lesson 8: load the next k-tile while this one is computed.
//!
//! ```text
//! stage 0 = k-tile 0; barrier; fragment = row 0 of stage 0
//! for each k-tile:
//!     start to load the next k-tile from global memory into registers
//!     for i in 0..8:
//!         next = row i + 1 of this stage
//!         (after the last row: store the next k-tile to the other stage; barrier; next = its row 0)
//!         acc += outer product of fragment; fragment = next
//! ```
//!
//! **What changed since lesson 7.** Two stages of shared memory, two sets of fragments, and 8 registers for the k-tile
//! on its way. Loads from global memory have a whole k-tile to arrive, loads from shared memory a row.
//!
//! **One barrier** per k-tile closes both hazards: after it the next stage is filled (RAW), and no thread reads this
//! one any more (WAR), which the k-tile after the next is stored to.
//!
//! **Cost.** 122 registers of the 128 that two CTAs per SM leave a thread. **Shared memory.** 16,896 bytes, static.

use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, Shared};
use tilewright_contract::{Bytes, GemmArgs, GemmParams, TileOrigin, lessons};

use crate::block::operands::Operands;
use crate::block::unroll::unrolled;
use crate::ptx::fma::fma;

/// Rows and columns of C of a CTA; depth of a k-tile; threads, 8 warps of 32 x 64 elements of C, 8 x 8 per thread.
const TILE: u32 = 128;
const BLOCK_K: u32 = 8;
const THREADS: u32 = 256;
/// Elements from one row of `A_s` or `B_s` to the next, of both, and of a stage.
const PITCH: u32 = TILE + 4;
const A_ELEMS: u32 = BLOCK_K * PITCH;
const STAGE: u32 = 2 * A_ELEMS;
const BYTES: u32 = 4 * 2 * STAGE;

const _: () = assert!(lessons::DOUBLE_BUFFERING.has_geometry([TILE, TILE, BLOCK_K], [THREADS, 1], Bytes(BYTES)));

/// C = A * B, row-major, any extents and leading dimensions.
///
/// # Safety
/// `params` describes matrices in global memory. The CTA has THREADS threads, the grid covers C.
#[kernel(max_threads = THREADS, min_blocks = 2)]
pub unsafe fn lesson_08_double_buffering(#[grid_constant] params: &GemmParams<f32>) {
    let GemmArgs { m, n, k, lda, ldb, ldc } = params.args();
    // SAFETY: every access to global memory is guarded by the extents. In shared memory each thread writes elements of
    // its own, and barriers separate the writes from the reads by other threads. Vectors begin at multiples of 4.
    unsafe {
        let Operands { a, b, c, .. } = Operands::new(params);
        // u128: aligned for vec4.
        let stages = Shared::new(shared_array![u128; BYTES as usize / 16].cast(), 2 * STAGE as usize);
        let tile = TileOrigin::of_block(thread::block_idx_x(), n, TILE);
        let t = thread::thread_idx_x();
        let (a_m, a_k) = (t / 2, t % 2 * 4);
        let (b_k, b_n) = (t / 32, t % 32 * 4);
        let (warp, lane) = (t / 32, t % 32);
        let (y, x) = ((lane / 2 % 2) + (lane / 16 * 2), (lane % 2) + (lane / 4 % 4 * 2));
        let (row, column) = (warp % 4 * 32 + 4 * y, warp / 4 * 64 + 4 * x);

        let load = |k0: u32| {
            let from_a = load4(a, [m, k, lda], tile.row + a_m, k0 + a_k);
            (from_a, load4(b, [k, n, ldb], k0 + b_k, tile.column + b_n))
        };
        let store = |stage: u32, (from_a, from_b): ([f32; 4], [f32; 4])| {
            for i in 0..4 {
                stages.set((stage + (a_k + i) * PITCH + a_m) as usize, from_a[i as usize]);
            }
            stages.set_vec((stage + A_ELEMS + b_k * PITCH + b_n) as usize, from_b);
        };
        let fragments = |stage: u32, i: u32| -> [[[f32; 4]; 2]; 2] {
            let (of_a, of_b) = (stage + i * PITCH + row, stage + A_ELEMS + i * PITCH + column);
            [[of_a, of_a + 16], [of_b, of_b + 32]].map(|two| two.map(|first| stages.get_vec(first as usize)))
        };

        let mut acc = [[0.0; 8]; 8];
        let mut stage = 0;
        store(stage, load(0));
        // RAW: the first stage is filled before any thread reads what others wrote.
        thread::sync_threads();
        let mut fragment = fragments(stage, 0);
        let mut k0 = 0;
        while k0 < k {
            // After the last k-tile: zeros, which nothing is computed from.
            let prefetched = load(k0 + BLOCK_K);
            unrolled!(BLOCK_K, at most 8, |i| {
                if i + 1 == BLOCK_K {
                    stage = STAGE - stage;
                    store(stage, prefetched);
                    // RAW: the next stage is filled. WAR: no thread reads the stage before any more.
                    thread::sync_threads();
                }
                let next = fragments(stage, (i + 1) % BLOCK_K);
                // Column by column, in serpentine order: ptxas keeps the order, and reuses operands.
                unrolled!(8, at most 8, |s| unrolled!(8, at most 8, |turn| {
                    let r = if s % 2 == 0 { turn } else { 7 - turn };
                    fma(&mut acc[r][s], fragment[0][r / 4][r % 4], fragment[1][s / 4][s % 4]);
                }));
                fragment = next;
            });
            k0 += BLOCK_K;
        }

        unrolled!(8, at most 8, |r| {
            let row = tile.row + row + r / 4 * 16 + r % 4;
            for s in 0..8 {
                let column = tile.column + column + s / 4 * 32 + s % 4;
                let index = || row as usize * ldc as usize + column as usize;
                c.set_if(row < m && column < n, index, || acc[r as usize][s as usize]);
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
