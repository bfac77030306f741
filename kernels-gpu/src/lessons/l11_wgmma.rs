//! Lesson 11: tensor cores, a warpgroup at a time, and TMA.
//!
//! ```text
//! for each k-tile of 64:
//!     one thread starts three TMA loads: 128 rows of A, 2 x 64 columns of B
//!     all wait on an mbarrier until the bytes are there                        RAW: stage filled
//!     the warpgroup computes acc += A_s * B_s by 2 x 4 wgmma, and waits for them
//!     barrier                                                                  WAR: stage drained
//! C = acc
//! ```
//!
//! **What changed since lesson 10.** `wgmma` multiplies 64 rows of A by 128 columns of B with one instruction of four
//! warps, and reads both from shared memory: no fragments, no `ldmatrix`. A TMA load copies a box of a matrix with one
//! instruction of one thread; it swizzles the box as `wgmma` expects it and writes zeros outside the matrix, so that
//! the loop has no guards. An mbarrier counts the bytes as they arrive.
//!
//! **Cost.** One stage: a CTA computes nothing while it loads. Three CTAs per SM take turns.
//!
//! **Shared memory.** (128 + 128) * 64 * 2 + 8 = 32,776 bytes, dynamic.
//!
//! Source: PTX ISA, "Asynchronous warpgroup level matrix instructions", "cp.async.bulk.tensor", "mbarrier"; P.
//! Shankhdhar, "Outperforming cuBLAS on H100", kernel 2.

use cuda_std::{kernel, shared, thread};
use cuda_views::Shared;
use half::f16;
use tilewright_contract::{Bytes, GemmParams, RasterTile, lessons};

use crate::block::{element::Narrowed, operands::Operands, unroll::unrolled};
use crate::ptx::wgmma::{self, Accumulators, Descriptor, accumulator_position};
use crate::ptx::{bulk_copy, mbarrier, shared_address::shared_address, tensor_map::TensorMap};

/// Rows and columns of C of a CTA; depth of a k-tile, 128 bytes; threads, a warpgroup.
const TILE: u32 = 128;
const BLOCK_K: u32 = 64;
const THREADS: u32 = 128;
/// Elements of 64 rows of `A_s`, and of 64 columns of `B_s`; of all of `A_s`, and of `B_s`.
const ATOM: u32 = 64 * BLOCK_K;
const ELEMS: u32 = 2 * ATOM;
/// The mbarrier, in units of 8 bytes from the start of shared memory.
const FULL: u32 = 2 * 2 * ELEMS / 8;
/// Tiles along M of a group of CTAs.
const GROUP_M: u32 = 16;

const _: () = assert!(lessons::WGMMA.has_geometry([TILE, TILE, BLOCK_K], [THREADS, 1], Bytes(8 * (FULL + 1))));

/// C = A * B, row-major, any extents; leading dimensions of A and B are multiples of 8.
///
/// # Safety
/// `params` describes matrices in global memory, the maps those of A with boxes of 64 x 128 elements and of B with
/// boxes of 64 x 64, with the 128-byte swizzle. The CTA has THREADS threads, dynamic shared memory for the stage and
/// the mbarrier, and no static; the grid covers C.
#[kernel(max_threads = THREADS, min_blocks = 3)]
pub unsafe fn lesson_11_wgmma(
    #[grid_constant] params: &GemmParams<f16>,
    #[grid_constant] map_a: &TensorMap,
    #[grid_constant] map_b: &TensorMap,
    #[grid_constant] _map_c: &TensorMap,
) {
    // SAFETY: the warpgroup is whole wherever it executes `wgmma`. The mbarrier and the barrier separate the loads to
    // the stage from its reads. Stores to C are guarded by the extents.
    unsafe {
        let stage = Shared::new(shared::dynamic_shared_mem::<f16>(), 2 * ELEMS as usize);
        let barriers = Shared::new(shared::dynamic_shared_mem::<u64>(), FULL as usize + 1);
        let (tiles_m, tiles_n) = (params.m.div_ceil(TILE), params.n.div_ceil(TILE));
        let tile = RasterTile::of_block(thread::block_idx_x(), tiles_m, tiles_n, GROUP_M);
        let (row, column) = (tile.tile_m * TILE, tile.tile_n * TILE);
        let t = thread::thread_idx_x();

        if t == 0 {
            // A phase takes one arrival: that of this thread, which also says how many bytes are to come.
            mbarrier::init(barriers, FULL, 1);
            mbarrier::fence_init();
        }
        // RAW: the mbarrier is initialized before any thread waits on it.
        thread::sync_threads();

        let a_s = Descriptor::k_major(shared_address(stage, 0));
        let b_s = Descriptor::mn_major(shared_address(stage, ELEMS), 2 * ATOM);
        let (mut upper, mut lower) = (<[f32; 64]>::zero(), <[f32; 64]>::zero());
        for k_tile in 0..params.k.div_ceil(BLOCK_K) {
            if t == 0 {
                let k0 = (k_tile * BLOCK_K) as i32;
                mbarrier::arrive_expect_tx(barriers, FULL, 2 * 2 * ELEMS);
                bulk_copy::load_2d(stage, 0, map_a, [k0, row as i32], (barriers, FULL));
                for atom in 0..2 {
                    let at = [(column + 64 * atom) as i32, k0];
                    bulk_copy::load_2d(stage, ELEMS + atom * ATOM, map_b, at, (barriers, FULL));
                }
            }
            // RAW: the stage is filled.
            mbarrier::wait(barriers, FULL, k_tile % 2);
            wgmma::fence(&mut upper);
            wgmma::fence(&mut lower);
            unrolled!(BLOCK_K / 16, at most 4, |i| {
                // 16 further along K: 32 bytes of a row of A, 16 rows of 128 bytes of B.
                let (a, b) = (a_s.advanced(32 * i), b_s.advanced(2048 * i));
                wgmma::mma_async::<f16, false, true, _>(&mut upper, a, b, true);
                wgmma::mma_async::<f16, false, true, _>(&mut lower, a.advanced(2 * ATOM), b, true);
            });
            wgmma::commit();
            wgmma::wait::<0, _>(&mut upper);
            wgmma::wait::<0, _>(&mut lower);
            // WAR: the wgmma of every warp have read the stage before the next loads write it.
            thread::sync_threads();
        }

        let Operands { c, args, .. } = Operands::new(params);
        let (y, x) = accumulator_position(t, 0);
        unrolled!(32, |i| unrolled!(2, at most 2, |half| {
            let (row, column) = (row + y + i as u32 % 2 * 8 + 64 * half, column + x + i as u32 / 2 * 8);
            let inside = [column, column + 1].map(|column| row < args.m && column < args.n);
            let acc = if half == 0 { [upper[2 * i], upper[2 * i + 1]] } else { [lower[2 * i], lower[2 * i + 1]] };
            c.set_pair_if(inside, row as usize * args.ldc as usize + column as usize, f16::narrow_pair(acc));
        }));
    }
}
