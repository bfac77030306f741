//! Lesson 15: C by TMA stores, while the next tile is computed.
//!
//! ```text
//! consumers, after the k-tiles of a tile:
//!     wait until the stores of the tile before have read C_s; barrier     WAR: C_s drained
//!     write the accumulators to C_s by stmatrix, as f16
//!     proxy fence; barrier                                                RAW: C_s filled
//!     one thread starts four TMA stores of 64 x 64 elements
//! ```
//!
//! **What changed since lesson 14.** Threads write C to shared memory, which takes little time, and begin the next tile
//! while TMA stores whole lines of 128 bytes. `stmatrix` is `ldmatrix` in reverse; the swizzle is that of the tensor
//! map. Where rows of C are no multiples of 16 bytes, there is no map, and threads copy them from `C_s`.
//!
//! **Cost.** `C_s` takes the place of the fourth stage. **Pitfall.** TMA reads shared memory by the async proxy, which
//! sees what threads have written only after a proxy fence.
//!
//! **Shared memory.** 3 * ((128 + 256) * 64 * 2 + 16) + 128 * 256 * 2 = 213,040 bytes, dynamic. Source: PTX ISA,
//! "stmatrix", "fence.proxy"; P. Shankhdhar, "Outperforming cuBLAS on H100", kernel 10.

use cuda_std::{kernel, shared, thread, warp};
use cuda_views::Shared;
use half::f16;
use tilewright_contract::{Bytes, GemmParams, RasterTile, Swizzle, lessons};

use crate::block::{element::Narrowed, operands::Operands, unroll::unrolled};
use crate::ptx::wgmma::{self, Accumulators, Descriptor, accumulator_position};
use crate::ptx::{bulk_copy, cluster, elect::elect, mbarrier, setmaxnreg, warp_uniform::warp_uniform};
use crate::ptx::{named_barrier, shared_address::shared_address, stmatrix, tensor_map::TensorMap};

/// Rows and columns of C of a CTA; depth of a k-tile, 128 bytes; threads, two consumer warpgroups and the producer's.
const BLOCK_M: u32 = 128;
const BLOCK_N: u32 = 256;
const BLOCK_K: u32 = 64;
const THREADS: u32 = 384;
/// Elements of 64 rows of `A_s`, and of 64 columns of `B_s`; of a stage.
const ATOM: u32 = 64 * BLOCK_K;
const STAGE: u32 = 6 * ATOM;
const STAGES: u32 = 3;
/// `C_s`: four epilogue subtiles of each consumer warpgroup, whose rows are swizzled as those of the tensor map.
const C_S: u32 = STAGES * STAGE;
const C_ROWS: Swizzle = Swizzle::of_row(64);
/// The mbarriers of the stages, in units of 8 bytes from the start of shared memory.
const FULL: u32 = 2 * (C_S + 8 * ATOM) / 8;
const EMPTY: u32 = FULL + STAGES;
const BYTES: u32 = 8 * (EMPTY + STAGES);
/// CTAs of a cluster, neighbors along M; clusters along M of a group.
const CLUSTER: u32 = 2;
const GROUP_M: u32 = 8;

const _: () = assert!(lessons::TMA_STORE.has_geometry([BLOCK_M, BLOCK_N, BLOCK_K], [THREADS, 1], Bytes(BYTES)));

/// C = A * B, row-major, any extents; leading dimensions of A and B are multiples of 8.
///
/// # Safety
/// As for lesson 11, with THREADS threads and BYTES bytes of dynamic shared memory, in clusters.
#[kernel(max_threads = THREADS, min_blocks = 1, cluster = CLUSTER)]
pub unsafe fn lesson_15_tma_store(
    #[grid_constant] params: &GemmParams<f16>,
    #[grid_constant] map_a: &TensorMap,
    #[grid_constant] map_b: &TensorMap,
    #[grid_constant] map_c: &TensorMap,
) {
    // SAFETY: warpgroups are whole wherever they execute `wgmma` and `setmaxnreg`. Loads write a stage, and `wgmma`
    // read it, as its mbarriers say. Stores to C are guarded by the extents.
    unsafe {
        let stages = Shared::new(shared::dynamic_shared_mem::<f16>(), (C_S + 8 * ATOM) as usize);
        let barriers = Shared::new(shared::dynamic_shared_mem::<u64>(), BYTES as usize / 8);
        // Tiles of clusters, of which this CTA computes the upper half or the lower. That may be below C.
        let rank = cluster::rank();
        let (tiles_m, tiles_n) = (params.m.div_ceil(CLUSTER * BLOCK_M), params.n.div_ceil(BLOCK_N));
        let (first, step) = (thread::block_idx_x() / CLUSTER, thread::grid_dim_x() / CLUSTER);
        let first_of_tile = |tile: u32| {
            let at = RasterTile::of_block(tile, tiles_m, tiles_n, GROUP_M);
            ((at.tile_m * CLUSTER + rank) * BLOCK_M, at.tile_n * BLOCK_N)
        };
        // From lane 0 for the whole warp: ptxas keeps what it knows to be uniform in uniform registers.
        let warp = warp_uniform(thread::thread_idx_x() / 32);
        if thread::thread_idx_x() == 0 {
            for stage in 0..STAGES {
                mbarrier::init(barriers, FULL + stage, 1);
                mbarrier::init(barriers, EMPTY + stage, 2 * CLUSTER);
            }
            mbarrier::fence_init();
        }
        // RAW: the mbarriers of both CTAs are initialized.
        cluster::arrive();
        cluster::wait();
        if warp >= 8 {
            setmaxnreg::decrease::<24>();
            if warp == 8 && elect(u32::MAX) {
                let (mut tile, mut i) = (first, 0);
                while tile < tiles_m * tiles_n {
                    let (row, column) = first_of_tile(tile);
                    for k_tile in 0..params.k.div_ceil(BLOCK_K) {
                        let (stage, phase, k0) = (i % STAGES, i / STAGES % 2, (k_tile * BLOCK_K) as i32);
                        let (a_s, full) = (stage * STAGE, (barriers, FULL + stage));
                        // WAR: the stage is drained, in both CTAs.
                        cluster::wait_for(barriers, EMPTY + stage, phase ^ 1);
                        mbarrier::arrive_expect_tx(barriers, FULL + stage, 2 * STAGE);
                        bulk_copy::load_2d(stages, a_s, map_a, [k0, row as i32], full);
                        for atom in 2 * rank..2 * rank + 2 {
                            let (to, at) = (a_s + 2 * ATOM + atom * ATOM, [(column + 64 * atom) as i32, k0]);
                            bulk_copy::load_2d_multicast(stages, to, map_b, at, full, 0b11);
                        }
                        i += 1;
                    }
                    tile += step;
                }
                // WAR: the other CTA has arrived at this one's mbarriers for the last time before it exits.
                for i in i..i + STAGES {
                    cluster::wait_for(barriers, EMPTY + i % STAGES, (i / STAGES % 2) ^ 1);
                }
            }
            warp::sync_warp(u32::MAX);
        } else {
            setmaxnreg::increase::<240>();
            let t = thread::thread_idx_x() % 128;
            let a_s = Descriptor::k_major(shared_address(stages, warp / 4 * ATOM));
            let b_s = Descriptor::mn_major(shared_address(stages, 2 * ATOM), 2 * ATOM);
            let Operands { c, args, .. } = Operands::new(params);
            let (y, x) = accumulator_position(thread::thread_idx_x(), 0);
            let has_map =
                params.c.addr().is_multiple_of(16) && params.n.is_multiple_of(8) && params.ldc.is_multiple_of(8);
            let c_s = C_S + warp / 4 * 4 * ATOM;
            let (mut tile, mut i) = (first, 0);
            while tile < tiles_m * tiles_n {
                // Here, and not before the loop: accumulators that flow from tile to tile make ptxas serialize the
                // wgmma.
                let mut acc = <[f32; BLOCK_N as usize / 2]>::zero();
                for _ in 0..params.k.div_ceil(BLOCK_K) {
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
                    if t < CLUSTER {
                        cluster::arrive_at_after_products(cluster::map(barriers, EMPTY + stage, t));
                    }
                    i += 1;
                }
                let (row, column) = first_of_tile(tile);
                if !has_map {
                    // By threads, as in lesson 14.
                    unrolled!(BLOCK_N as usize / 8, |j| unrolled!(2, at most 2, |half| {
                        let (row, column) = (row + y + 8 * half as u32, column + x + 8 * j as u32);
                        let inside = [column, column + 1].map(|column| row < args.m && column < args.n);
                        let pair = f16::narrow_pair([acc[4 * j + 2 * half], acc[4 * j + 2 * half + 1]]);
                        c.set_pair_if(inside, row as usize * args.ldc as usize + column as usize, pair);
                    }));
                    tile += step;
                    continue;
                }
                // WAR: the TMA stores of the tile before have read C_s.
                if warp.is_multiple_of(4) && elect(u32::MAX) {
                    bulk_copy::wait_read::<0>();
                }
                named_barrier::sync(1 + warp / 4, 128);
                unrolled!(BLOCK_N as usize / 16, at most 16, |j| {
                    // 16 rows of the warp by 16 columns; this lane passes one of the 16-byte vectors.
                    let vector = C_ROWS.elem(16 * (warp % 4) + t % 16, j as u32 % 4 * 2 + t % 32 / 16);
                    let pairs = [0, 2, 4, 6].map(|i| f16::narrow_pair([acc[8 * j + i], acc[8 * j + i + 1]]));
                    stmatrix::store::<f16, 4>(stages, c_s + j as u32 / 4 * ATOM + vector, pairs.map(bytemuck::cast));
                });
                bulk_copy::proxy_fence();
                // RAW: C_s is filled, and the async proxy sees it.
                named_barrier::sync(1 + warp / 4, 128);
                if warp.is_multiple_of(4) && elect(u32::MAX) {
                    for subtile in 0..BLOCK_N / 64 {
                        let at = [(column + 64 * subtile) as i32, (row + warp / 4 * 64) as i32];
                        bulk_copy::store_2d(map_c, at, stages, c_s + subtile * ATOM);
                    }
                    bulk_copy::commit();
                }
                warp::sync_warp(u32::MAX);
                tile += step;
            }
            // The CTA's shared memory is there until TMA has read it.
            if warp.is_multiple_of(4) && elect(u32::MAX) {
                bulk_copy::wait_read::<0>();
            }
        }
    }
}
