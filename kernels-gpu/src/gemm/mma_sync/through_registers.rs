//! The mainloop of operands whose rows begin anywhere: single elements, through registers.
//!
//! ```text
//! load k-tiles 0 and 1 into registers; store k-tile 0
//! for each k-tile:
//!     barrier                         RAW: its stage is full; WAR: the next stage is drained
//!     acc += mma of the fragments of its k-blocks
//!     store k-tile + 1 into the next stage; load k-tile + 2 into registers
//! ```
//!
//! `cp.async` moves at least 4 bytes, from multiples of 4, and every second row of an odd number of elements begins
//! between two. So a thread gathers 8 elements by as many predicated loads and stores them as one vector. Its registers
//! hold a k-tile in flight while the mma of another run: two stages are enough. The loads of the first two k-tiles are
//! in flight at once, so a product with K of up to two k-tiles waits for global memory once.

use cuda_std::thread;
use cuda_views::{Global, Shared};
use tilewright_contract::{GemmParams, TensorTile};

use super::loader::{GmemLoader, OperandTile, WarpLoader};
use super::{Accumulators, Position, Tile, mma_tile, parts};
use crate::block::element::TensorElement;
use crate::block::major::OperandMajor;
use crate::block::pipeline::CpAsyncPipeline;
use crate::block::unroll::unrolled;

/// Computes the accumulators of a lane, of the whole of K or of a split of it.
///
/// # Safety
/// As for [`gemm`](super::gemm).
#[inline(always)]
pub(super) unsafe fn mainloop<E, T, LA, LB, const M: usize, const N: usize>(
    a: Global<E>,
    b: Global<E>,
    stages: Shared<E>,
    position: Position,
    split: u32,
    params: &GemmParams<E>,
) -> Accumulators<M, N>
where
    E: TensorElement,
    T: Tile,
    LA: OperandMajor,
    LB: OperandMajor,
{
    let tile = const { T::TILE };
    let (tile_a, tile_b) = const { (OperandTile::a(T::TILE), OperandTile::b(T::TILE)) };
    const { assert!(OperandTile::a(T::TILE).fits_in_registers() && OperandTile::b(T::TILE).fits_in_registers()) };
    let t = thread::thread_idx_x();
    let k_begin = split * params.k_per_split;
    let k_end = params.k.min(k_begin + params.k_per_split);
    let mut loader_a = GmemLoader::new::<LA>(a, tile_a, t, position.row, params.m, params.lda);
    let mut loader_b = GmemLoader::new::<LB>(b, tile_b, t, position.column, params.n, params.ldb);
    loader_a.advance::<LA>(k_begin);
    loader_b.advance::<LB>(k_begin);
    let pipeline = const {
        CpAsyncPipeline {
            stages: T::TILE.stages,
            stage_elems: T::TILE.stage_elems(),
        }
    };
    // What is left along K for the k-tile that is loaded.
    let mut left = k_end.saturating_sub(k_begin);
    // A k-tile of both operands, in registers; zeros past the last one.
    macro_rules! load_k_tile {
        () => {{
            // SAFETY: the operands are as `params` says.
            let elements = unsafe {
                (
                    loader_a.load_elements::<LA>(tile_a, left),
                    loader_b.load_elements::<LB>(tile_b, left),
                )
            };
            loader_a.advance::<LA>(tile.k);
            loader_b.advance::<LB>(tile.k);
            left = left.saturating_sub(tile.k);
            elements
        }};
    }
    macro_rules! store_k_tile {
        ($elements:expr, $stage:expr) => {{
            let (elements_a, elements_b) = &$elements;
            // SAFETY: the stage is in the pipeline. At first nobody has used it; later the last barrier has drained it.
            unsafe {
                let [to_a, to_b] = parts(stages, tile, $stage);
                loader_a.store_elements::<LA>(tile_a, to_a, elements_a);
                loader_b.store_elements::<LB>(tile_b, to_b, elements_b);
            }
        }};
    }
    let first = load_k_tile!();
    // Also where K has one k-tile: a branch would be a place where `ptxas` waits for the loads before it.
    let mut loaded = load_k_tile!();
    store_k_tile!(first, 0);

    let warp_part = [position.warp_row, position.warp_column];
    let fragments = WarpLoader::new::<LA, LB>([tile_a, tile_b], warp_part, t % 32);
    let mut acc = [[[0.0; 4]; N]; M];
    let mut stage = 0;
    let mut k = k_begin;
    while k < k_end {
        // RAW: every thread's elements of this stage are stored. WAR: no thread reads the next stage any more, which is
        // stored below.
        thread::sync_threads();
        unrolled!(const T::TILE.k / TensorTile::MMA_ATOM, |k_block| {
            let (mut fragments_a, mut fragments_b) = ([[0; 4]; M], [[0; 2]; N]);
            // SAFETY: the stage is in the pipeline and full; all lanes of the warp are here.
            unsafe {
                let from = parts(stages, tile, stage);
                fragments.load::<E, LA, LB>(from, &mut fragments_a, &mut fragments_b, k_block);
            }
            mma_tile::<E, M, N>(&mut acc, &fragments_a, &fragments_b);
        });
        k += tile.k;
        if k < k_end {
            stage = pipeline.next(stage);
            store_k_tile!(loaded, stage);
            if left > 0 {
                loaded = load_k_tile!();
            }
        }
    }
    acc
}
