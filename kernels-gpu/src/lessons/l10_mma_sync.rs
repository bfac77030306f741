//! Lesson 10: tensor cores, a warp at a time.
//!
//! ```text
//! start the loads of k-tiles 0, 1 and 2, one group each; wait for the first; barrier
//! for each k-tile of 32:
//!     for each half of it, 16 along K:
//!         next = fragments of the other half (at the end: wait for the next k-tile; barrier; its first half)
//!         at the start: start the loads of the k-tile three ahead
//!         acc += 32 mma of the fragments
//! ```
//!
//! **What changed since lesson 9.** Elements are f16 with accumulators of f32, and the unit that computes is the warp:
//! `mma.sync` multiplies 16 x 16 elements of A by 16 x 8 of B, each spread over the registers of 32 lanes. `ldmatrix`
//! loads these fragments, four 8 x 8 matrices at once; `.trans` transposes those of the row-major B.
//!
//! **Layout.** Rows of shared memory are packed. In place of padding, the 16-byte vectors of a row are permuted by an
//! XOR with the row ([`Swizzle`]): the 8 rows of a matrix are in different banks, and every address stays aligned.
//!
//! **Shared memory.** 4 * (128 + 128) * 32 * 2 = 65,536 bytes, dynamic. Source: PTX ISA, "mma", "ldmatrix"; CUTLASS,
//! "Efficient GEMM in CUDA".

use cuda_std::{kernel, shared, thread};
use cuda_views::Shared;
use half::f16;
use tilewright_contract::{Bytes, GemmArgs, GemmParams, RasterTile, Swizzle, lessons};

use crate::block::{element::Narrowed, operands::Operands, unroll::unrolled};
use crate::ptx::mma::{c_place, mma};
use crate::ptx::{async_copy, ldmatrix};

/// Rows and columns of C of a CTA; depth of a k-tile; threads, 4 warps of 64 x 64 elements of C.
const TILE: u32 = 128;
const BLOCK_K: u32 = 32;
const THREADS: u32 = 128;
/// Elements of `A_s`, and of `B_s`.
const ELEMS: u32 = TILE * BLOCK_K;
const STAGES: u32 = 4;
const BYTES: u32 = 2 * STAGES * 2 * ELEMS;
/// Tiles along M of a group of CTAs.
const GROUP_M: u32 = 16;
/// The order of the 16-byte vectors of a row of `A_s` (along K), and of `B_s` (along N).
const A_ROWS: Swizzle = Swizzle::of_row(BLOCK_K);
const B_ROWS: Swizzle = Swizzle::of_row(TILE);

const _: () = assert!(lessons::MMA_SYNC.has_geometry([TILE, TILE, BLOCK_K], [THREADS, 1], Bytes(BYTES)));

/// C = A * B, row-major, any extents; leading dimensions of A and B are multiples of 8.
///
/// # Safety
/// `params` describes matrices in global memory; A and B begin at multiples of 16 bytes, and TILE of their rows span
/// less than 2^32 elements. The CTA has THREADS threads and dynamic shared memory for all stages, the grid covers C.
#[kernel(max_threads = THREADS, min_blocks = 2)]
pub unsafe fn lesson_10_mma_sync(#[grid_constant] params: &GemmParams<f16>) {
    let GemmArgs { m, n, k, lda, ldb, ldc } = params.args();
    // SAFETY: every access to global memory is guarded by the extents. Waits and barriers separate the loads to a stage
    // from the reads of other threads. Whole warps execute `ldmatrix` and `mma`.
    unsafe {
        let Operands { a, b, c, .. } = Operands::new(params);
        let stages = Shared::<f16>::new(shared::dynamic_shared_mem::<f32>().cast(), BYTES as usize / 2);
        let tile = RasterTile::of_block(thread::block_idx_x(), m.div_ceil(TILE), n.div_ceil(TILE), GROUP_M);
        let (tile_row, tile_column) = (tile.tile_m * TILE, tile.tile_n * TILE);
        let t = thread::thread_idx_x();
        let (warp, lane) = (t / 32, t % 32);

        // A thread's loads, 16 bytes each: 4 threads take a row of A's k-tile, 16 a row of B's. Elements outside the
        // matrices become zero.
        let (a_m, a_k) = (t / 4, t % 4 * 8);
        let (b_k, b_n) = (t / 16, t % 16 * 8);
        let from_a = (tile_row + a_m) as usize * lda as usize + a_k as usize;
        let from_b = b_k as usize * ldb as usize + (tile_column + b_n) as usize;
        let load = |stage: u32, k0: u32| {
            let of_row = |inside: bool, end: u32, at: u32| if inside { end.saturating_sub(at).min(8) } else { 0 };
            unrolled!(4, at most 4, |i| {
                let to = stage + A_ROWS.elem(a_m + 32 * i, a_k / 8);
                let valid = of_row(tile_row + a_m + 32 * i < m, k, k0 + a_k);
                async_copy::copy::<f16, 8>(stages, to, a, || from_a + k0 as usize + (32 * i * lda) as usize, valid);
                let to = stage + ELEMS + B_ROWS.elem(b_k + 8 * i, b_n / 8);
                let valid = of_row(k0 + b_k + 8 * i < k, n, tile_column + b_n);
                let index = || from_b + k0 as usize * ldb as usize + (8 * i * ldb) as usize;
                async_copy::copy::<f16, 8>(stages, to, b, index, valid);
            });
            async_copy::commit();
        };

        // The warp's part of the tile, and the row of the first matrices that this lane passes to `ldmatrix`. An XOR
        // with 16 elements moves it by 16 columns, as the swizzle does.
        let (row, column) = (warp % 2 * 64, warp / 2 * 64);
        let of_a = A_ROWS.elem(row + lane % 16, lane / 16);
        let of_b = ELEMS + B_ROWS.elem(lane % 16, column / 8 + lane / 16);
        let fragments = |stage: u32, half: u32| -> ([[u32; 4]; 4], [[u32; 4]; 4]) {
            let (of_a, of_b) = (stage + (of_a ^ (16 * half)), of_b + 16 * half * TILE);
            (
                [0, 1, 2, 3].map(|i| ldmatrix::load(stages, of_a + 16 * i * BLOCK_K)),
                [0, 1, 2, 3].map(|j| ldmatrix::load_transposed(stages, stage + (of_b ^ (16 * j)))),
            )
        };

        load(0, 0);
        load(2 * ELEMS, BLOCK_K);
        load(4 * ELEMS, 2 * BLOCK_K);
        async_copy::wait::<2>();
        // RAW: every thread's loads of stage 0 are there.
        thread::sync_threads();
        let mut acc = [[[0.0; 4]; 8]; 4];
        let mut stage = 0;
        let mut fragment = fragments(stage, 0);
        let mut k0 = 0;
        while k0 < k {
            unrolled!(2, at most 2, |half| {
                let free = (stage + 3 * 2 * ELEMS) % (STAGES * 2 * ELEMS);
                if half == 1 {
                    async_copy::wait::<2>();
                    // RAW: every thread's loads of the next stage are there. WAR: no thread reads this stage any more,
                    // which the loads that start next write.
                    thread::sync_threads();
                    stage = (stage + 2 * ELEMS) % (STAGES * 2 * ELEMS);
                }
                let next = fragments(stage, (half + 1) % 2);
                if half == 0 {
                    load(free, k0 + 3 * BLOCK_K);
                }
                unrolled!(4, at most 4, |i| unrolled!(8, at most 8, |turn| {
                    let j = if i % 2 == 0 { turn } else { 7 - turn };
                    let b = fragment.1[j / 2];
                    mma::<f16>(&mut acc[i][j], fragment.0[i], [b[j % 2 * 2], b[j % 2 * 2 + 1]]);
                }));
                fragment = next;
            });
            k0 += BLOCK_K;
        }
        let (y, x) = c_place(lane, 0);
        unrolled!(4, at most 4, |i| unrolled!(8, at most 8, |j| unrolled!(2, at most 2, |half| {
            let row = tile_row + row + y + 16 * i as u32 + 8 * half as u32;
            let column = tile_column + column + x + 8 * j as u32;
            let inside = [column, column + 1].map(|column| row < m && column < n);
            let pair = f16::narrow_pair([acc[i][j][2 * half], acc[i][j][2 * half + 1]]);
            c.set_pair_if(inside, row as usize * ldc as usize + column as usize, pair);
        })));
    }
}
