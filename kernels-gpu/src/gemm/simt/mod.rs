//! The body of the `simt` family: a [pipeline](crate::block::pipeline) of `cp.async` loads, FMA from registers.
//!
//! ```text
//! load k-tiles 0 .. STAGES - 1, one group each
//! wait for the first; barrier                                     RAW: stage 0 is full
//! for each k-tile:
//!     for each k of the k-tile:
//!         load the fragments of k + 1 (at the last k: wait, barrier, then of the next stage)
//!         start a few loads of k-tile + STAGES - 1
//!         acc += outer product of the fragments of k
//! for each four k of a k-tile that K does not fill: acc += their outer products
//! C = alpha * acc + beta * C
//! ```
//!
//! Two things hide latency: loads run STAGES - 1 k-tiles ahead of their use, and fragments are in registers one k ahead
//! of theirs.
//!
//! Shapes (elements): `A_s` is k x m, `B_s` k x n, both with a pitch of 4 more ([`BlockTile`]). A warp computes `4 *
//! thread_m` rows and `8 * thread_n` columns; a lane has vec4s of rows, 16 rows apart, and vec4s of columns, 32 columns
//! apart.

mod epilogue;
mod fragments;
mod loader;
pub mod sectors;
pub mod through_registers;

use cuda_std::{shared, thread};
use cuda_views::Shared;
use tilewright_contract::{BlockTile, GemmParams, RasterTile};

use crate::block::groups;
use crate::block::major::OperandMajor;
use crate::block::pipeline::CpAsyncPipeline;
use crate::block::unroll::unrolled;
use crate::block::warp::Lane;
use crate::ptx::fma::fma;
use crate::ptx::{async_copy, optimization_barrier};
use fragments::Fragments;
use loader::{GmemLoader, OperandTile};

/// A tile as a type, so that its numbers are constants of the kernel.
pub trait Tile {
    /// The geometry.
    const TILE: BlockTile;
}

/// Computes this CTA's tile of C, or its split of it. `M` and `N` are the tile's `thread_m` and `thread_n`.
///
/// # Safety
/// - The operands are as `params` describes them, A and B with majors `LA` and `LB`, in global memory; workspace and
///   counters are as [`reduce`](crate::block::split_k::reduce) asks for.
/// - The CTA has the tile's threads along x and its bytes of dynamic shared memory; the grid covers C once per split
///   along x, and has a row along y for each product; or along x it covers the tiles of all [`groups`].
/// - `k_per_split` is a multiple of the tile's k; `splits * k_per_split` is at least `k`. 256 rows of an operand span
///   less than 2^32 elements.
#[inline(always)]
pub unsafe fn gemm<T: Tile, LA: OperandMajor, LB: OperandMajor, const M: usize, const N: usize>(
    params: &GemmParams<f32>,
) {
    const { assert!(M == T::TILE.thread_m as usize && N == T::TILE.thread_n as usize) };
    let tile = const { T::TILE };
    let cta = thread::block_idx_x();
    let tiles_n = params.n.div_ceil(tile.n);
    // SAFETY: the caller's promise.
    unsafe {
        if const { T::TILE.groups } {
            if let Some(at) = groups::find(params, cta, tile.m, tiles_n) {
                let params = &groups::params_of(params, at);
                gemm_tile::<T, LA, LB, M, N>(params, [at.row, at.tile_n * tile.n], 0);
            }
        } else {
            let tiles_m = params.m.div_ceil(tile.m);
            let at = RasterTile::of_block(cta, tiles_m, tiles_n, const { RasterTile::group_m(T::TILE.m) });
            gemm_tile::<T, LA, LB, M, N>(params, [at.tile_m * tile.m, at.tile_n * tile.n], at.split);
        }
    }
}

/// Computes the tile of C that begins at `row` and `column`, or its split of it.
///
/// # Safety
/// As for [`gemm`]; the tile begins inside C.
#[inline(always)]
unsafe fn gemm_tile<T: Tile, LA: OperandMajor, LB: OperandMajor, const M: usize, const N: usize>(
    params: &GemmParams<f32>,
    [row, column]: [u32; 2],
    split: u32,
) {
    let tile = const { T::TILE };
    let args = params.args();
    let t = thread::thread_idx_x();
    let (warp, lane) = (t / 32, Lane::of(t % 32));
    let k_begin = split * params.k_per_split;
    let k_end = args.k.min(k_begin + params.k_per_split);

    let pipeline = const {
        CpAsyncPipeline {
            stages: T::TILE.stages,
            stage_elems: T::TILE.stage_elems(),
        }
    };
    // SAFETY: the allocation holds all stages, aligned for vectors.
    let stages = unsafe { Shared::new(shared::dynamic_shared_mem::<f32>(), pipeline.elems()) };
    let (tile_a, tile_b) = const { (OperandTile::a(T::TILE), OperandTile::b(T::TILE)) };
    // SAFETY: the matrices are as `params` says.
    let (mut loader_a, mut loader_b) = unsafe { loader::of::<T, LA, LB>(params, args, t, [row, column], k_begin) };
    let loads_a = const { OperandTile::a(T::TILE).loads::<LA>() };
    let loads = const { loads_of_k_tile::<T, LA, LB>() };
    // Loads at each k but the last, which waits.
    let loads_per_k = const { loads_of_k_tile::<T, LA, LB>().div_ceil(T::TILE.k - 1) };

    // What is left along K from the k-tile that is loaded on, and its stage.
    let mut left = k_end.saturating_sub(k_begin);
    let mut load_stage = 0;
    // Loads of A and B by turns share what is inside K, which would be kept from all of A's to all of B's.
    let by_turns = const {
        let are_as_many = loads_of_k_tile::<T, LA, LB>() == 2 * OperandTile::a(T::TILE).loads::<LA>();
        are_as_many && GmemLoader::walks::<LA>() && GmemLoader::walks::<LB>()
    };
    macro_rules! load {
        ($number:expr) => {{
            let (is_a, number) = match by_turns {
                true => ($number % 2 == 0, $number / 2),
                false if $number < loads_a => (true, $number),
                false => (false, $number - loads_a),
            };
            // SAFETY: the stage is in the pipeline. At first nobody has used it; later the last barrier has drained it.
            unsafe {
                if is_a && $number < loads {
                    loader_a.load::<LA>(tile_a, stages, load_stage, number, left);
                } else if $number < loads {
                    loader_b.load::<LB>(tile_b, stages, load_stage + tile.a_elems(), number, left);
                }
            }
        }};
    }
    macro_rules! commit_k_tile {
        ($next_stage:expr) => {
            async_copy::commit();
            loader_a.advance::<LA>(tile_a);
            loader_b.advance::<LB>(tile_b);
            // Past the end, zeros are loaded: never more than `stages` k-tiles.
            left = left.saturating_sub(tile.k);
            load_stage = $next_stage;
        };
    }
    let mut stage = 0;
    while stage + 1 < tile.stages {
        unrolled!(const loads_of_k_tile::<T, LA, LB>(), at most 40, |number| load!(number));
        commit_k_tile!(pipeline.next(load_stage));
        stage += 1;
    }

    let mut acc = [[0.0; N]; M];
    let mut from_a = [[0.0; M]; 2];
    let mut from_b = [[0.0; N]; 2];
    let warp_fragments = Fragments::new::<T>(stages, warp, lane, 0);
    // SAFETY: the stage is in the pipeline and full.
    let fragments = |from_a: &mut [f32; M], from_b: &mut [f32; N], stage: u32, k: u32| unsafe {
        warp_fragments.load::<T, M, N>(from_a, from_b, stage, k);
    };

    pipeline.wait();
    // RAW: every thread's loads of stage 0 are there.
    thread::sync_threads();
    let mut stage = 0;
    fragments(&mut from_a[0], &mut from_b[0], stage, 0);
    let mut k = k_begin;
    // Where the k-tiles of this loop end: those that K fills, or all.
    let ends_early = const { T::TILE.k_granularity() < T::TILE.k };
    let end = if ends_early {
        k_end.saturating_sub(tile.k - 1)
    } else {
        k_end
    };
    while k < end {
        unrolled!(const T::TILE.k, at most 40, |kk| {
            let (now, next) = ((kk % 2) as usize, ((kk + 1) % 2) as usize);
            if kk + 1 == tile.k {
                // The stage that is drained is loaded next.
                commit_k_tile!(stage);
                pipeline.wait();
                // RAW: every thread's loads of the next stage are there. WAR: no thread reads this stage any more,
                // which the next loads write.
                thread::sync_threads();
                stage = pipeline.next(stage);
                fragments(&mut from_a[next], &mut from_b[next], stage, 0);
            } else {
                fragments(&mut from_a[next], &mut from_b[next], stage, kk + 1);
                unrolled!(const loads_of_k_tile::<T, LA, LB>().div_ceil(T::TILE.k - 1), |number| {
                    load!(kk * loads_per_k + number)
                });
            }
            outer_product(&mut acc, &from_a[now], &from_b[now]);
        });
        k += tile.k;
    }
    if ends_early {
        // A loop, for it takes less code than a k-tile.
        let mut kk = optimization_barrier::zero();
        while k + kk < k_end {
            unrolled!(const T::TILE.k_granularity(), at most 40, |step| {
                fragments(&mut from_a[0], &mut from_b[0], stage, kk + step);
                outer_product(&mut acc, &from_a[0], &from_b[0]);
            });
            kk += tile.k_granularity();
        }
    }

    // SAFETY: the caller's promise; the tile is this CTA's.
    unsafe { epilogue::store::<T, M, N>(acc, [row, column], 0, params) };
}

/// Loads of one thread per k-tile.
const fn loads_of_k_tile<T: Tile, LA: OperandMajor, LB: OperandMajor>() -> u32 {
    OperandTile::a(T::TILE).loads::<LA>() + OperandTile::b(T::TILE).loads::<LB>()
}

/// `acc += a * b^T`, row by row in serpentine order: consecutive FMA share an operand, which the reuse cache holds.
#[inline(always)]
fn outer_product<const M: usize, const N: usize>(acc: &mut [[f32; N]; M], a: &[f32; M], b: &[f32; N]) {
    unrolled!(const M, at most 16, |i| {
        let mut column = 0;
        while column < N {
            let j = if i % 2 == 0 { column } else { N - 1 - column };
            fma(&mut acc[i][j], a[i], b[j]);
            column += 1;
        }
    });
}
