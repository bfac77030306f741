//! The body of the `simt` family: a pipeline of stages in shared memory, filled by asynchronous copies.
//!
//! ```text
//! start the copies of the first STAGES - 1 steps, one group each
//! wait for the first; barrier                                     RAW: stage 0 filled
//! for each step of k along K:
//!     for each kk of the step:
//!         load the fragments of kk + 1 (at the last kk: wait, barrier, then of the next stage)
//!         start a few copies of step + STAGES - 1
//!         acc += the outer product of the fragments of kk
//! C = alpha * acc + beta * C
//! ```
//!
//! Two things hide latency: copies run STAGES - 1 steps ahead of their use, and fragments are in registers one kk ahead
//! of theirs.
//!
//! One barrier a step closes both hazards. Behind it every thread's copies of the next stage are there (RAW), and no
//! thread reads the stage before the one just finished any more (WAR), which is the one that the next copies go into.
//!
//! Shapes (elements): `A_s` is k x m, `B_s` k x n, both with a pitch of 4 more ([`BlockTile`]). A warp computes `4 *
//! thread_m` rows and `8 * thread_n` columns; a lane has vectors of 4 rows, 16 rows apart, and vectors of 4 columns, 32
//! columns apart.

mod epilogue;
mod operand;

use cuda_std::{shared, thread};
use cuda_views::{Global, Shared};
use tilewright_contract::{BlockTile, GemmParams, RasterTile};

pub use operand::{KMajor, MnMajor, OperandMajor};

use crate::block::unroll::unrolled;
use crate::block::warp::Lane;
use crate::ptx::async_copy;
use crate::ptx::fma::fma;
use operand::{Part, Position, Side, copies, span};

/// A tile as a type, so that its numbers are constants of the kernel.
pub trait Tile {
    /// The geometry.
    const TILE: BlockTile;
}

/// Computes this block's tile of C, or its part of it where K is cut into slices. `M` and `N` are the tile's `thread_m`
/// and `thread_n`.
///
/// # Safety
/// - The operands are as `params` describes them, A and B laid out as `LA` and `LB` say, in global memory; workspace
///   and counters are as [`reduce`](crate::block::split_k::reduce) asks for.
/// - The block has the tile's threads along x and its bytes of dynamic shared memory; the grid covers C once for each
///   slice.
/// - `k_per_split` is a multiple of the tile's k; `splits * k_per_split` is at least `k`. 256 rows of an operand span
///   less than 2^32 elements.
#[inline(always)]
pub unsafe fn pipeline<T: Tile, LA: OperandMajor, LB: OperandMajor, const M: usize, const N: usize>(
    params: &GemmParams<f32>,
) {
    const { assert!(M == T::TILE.thread_m as usize && N == T::TILE.thread_n as usize) };
    let tile = const { T::TILE };
    let args = params.args();
    let t = thread::thread_idx_x();
    let (warp, lane) = (t / 32, Lane::of(t % 32));
    let (tiles_m, tiles_n) = (args.m.div_ceil(tile.m), args.n.div_ceil(tile.n));
    let at = RasterTile::of_block(thread::block_idx_x(), tiles_m, tiles_n, params.group_m);
    let (row, column) = (at.tile_m * tile.m, at.tile_n * tile.n);
    let k_begin = at.split * params.k_per_split;
    let k_end = args.k.min(k_begin + params.k_per_split);

    let elems = const { T::TILE.stages * T::TILE.stage_elems() };
    // SAFETY: the allocation holds all stages, aligned for vectors.
    let ring = unsafe { Shared::new(shared::dynamic_shared_mem::<f32>(), elems as usize) };
    let (side_a, side_b) = const { (Side::a(T::TILE), Side::b(T::TILE)) };
    let place = |first, lines, ld| Position {
        first,
        lines,
        ld,
        k: k_begin,
    };
    // SAFETY: the matrices are as `params` says.
    let (mut part_a, mut part_b) = unsafe {
        let from_a = Global::new_with(params.a, || span::<LA>(args.m, args.k, args.lda));
        let from_b = Global::new_with(params.b, || span::<LB>(args.n, args.k, args.ldb));
        (
            Part::new::<LA>(from_a, side_a, t, place(row, args.m, args.lda)),
            Part::new::<LB>(from_b, side_b, t, place(column, args.n, args.ldb)),
        )
    };
    let copies_a = const { copies::<LA>(Side::a(T::TILE)) };
    let all_copies = const { copies::<LA>(Side::a(T::TILE)) + copies::<LB>(Side::b(T::TILE)) };
    // Of each kk but the last, which waits.
    let copies_of_kk =
        const { (copies::<LA>(Side::a(T::TILE)) + copies::<LB>(Side::b(T::TILE))).div_ceil(T::TILE.k - 1) };

    // The step that is copied, and the first element of the stage that it goes to.
    let mut copy_k = k_begin;
    let mut copy_to = 0;
    macro_rules! copy {
        ($number:expr) => {
            // SAFETY: the stage lies in the ring. At the start nobody has used it; later the barrier before has drained
            // it.
            unsafe {
                if $number < copies_a {
                    part_a.copy::<LA>(side_a, ring, copy_to, $number, k_end - copy_k);
                } else if $number < all_copies {
                    part_b.copy::<LB>(
                        side_b,
                        ring,
                        copy_to + tile.a_elems(),
                        $number - copies_a,
                        k_end - copy_k,
                    );
                }
            }
        };
    }
    let last_stage = (tile.stages - 1) * tile.stage_elems();
    let after = |stage: u32| {
        if stage == last_stage {
            0
        } else {
            stage + tile.stage_elems()
        }
    };
    macro_rules! next_copy {
        () => {
            async_copy::commit();
            part_a.advance::<LA>(side_a);
            part_b.advance::<LB>(side_b);
            // Behind the end nothing is left to copy, and zeros take the place of it: never more than `stages` steps.
            copy_k = (copy_k + tile.k).min(k_end);
            copy_to = after(copy_to);
        };
    }
    let mut stage = 0;
    while stage + 1 < tile.stages {
        unrolled!(all_copies, |number| copy!(number));
        next_copy!();
        stage += 1;
    }

    let mut acc = [[0.0; N]; M];
    let mut from_a = [[0.0; M]; 2];
    let mut from_b = [[0.0; N]; 2];
    let (warp_row, warp_column) = (warp % tile.warps_m(), warp / tile.warps_m());
    let a_read = warp_row * (BlockTile::LANES_M * tile.thread_m) + 4 * lane.row;
    let b_read = tile.a_elems() + warp_column * (BlockTile::LANES_N * tile.thread_n) + 4 * lane.column;
    // SAFETY: a stage of the ring that is filled; each vector starts at a multiple of 4 elements.
    let fragments = |from_a: &mut [f32; M], from_b: &mut [f32; N], stage: u32, kk: u32| unsafe {
        for vector in 0..M / 4 {
            let index = stage + a_read + kk * tile.a_pitch() + vector as u32 * (4 * BlockTile::LANES_M);
            from_a[4 * vector..4 * vector + 4].copy_from_slice(&ring.get_vec::<4>(index as usize));
        }
        for vector in 0..N / 4 {
            let index = stage + b_read + kk * tile.b_pitch() + vector as u32 * (4 * BlockTile::LANES_N);
            from_b[4 * vector..4 * vector + 4].copy_from_slice(&ring.get_vec::<4>(index as usize));
        }
    };

    wait::<T>();
    // RAW: every thread's copies of stage 0 are there.
    thread::sync_threads();
    let mut stage = 0;
    fragments(&mut from_a[0], &mut from_b[0], stage, 0);
    let mut k = k_begin;
    while k < k_end {
        unrolled!(tile.k, |kk| {
            let (now, next) = ((kk % 2) as usize, ((kk + 1) % 2) as usize);
            if kk + 1 == tile.k {
                next_copy!();
                wait::<T>();
                // RAW: every thread's copies of the next stage are there. WAR: nobody reads this stage any more; the
                // copies that start next go into it.
                thread::sync_threads();
                stage = after(stage);
                fragments(&mut from_a[next], &mut from_b[next], stage, 0);
            } else {
                fragments(&mut from_a[next], &mut from_b[next], stage, kk + 1);
                unrolled!(copies_of_kk, at most 8, |number| copy!(kk * copies_of_kk + number));
            }
            outer_product(&mut acc, &from_a[now], &from_b[now]);
        });
        k += tile.k;
    }

    let place = epilogue::Place {
        row: row + a_read,
        column: column + (b_read - tile.a_elems()),
    };
    // SAFETY: the caller's promise; the place is this thread's.
    unsafe { epilogue::store::<T, M, N>(acc, place, params) };
}

/// Waits for the copies of the step that is used next: those of the `stages - 2` steps behind it may go on.
#[inline(always)]
fn wait<T: Tile>() {
    match T::TILE.stages {
        2 => async_copy::wait::<0>(),
        3 => async_copy::wait::<1>(),
        4 => async_copy::wait::<2>(),
        _ => async_copy::wait::<3>(),
    }
}

/// `acc += a * b^T`: row by row, there and back, so that of the two operands of an `fma` one stays the same and waits
/// in the reuse cache.
#[inline(always)]
fn outer_product<const M: usize, const N: usize>(acc: &mut [[f32; N]; M], a: &[f32; M], b: &[f32; N]) {
    unrolled!(M, at most 16, |i| {
        let mut turn = 0;
        while turn < N {
            let j = if i % 2 == 0 { turn } else { N - 1 - turn };
            fma(&mut acc[i][j], a[i], b[j]);
            turn += 1;
        }
    });
}
