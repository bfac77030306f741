//! Lesson 12: a producer warp runs ahead of the consumer warpgroups.
//!
//! ```text
//! producer, one thread:                        consumers, two warpgroups of 64 rows each:
//! for each k-tile:                             for each k-tile:
//!     wait until its stage is empty                wait until its stage is full
//!     start its TMA loads;                         acc += A_s * B_s, 4 wgmma
//!     as they arrive it is full                    the stage is empty
//!                                              C = acc
//! ```
//!
//! **What changed since lesson 11.** Loads and wgmma no longer take turns. Two mbarriers per stage synchronize them, in
//! a pipeline of four stages: `full` counts the bytes of the loads, `empty` the consumers that are done. K-tile i is in
//! stage i % STAGES, and the parity of its phase is i / STAGES % 2. While one warpgroup waits for its wgmma, the
//! other's run.
//!
//! **Registers.** A tile of 128 x 256 takes 128 accumulators per consumer thread. 384 threads can have 168 registers
//! each: the producer's warpgroup gives most of its own to the consumers (`setmaxnreg`).
//!
//! **Shared memory.** 4 * ((128 + 256) * 64 * 2 + 16) = 196,672 bytes, dynamic.
//!
//! Source: PTX ISA, "mbarrier", "setmaxnreg"; P. Shankhdhar, "Outperforming cuBLAS on H100", kernels 4 and 5.

use cuda_std::{kernel, shared, thread, warp};
use cuda_views::Shared;
use half::f16;
use tilewright_contract::{Bytes, GemmParams, RasterTile, lessons};

use crate::block::{element::Narrowed, operands::Operands, unroll::unrolled};
use crate::ptx::wgmma::{self, Accumulators, Descriptor, accumulator_position};
use crate::ptx::{bulk_copy, elect::elect, mbarrier, setmaxnreg, warp_uniform::warp_uniform};
use crate::ptx::{shared_address::shared_address, tensor_map::TensorMap};

/// Rows and columns of C of a CTA; depth of a k-tile, 128 bytes; threads, two consumer warpgroups and the producer's.
const BLOCK_M: u32 = 128;
const BLOCK_N: u32 = 256;
const BLOCK_K: u32 = 64;
const THREADS: u32 = 384;
/// Elements of 64 rows of `A_s`, and of 64 columns of `B_s`; of a stage.
const ATOM: u32 = 64 * BLOCK_K;
const STAGE: u32 = 6 * ATOM;
const STAGES: u32 = 4;
/// The mbarriers of the stages, in units of 8 bytes from the start of shared memory.
const FULL: u32 = 2 * STAGES * STAGE / 8;
const EMPTY: u32 = FULL + STAGES;
const BYTES: u32 = 8 * (EMPTY + STAGES);
/// Tiles along M of a group of CTAs.
const GROUP_M: u32 = 16;

const _: () = assert!(lessons::WARP_SPECIALIZED.has_geometry([BLOCK_M, BLOCK_N, BLOCK_K], [THREADS, 1], Bytes(BYTES)));

/// C = A * B, row-major, any extents; leading dimensions of A and B are multiples of 8.
///
/// # Safety
/// As for lesson 11, with THREADS threads and BYTES bytes of dynamic shared memory.
#[kernel(max_threads = THREADS, min_blocks = 1)]
pub unsafe fn lesson_12_warp_specialized(
    #[grid_constant] params: &GemmParams<f16>,
    #[grid_constant] map_a: &TensorMap,
    #[grid_constant] map_b: &TensorMap,
    #[grid_constant] _map_c: &TensorMap,
) {
    // SAFETY: warpgroups are whole wherever they execute `wgmma` and `setmaxnreg`. Loads write a stage, and `wgmma`
    // read it, as its mbarriers say. Stores to C are guarded by the extents.
    unsafe {
        let stages = Shared::new(shared::dynamic_shared_mem::<f16>(), (STAGES * STAGE) as usize);
        let barriers = Shared::new(shared::dynamic_shared_mem::<u64>(), BYTES as usize / 8);
        let (tiles_m, tiles_n) = (params.m.div_ceil(BLOCK_M), params.n.div_ceil(BLOCK_N));
        let tile = RasterTile::of_block(thread::block_idx_x(), tiles_m, tiles_n, GROUP_M);
        let (row, column) = (tile.tile_m * BLOCK_M, tile.tile_n * BLOCK_N);
        // From lane 0 for the whole warp: ptxas keeps what it knows to be uniform in uniform registers.
        let warp = warp_uniform(thread::thread_idx_x() / 32);
        if thread::thread_idx_x() == 0 {
            for stage in 0..STAGES {
                mbarrier::init(barriers, FULL + stage, 1);
                mbarrier::init(barriers, EMPTY + stage, 2);
            }
            mbarrier::fence_init();
        }
        // RAW: the mbarriers are initialized.
        thread::sync_threads();

        if warp >= 8 {
            setmaxnreg::decrease::<24>();
            if warp == 8 && elect(u32::MAX) {
                for i in 0..params.k.div_ceil(BLOCK_K) {
                    let (stage, phase) = (i % STAGES, i / STAGES % 2);
                    let (a_s, full) = (stage * STAGE, (barriers, FULL + stage));
                    // WAR: the stage is drained. At first the phase before the first one counts as complete.
                    mbarrier::wait(barriers, EMPTY + stage, phase ^ 1);
                    mbarrier::arrive_expect_tx(barriers, FULL + stage, 2 * STAGE);
                    bulk_copy::load_2d(stages, a_s, map_a, [(i * BLOCK_K) as i32, row as i32], full);
                    for atom in 0..BLOCK_N / 64 {
                        let at = [(column + 64 * atom) as i32, (i * BLOCK_K) as i32];
                        bulk_copy::load_2d(stages, a_s + 2 * ATOM + atom * ATOM, map_b, at, full);
                    }
                }
            }
            warp::sync_warp(u32::MAX);
        } else {
            setmaxnreg::increase::<240>();
            let t = thread::thread_idx_x() % 128;
            let a_s = Descriptor::k_major(shared_address(stages, warp / 4 * ATOM));
            let b_s = Descriptor::mn_major(shared_address(stages, 2 * ATOM), 2 * ATOM);
            let mut acc = <[f32; BLOCK_N as usize / 2]>::zero();
            for i in 0..params.k.div_ceil(BLOCK_K) {
                let (stage, phase) = (i % STAGES, i / STAGES % 2);
                // RAW: the stage is filled.
                mbarrier::wait(barriers, FULL + stage, phase);
                wgmma::fence(&mut acc);
                unrolled!(BLOCK_K / 16, at most 4, |j| {
                    let at = stage * 2 * STAGE;
                    let (a, b) = (a_s.advanced(at + 32 * j), b_s.advanced(at + 2048 * j));
                    wgmma::mma_async::<f16, false, true, _>(&mut acc, a, b, true);
                });
                wgmma::commit();
                wgmma::wait::<0, _>(&mut acc);
                if t == 0 {
                    mbarrier::arrive(barriers, EMPTY + stage);
                }
            }

            let Operands { c, args, .. } = Operands::new(params);
            let (y, x) = accumulator_position(thread::thread_idx_x(), 0);
            unrolled!(BLOCK_N as usize / 8, |j| unrolled!(2, at most 2, |half| {
                let (row, column) = (row + y + 8 * half as u32, column + x + 8 * j as u32);
                let inside = [column, column + 1].map(|column| row < args.m && column < args.n);
                let pair = f16::narrow_pair([acc[4 * j + 2 * half], acc[4 * j + 2 * half + 1]]);
                c.set_pair_if(inside, row as usize * args.ldc as usize + column as usize, pair);
            }));
        }
    }
}
