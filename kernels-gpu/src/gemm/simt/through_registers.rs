//! The body of kernels whose elements go through registers. With sliced-K, for a C of few elements, each of a CTA's
//! slices has warps for the whole tile of C, for its part of every k-tile; at the end their accumulators are added.
//!
//! ```text
//! load k-tiles 0 (with slices: what K has past a multiple of k-tiles) and 1 into registers; store 0 into stage 0
//! barrier                                                         RAW: stage 0 is full
//! for each k-tile:
//!     for each k of the slice:
//!         load the fragments of k + 1 (at the last k: barrier, then of the other stage)
//!         store a few elements of the next k-tile, load as many of the one after it into their registers
//!         acc += outer product of the fragments of k
//! with slices: accumulators of all into the stages; barrier; each slice adds up its part of the tile
//! C = alpha * acc + beta * C
//! ```
//!
//! Elements go through registers, two k-tiles ahead of their use, so that two stages suffice. Fragments, lanes and
//! stages are those of [`simt`](super). With slices the first k-tile is the one that K does not fill, so that no load
//! of the main loop compares its place with the end of K. Without them it is the last, and ends where K does, to four
//! elements: where K is short, the zeros past its end would be much of the work.

use cuda_std::{shared, thread};
use cuda_views::Shared;
use tilewright_contract::{GemmParams, RasterTile};

use super::fragments::Fragments;
use super::loader::{self, OperandTile};
use super::{Tile, epilogue, loads_of_k_tile, outer_product};
use crate::block::major::OperandMajor;
use crate::block::unroll::unrolled;
use crate::block::warp::Lane;
use crate::ptx::optimization_barrier;

/// Loads of one thread per k-tile, at most: their elements are kept in registers.
const MAX_LOADS: usize = 40;

/// Computes this CTA's tile of C, or its split of it. `M` and `N` are the tile's `thread_m` and `thread_n`, `ROWS` its
/// `rows_of_slice`.
///
/// # Safety
/// As for [`simt::gemm`](super::gemm), without groups.
#[inline(always)]
// Accumulators are indexed by row and column throughout.
#[allow(clippy::needless_range_loop)]
pub unsafe fn gemm<T: Tile, LA: OperandMajor, LB: OperandMajor, const M: usize, const N: usize, const ROWS: usize>(
    params: &GemmParams<f32>,
) {
    const { assert!(M == T::TILE.thread_m as usize && N == T::TILE.thread_n as usize) };
    const {
        assert!(
            !OperandTile::b(T::TILE).has_idle_lanes::<LB>(),
            "every thread has elements of B"
        )
    };
    const { assert!(ROWS == T::TILE.rows_of_slice() as usize && T::TILE.stages == 2 && !T::TILE.groups) };
    let tile = const { T::TILE };
    let args = params.args();
    let (tiles_m, tiles_n) = (args.m.div_ceil(tile.m), args.n.div_ceil(tile.n));
    // The split, and the tile's first row and column.
    let place = |zero: u32| {
        let group_m = const { RasterTile::group_m(T::TILE.m) };
        let at = RasterTile::of_block(thread::block_idx_x() + zero, tiles_m, tiles_n, group_m);
        (at.split, [at.tile_m * tile.m, at.tile_n * tile.n])
    };
    let (split, tile_of_c) = place(0);
    let k_begin = split * params.k_per_split;
    let k_end = args.k.min(k_begin + params.k_per_split);

    let t = thread::thread_idx_x();
    let (warp, lane) = (t / 32, Lane::of(t % 32));
    let warps_of_slice = tile.warps_m() * tile.warps_n();
    let (slice, of_slice) = (warp / warps_of_slice, warp % warps_of_slice);

    let elems = const { (T::TILE.stages * T::TILE.stage_elems()) as usize };
    // SAFETY: the allocation holds both stages, aligned for vectors.
    let stages = unsafe { Shared::new(shared::dynamic_shared_mem::<f32>(), elems) };
    let other = |stage: u32| tile.stage_elems() - stage;
    let (tile_a, tile_b) = const { (OperandTile::a(T::TILE), OperandTile::b(T::TILE)) };
    // SAFETY: the matrices are as `params` says.
    let (mut loader_a, mut loader_b) = unsafe { loader::of::<T, LA, LB>(params, args, t, tile_of_c, k_begin) };
    let loads_a = const { OperandTile::a(T::TILE).loads::<LA>() };
    let loads = const { loads_of_k_tile::<T, LA, LB>() };
    // Loads at each k of a slice but the last, which waits.
    let loads_per_k = const { loads_of_k_tile::<T, LA, LB>().div_ceil(T::TILE.slice_k() - 1) };
    let mut held = [0.0; MAX_LOADS];
    // What is left along K from the k-tile on that is loaded.
    let mut left = k_end.saturating_sub(k_begin);
    // With slices the first k-tile has what K has past a multiple of k-tiles: the others are whole, or there is none.
    let whole = const { T::TILE.slices > 1 };
    let first = if whole && left > 0 {
        (left - 1) % tile.k + 1
    } else {
        tile.k
    };
    macro_rules! fetch {
        ($number:expr, $left:expr, $whole:expr) => {
            fetch!($number, $left, $whole, held)
        };
        ($number:expr, $left:expr, $whole:expr, $to:ident) => {
            // SAFETY: the operands are in memory; a k-tile that is called whole is.
            unsafe {
                if $number < loads_a {
                    let element = &mut $to[$number as usize];
                    loader_a.fetch::<LA>(tile_a, $number, $left, $whole, element);
                } else if $number < loads {
                    let element = &mut $to[$number as usize];
                    loader_b.fetch::<LB>(tile_b, $number - loads_a, $left, $whole, element);
                }
            }
        };
    }
    macro_rules! put {
        ($number:expr, $stage:expr) => {
            put!($number, $stage, held)
        };
        ($number:expr, $stage:expr, $from:ident) => {
            // SAFETY: the stage is in the pipeline; at first nobody has used it, later the last barrier has drained it.
            unsafe {
                if $number < loads_a {
                    loader_a.put::<LA>(tile_a, stages, $stage, $number, $from[$number as usize]);
                } else if $number < loads {
                    let to = $stage + tile.a_elems();
                    loader_b.put::<LB>(tile_b, stages, to, $number - loads_a, $from[$number as usize]);
                }
            }
        };
    }
    macro_rules! advance {
        ($k:expr) => {
            loader_a.advance_by::<LA>($k);
            loader_b.advance_by::<LB>($k);
            left = left.saturating_sub($k);
        };
    }
    // The loads of the first two k-tiles are in flight at once.
    let mut at_first = [0.0; MAX_LOADS];
    unrolled!(const loads_of_k_tile::<T, LA, LB>(), at most 40, |number| {
        fetch!(number, left.min(first), false, at_first)
    });
    advance!(first);
    unrolled!(const loads_of_k_tile::<T, LA, LB>(), at most 40, |number| fetch!(number, left, whole));
    advance!(tile.k);
    unrolled!(const loads_of_k_tile::<T, LA, LB>(), at most 40, |number| put!(number, 0, at_first));

    let mut acc = [[0.0; N]; M];
    let mut from_a = [[0.0; M]; 2];
    let mut from_b = [[0.0; N]; 2];
    let warp_fragments = Fragments::new::<T>(stages, of_slice, lane, slice * tile.slice_k());
    // SAFETY: the stage is in the pipeline and full.
    let fragments = |from_a: &mut [f32; M], from_b: &mut [f32; N], stage: u32, k: u32| unsafe {
        warp_fragments.load::<T, M, N>(from_a, from_b, stage, k);
    };

    // RAW: every thread has stored its elements of stage 0.
    thread::sync_threads();
    let mut stage = 0;
    fragments(&mut from_a[0], &mut from_b[0], stage, 0);
    let mut k = k_begin;
    'k_tiles: while k < k_end {
        unrolled!(const T::TILE.slice_k(), at most 16, |kk| {
            let may_end = kk > 0 && kk % tile.k_granularity() == 0;
            if may_end && k + kk >= k_end {
                break 'k_tiles;
            }
            let (now, next) = ((kk % 2) as usize, ((kk + 1) % 2) as usize);
            if kk + 1 == tile.slice_k() {
                if k + tile.k < k_end {
                    advance!(tile.k);
                    // RAW: every thread has stored its elements of the next stage. WAR: no thread reads this stage any
                    // more, which is stored to next.
                    thread::sync_threads();
                    stage = other(stage);
                    fragments(&mut from_a[next], &mut from_b[next], stage, 0);
                }
            } else {
                fragments(&mut from_a[next], &mut from_b[next], stage, kk + 1);
                unrolled!(const loads_of_k_tile::<T, LA, LB>().div_ceil(T::TILE.slice_k() - 1), |number| {
                    put!(kk * loads_per_k + number, other(stage));
                    fetch!(kk * loads_per_k + number, left, whole);
                });
            }
            outer_product(&mut acc, &from_a[now], &from_b[now]);
        });
        k += tile.k;
    }

    let sum = if const { T::TILE.slices == 1 } {
        core::array::from_fn(|i| acc[i])
    } else {
        // SAFETY: every thread is here, and no fragment is loaded any more.
        unsafe { sum_of_slices::<T, M, N, ROWS>(&acc, stages, slice, t) }
    };
    // With 64 accumulators no registers are left to keep it in.
    let tile_of_c = match const { M * N >= 64 } {
        true => place(optimization_barrier::zero()).1,
        false => tile_of_c,
    };
    // SAFETY: the caller's promise; this part of the tile is the slice's.
    unsafe { epilogue::store::<T, ROWS, N>(sum, tile_of_c, slice * ROWS as u32, params) };
}

/// The accumulators of all slices, added up: of the rows of a thread that are its slice's.
///
/// # Safety
/// Every thread `t` of the CTA calls this, with its slice; none loads fragments from the stages any more.
#[inline(always)]
// Accumulators are indexed by row and column throughout.
#[allow(clippy::needless_range_loop)]
unsafe fn sum_of_slices<T: Tile, const M: usize, const N: usize, const ROWS: usize>(
    acc: &[[f32; N]; M],
    stages: Shared<f32>,
    slice: u32,
    t: u32,
) -> [[f32; N]; ROWS] {
    // WAR: no thread reads the stages any more, nor stores elements of a k-tile past the end, where accumulators go
    // now.
    thread::sync_threads();
    let threads = const { T::TILE.threads() as usize };
    // SAFETY: the stages have room for the accumulators of all threads, each with a place of its own.
    unsafe {
        unrolled!(const M, at most 16, |i| {
            for j in 0..N {
                stages.set((i * N + j) * threads + t as usize, acc[i][j]);
            }
        });
    }
    // RAW: the accumulators of all slices are there.
    thread::sync_threads();
    // Those of this lane and of the slice's part of the tile, from all slices in their order: the sum does not depend
    // on which is first.
    let threads_of_slice = const { (T::TILE.threads() / T::TILE.slices) as usize };
    let first_of_slice = slice as usize * (ROWS * N * threads) + t as usize % threads_of_slice;
    let mut sum = [[0.0; N]; ROWS];
    // SAFETY: each has been stored before the barrier.
    unsafe {
        unrolled!(const ROWS, at most 16, |i| {
            for j in 0..N {
                for from in 0..T::TILE.slices as usize {
                    sum[i][j] += stages.get(first_of_slice + (i * N + j) * threads + from * threads_of_slice);
                }
            }
        });
    }
    sum
}
