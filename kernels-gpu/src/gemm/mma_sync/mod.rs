//! The body of tensor-core kernels by `mma.sync`: f16 or bf16 in, accumulators in f32, C of the type of A and B or of
//! f32.
//!
//! ```text
//! start the copies of the first STAGES - 1 steps, one group each
//! wait for the first; barrier                                     RAW: stage 0 filled
//! for each step of k along K:
//!     for each kk, 16 of k:
//!         load the fragments of kk + 1 (at the last kk: wait, barrier, then of the next stage)
//!         at the first kk: start the copies of step + STAGES - 1
//!         acc += the products of the fragments of kk
//! C = activation(alpha * acc + beta * C + bias)
//! ```
//!
//! As in [`pipeline`](crate::gemm::simt), copies run STAGES - 1 steps ahead of their use and fragments one kk, and one
//! barrier a step closes both hazards.
//!
//! A warp has 64 x 64 elements of C (or what its tile says): for 16 along K it loads 4 pieces of A and 4 of B, 16 x 16
//! each, by one `ldmatrix` a piece, and multiplies them by 32 `mma.m16n8k16`. Neither the copies nor the loads have
//! bank conflicts ([`Swizzle`](tilewright_contract::Swizzle)).

mod epilogue;
mod operand;

use cuda_std::{shared, thread};
use cuda_views::{Global, Shared};
use half::{bf16, f16};
use tilewright_contract::{GemmParams, RasterTile, TensorTile};

use crate::block::element::Narrowed;
use crate::block::unroll::unrolled;
use crate::ptx::async_copy;
use crate::ptx::mma::{FragmentA, FragmentB, FragmentC, MmaElement, mma};
use operand::{Copier, Reader, Side, are_whole, span};
pub use operand::{KMajor, MnMajor, OperandMajor};

/// A tile as a type, so that its numbers are constants of the kernel.
pub trait Tile {
    /// The geometry.
    const TILE: TensorTile;
}

/// An element of A and B: f16 or bf16.
pub trait TensorElement: Narrowed + MmaElement {}

impl TensorElement for f16 {}
impl TensorElement for bf16 {}

/// Computes this block's tile of C. `M` and `N` are the 16s of rows and the 8s of columns of a warp.
///
/// # Safety
/// - The operands are as `params` describes them, A and B laid out as `LA` and `LB` say, in global memory.
/// - A and B begin at multiples of 16 bytes, and their leading dimensions are multiples of 8. 256 of their rows span
///   less than 2^32 elements.
/// - The block has the tile's threads along x and its bytes of dynamic shared memory; the grid covers C once:
///   `params.splits` is 1.
#[inline(always)]
pub unsafe fn gemm<E: TensorElement, T: Tile, LA: OperandMajor, LB: OperandMajor, const M: usize, const N: usize>(
    params: &GemmParams<E>,
) {
    const { assert!(M as u32 * 16 == T::TILE.warp_m && N as u32 * 8 == T::TILE.warp_n) };
    let tile = const { T::TILE.checked() };
    let args = params.args();
    let warp = thread::thread_idx_x() / 32;
    let (tiles_m, tiles_n) = (args.m.div_ceil(tile.m), args.n.div_ceil(tile.n));
    let at = RasterTile::of_block(thread::block_idx_x(), tiles_m, tiles_n, params.group_m);
    let place = Place {
        row: at.tile_m * tile.m,
        column: at.tile_n * tile.n,
        warp_row: warp % tile.warps_m() * tile.warp_m,
        warp_column: warp / tile.warps_m() * tile.warp_n,
    };
    let elems = const { T::TILE.stages * T::TILE.stage_elems() };
    // SAFETY: the allocation holds all stages. It is aligned to 16 bytes, more than the type asks for.
    let ring = unsafe { Shared::new(shared::dynamic_shared_mem::<f32>().cast::<E>(), elems as usize) };
    // SAFETY: the matrices are as `params` says.
    let (from_a, from_b) = unsafe {
        (
            Global::new_with(params.a, || span::<LA>(args.m, args.k, args.lda)),
            Global::new_with(params.b, || span::<LB>(args.n, args.k, args.ldb)),
        )
    };
    // SAFETY: the caller's promise; the place is the warp's, and behind the accumulators nobody uses the ring but the
    // epilogue.
    unsafe {
        let mut acc = if are_whole::<LA>(args.m, args.k) && are_whole::<LB>(args.n, args.k) {
            accumulate::<E, T, LA, LB, M, N, true>(from_a, from_b, ring, place, params)
        } else {
            accumulate::<E, T, LA, LB, M, N, false>(from_a, from_b, ring, place, params)
        };
        epilogue::store::<E, T, M, N>(&mut acc, place, params, ring);
    }
}

/// Where a warp's part of C is.
#[derive(Clone, Copy)]
struct Place {
    /// The first row and column of the block's tile.
    row: u32,
    column: u32,
    /// The warp's first ones, within the tile.
    warp_row: u32,
    warp_column: u32,
}

/// Accumulators of a lane: of 16 rows and 8 columns of its warp, by `mma`.
type Accumulators<const M: usize, const N: usize> = [[FragmentC; N]; M];

/// Accumulators up the products of this lane's part of a tile. `WHOLE`: the operands are made of whole chunks.
///
/// # Safety
/// As for [`gemm`].
#[inline(always)]
unsafe fn accumulate<E, T, LA, LB, const M: usize, const N: usize, const WHOLE: bool>(
    a: Global<E>,
    b: Global<E>,
    ring: Shared<E>,
    place: Place,
    params: &GemmParams<E>,
) -> Accumulators<M, N>
where
    E: TensorElement,
    T: Tile,
    LA: OperandMajor,
    LB: OperandMajor,
{
    let tile = const { T::TILE };
    let (side_a, side_b) = const { (Side::a(T::TILE), Side::b(T::TILE)) };
    let t = thread::thread_idx_x();
    let mut copier_a = Copier::new::<LA>(a, side_a, t, place.row, params.m, params.lda);
    let mut copier_b = Copier::new::<LB>(b, side_b, t, place.column, params.n, params.ldb);

    let last_stage = (tile.stages - 1) * tile.stage_elems();
    let after = |stage: u32| {
        if stage == last_stage {
            0
        } else {
            stage + tile.stage_elems()
        }
    };
    // A's and B's part of a stage.
    // SAFETY: the stage lies in the ring.
    let sides = |stage: u32| unsafe {
        (
            ring.part(stage as usize, tile.a_elems() as usize),
            ring.part((stage + tile.a_elems()) as usize, tile.b_elems() as usize),
        )
    };
    // What is left along K for the step that is copied, and the first element of the stage that it goes to.
    let mut left = params.k;
    let mut copy_to = 0;
    macro_rules! copy_step {
        () => {
            // SAFETY: the stage lies in the ring. At the start nobody has used it; later the barrier before has drained
            // it.
            unsafe {
                let (to_a, to_b) = sides(copy_to);
                copier_a.copy::<LA, WHOLE>(side_a, to_a, left);
                copier_b.copy::<LB, WHOLE>(side_b, to_b, left);
            }
            async_copy::commit();
            copier_a.advance::<LA>(side_a);
            copier_b.advance::<LB>(side_b);
            // Behind the end nothing is left to copy, and zeros take the place of it.
            left = left.saturating_sub(tile.k);
            copy_to = after(copy_to);
        };
    }
    let mut stage = 0;
    while stage + 1 < tile.stages {
        copy_step!();
        stage += 1;
    }

    let lane = t % 32;
    let reader_a = Reader::of_a::<LA>(side_a, place.warp_row, lane);
    let reader_b = Reader::of_b::<LB>(side_b, place.warp_column, lane);
    let mut acc = [[[0.0; 4]; N]; M];
    let mut fragments_a = [[[0; 4]; M]; 2];
    let mut fragments_b = [[[0; 2]; N]; 2];
    // SAFETY: a stage of the ring that is filled; all lanes of the warp are here.
    let load = |fragments_a: &mut [FragmentA; M], fragments_b: &mut [FragmentB; N], stage: u32, kk: u32| unsafe {
        let (from_a, from_b) = sides(stage);
        for (piece, fragment) in (0..).zip(fragments_a) {
            *fragment = reader_a.load::<E, LA>(side_a, from_a, piece, kk);
        }
        for (piece, pair) in (0..).zip(fragments_b.as_chunks_mut::<2>().0) {
            let [first, first_next, last, last_next] = reader_b.load::<E, LB>(side_b, from_b, piece, kk);
            *pair = [[first, first_next], [last, last_next]];
        }
    };

    wait::<T>();
    // RAW: every thread's copies of stage 0 are there.
    thread::sync_threads();
    let mut stage = 0;
    load(&mut fragments_a[0], &mut fragments_b[0], stage, 0);
    let pieces = const { T::TILE.k / TensorTile::MMA_ATOM };
    let mut k = 0;
    while k < params.k {
        unrolled!(pieces, at most 8, |kk| {
            let (now, next) = ((kk % 2) as usize, ((kk + 1) % 2) as usize);
            if kk + 1 == pieces {
                wait::<T>();
                // RAW: every thread's copies of the next stage are there. WAR: nobody reads this stage any more; the
                // copies that start next go into it.
                thread::sync_threads();
                stage = after(stage);
                load(&mut fragments_a[next], &mut fragments_b[next], stage, 0);
            } else {
                load(&mut fragments_a[next], &mut fragments_b[next], stage, kk + 1);
            }
            if kk == 0 {
                copy_step!();
            }
            multiply::<E, M, N>(&mut acc, &fragments_a[now], &fragments_b[now]);
        });
        k += tile.k;
    }
    acc
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

/// `acc += a * b`, row by row, there and back, so that neighbouring products have a fragment in common.
#[inline(always)]
fn multiply<E: TensorElement, const M: usize, const N: usize>(
    acc: &mut Accumulators<M, N>,
    a: &[FragmentA; M],
    b: &[FragmentB; N],
) {
    unrolled!(M, at most 8, |i| {
        let mut turn = 0;
        while turn < N {
            let j = if i % 2 == 0 { turn } else { N - 1 - turn };
            // SAFETY: the whole warp is here: nothing that its lanes disagree on has been asked.
            unsafe { mma::<E>(&mut acc[i][j], a[i], b[j]) };
            turn += 1;
        }
    });
}
