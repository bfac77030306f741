//! The body of the families `mma_f64` and `mma_f64_wide`: f64 on tensor cores.
//!
//! ```text
//! load k-tiles 0 .. STAGES - 1, one group each
//! wait for the first; barrier                     RAW: stage 0 is full
//! for each k-tile:
//!     for each of its k-blocks, 8 of k:
//!         load its fragments
//!         acc += mma of the last row of the k-block before
//!         in the first: start the loads of k-tile + STAGES - 1
//!         acc += mma of its other rows
//!     wait for the next k-tile; barrier           RAW: its stage is full; WAR: this one is drained
//! acc += mma of the last row
//! C = alpha * acc + beta * C
//! ```
//!
//! The tensor cores have the mma of a last row to do while the warps load what comes after a barrier: with fragments in
//! registers once, they stood still in the meantime. These mma are in the next round of the loop, since `ptxas` moves
//! mma ahead of a barrier as far as a round goes. A tile that does not [defer](F64Tile::defers_last_row) them saves the
//! registers of a row: the mma of its neighbors on the SM are done then. Shapes (elements): [`F64Tile`].

mod entry;
mod epilogue;
mod loader;

use cuda_std::{shared, thread};
use cuda_views::{Global, Shared};
use tilewright_contract::{F64Tile, GemmParams, RasterTile};

use crate::block::batch;
use crate::block::major::{OperandMajor, span};
use crate::block::pipeline::CpAsyncPipeline;
use crate::block::unroll::unrolled;
use crate::ptx::async_copy;
use crate::ptx::mma_f64::{FragmentA, FragmentB, FragmentC, MmaF64};
pub(crate) use entry::entry_points;
use loader::{FragmentLoader, GmemLoader, OperandTile};

/// A tile as a type, so that its numbers are constants of the kernel.
pub trait Tile {
    /// The geometry.
    const TILE: F64Tile;
}

/// Accumulators of a lane, for each MMA atom.
type Accumulators<const M: usize, const N: usize> = [[FragmentC; N]; M];

/// Computes this CTA's tile of C, or its split of it. `M` and `N`: 16-row and 8-column MMA atoms of a warp.
///
/// # Safety
/// - The operands are as `params` describes them, A and B with majors `LA` and `LB`, in global memory; workspace and
///   counters are as [`reduce`](crate::block::split_k::reduce) asks for.
/// - A and B start at multiples of what one load takes, and so are their leading dimensions, strides, and extents along
///   the contiguous index.
/// - The CTA has the tile's threads along x and its bytes of dynamic shared memory; the grid covers C once per split
///   along x, and has a row along y for each product.
/// - `k_per_split` is a multiple of the tile's k; `splits * k_per_split` is at least `k`. 256 rows of an operand span
///   less than 2^32 elements.
#[inline(always)]
pub unsafe fn gemm<I: MmaF64, T: Tile, LA: OperandMajor, LB: OperandMajor, const M: usize, const N: usize>(
    params: &GemmParams<f64>,
) {
    const { assert!(M as u32 * F64Tile::ATOM[0] == T::TILE.warp_m && N as u32 * F64Tile::ATOM[1] == T::TILE.warp_n) };
    let tile = const { T::TILE.checked() };
    let args = params.args();
    let t = thread::thread_idx_x();
    let (warp, lane) = (t / 32, t % 32);
    let (tiles_m, tiles_n) = (args.m.div_ceil(tile.m), args.n.div_ceil(tile.n));
    let group_m = const { RasterTile::group_m(T::TILE.m) };
    let at = RasterTile::of_block(thread::block_idx_x(), tiles_m, tiles_n, group_m);
    let (row, column) = (at.tile_m * tile.m, at.tile_n * tile.n);
    let (warp_row, warp_column) = (warp % tile.warps_m() * tile.warp_m, warp / tile.warps_m() * tile.warp_n);
    let k_begin = at.split * params.k_per_split;
    let k_end = args.k.min(k_begin + params.k_per_split);

    let pipeline = const {
        CpAsyncPipeline {
            stages: T::TILE.stages,
            stage_elems: T::TILE.stage_elems(),
        }
    };
    // SAFETY: the allocation holds all stages. It is aligned to 16 bytes, more than the type asks for.
    let stages = unsafe { Shared::new(shared::dynamic_shared_mem::<f32>().cast::<f64>(), pipeline.elems()) };
    let (tile_a, tile_b) = const { (OperandTile::a(T::TILE), OperandTile::b(T::TILE)) };
    // SAFETY: the matrices are as `params` says.
    let (from_a, from_b) = unsafe {
        (
            Global::new_with(batch::a(params), || span::<LA>(args.m, args.k, args.lda)),
            Global::new_with(batch::b(params), || span::<LB>(args.n, args.k, args.ldb)),
        )
    };
    let mut loader_a = GmemLoader::new::<LA>(from_a, tile_a, t, [row, args.m, args.lda], k_begin);
    let mut loader_b = GmemLoader::new::<LB>(from_b, tile_b, t, [column, args.n, args.ldb], k_begin);
    // A's and B's part of a stage.
    // SAFETY: the stage is in the pipeline.
    let parts = |stage: u32| unsafe {
        (
            stages.part(stage as usize, tile.a_elems() as usize),
            stages.part((stage + tile.a_elems()) as usize, tile.b_elems() as usize),
        )
    };
    // What is left along K for the k-tile that is loaded, and its stage.
    let mut left = k_end.saturating_sub(k_begin);
    let mut load_stage = 0;
    macro_rules! load_k_tile {
        () => {
            // SAFETY: the stage is in the pipeline. At first nobody has used it; later the last barrier has drained it.
            unsafe {
                let (to_a, to_b) = parts(load_stage);
                loader_a.load::<LA>(tile_a, to_a, left);
                loader_b.load::<LB>(tile_b, to_b, left);
            }
            async_copy::commit();
            loader_a.advance::<LA>(tile_a);
            loader_b.advance::<LB>(tile_b);
            // Past the end, zeros are loaded.
            left = left.saturating_sub(tile.k);
            load_stage = pipeline.next(load_stage);
        };
    }
    // RAW, WAR, WAW: the previous grids of the stream have written and read A, B, C, the workspace and its counters.
    I::follow_previous_grid();
    let mut stage = 0;
    while stage + 1 < tile.stages {
        load_k_tile!();
        stage += 1;
    }

    let fragments_a = FragmentLoader::new::<LA>(tile_a, warp_row, lane);
    let fragments_b = FragmentLoader::new::<LB>(tile_b, warp_column, lane);
    let fragments = |stage: u32, k_block: u32| {
        let (from_a, from_b) = parts(stage);
        // SAFETY: each is called for a stage that is in the pipeline and full.
        let of_a = |eight: u32, four: u32| unsafe { fragments_a.load::<LA>(tile_a, from_a, eight, 2 * k_block + four) };
        // SAFETY: likewise.
        let of_b = |eight: u32, four: u32| unsafe { fragments_b.load::<LB>(tile_b, from_b, eight, 2 * k_block + four) };
        let a: [FragmentA; M] = core::array::from_fn(|i| {
            let [upper, lower] = [2 * i as u32, 2 * i as u32 + 1];
            [of_a(upper, 0), of_a(lower, 0), of_a(upper, 1), of_a(lower, 1)]
        });
        let b: [FragmentB; N] = core::array::from_fn(|j| [of_b(j as u32, 0), of_b(j as u32, 1)]);
        (a, b)
    };
    let mut acc: Accumulators<M, N> = [[[0.0; 4]; N]; M];
    let defers = const { T::TILE.defers_last_row };
    // Fragments whose last row of mma is still to be done: at first zeros, which add nothing.
    let mut pending = ([[0.0; 4]; M], [[0.0; 2]; N]);
    let mut stage = 0;
    let mut k = k_begin;
    pipeline.wait();
    // RAW: every thread's loads of the first k-tile are there.
    thread::sync_threads();
    'k_tiles: while k < k_end {
        unrolled!(const T::TILE.k / F64Tile::ATOM[2], |k_block| {
            let done = k_block * F64Tile::ATOM[2];
            let may_end = done > 0 && done.is_multiple_of(tile.k_granularity());
            if may_end && k + done >= k_end {
                break 'k_tiles;
            }
            let next = fragments(stage, k_block);
            if defers {
                // SAFETY: the whole warp is here.
                unsafe { mma_row::<I, M, N>(&mut acc, &pending, M - 1) };
            }
            if k_block == 0 {
                load_k_tile!();
            }
            // SAFETY: the whole warp is here.
            unrolled!(const M - T::TILE.defers_last_row as usize, |i| unsafe {
                mma_row::<I, M, N>(&mut acc, &next, i);
            });
            pending = next;
        });
        stage = pipeline.next(stage);
        pipeline.wait();
        // RAW: every thread's loads of the next k-tile are there. WAR: no thread reads the stage before any more, which
        // the next loads write.
        thread::sync_threads();
        k += tile.k;
    }
    if defers {
        // SAFETY: the whole warp is here.
        unsafe { mma_row::<I, M, N>(&mut acc, &pending, M - 1) };
    }

    // SAFETY: the caller's promise; the elements are this warp's.
    unsafe { epilogue::store::<T, M, N>(acc, [row + warp_row, column + warp_column], params, stages) };
}

/// The mma of one row of atoms.
///
/// # Safety
/// All 32 lanes of the warp execute this together, on a device that has the instructions.
#[inline(always)]
unsafe fn mma_row<I: MmaF64, const M: usize, const N: usize>(
    acc: &mut Accumulators<M, N>,
    (a, b): &([FragmentA; M], [FragmentB; N]),
    row: usize,
) {
    // SAFETY: the caller's promise.
    unrolled!(const N, |j| unsafe { I::mma(&mut acc[row][j], a[row], b[j]) });
}
