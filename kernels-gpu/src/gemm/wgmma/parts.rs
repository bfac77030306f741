//! Consumer (math) warpgroups of f32 operands in parts.
//!
//! With a = a0 + a1 + a2 and b likewise, each part at most 2^-9 of the one before, the product is that of six pairs of
//! parts up to 2^-26 of it:
//!
//! ```text
//! a b ~ a0 b0 + (a0 b1 + a1 b0) + (a1 b1 + a0 b2 + a2 b0)
//! ```
//!
//! Tensor cores truncate when they add. So each k-tile has accumulators of its own, which take the small products
//! first, and is then added to those of all of K by f32 additions, rounded to nearest (promotion; Ootomo and Yokota
//! 2022, "Recovering single precision accuracy from Tensor Cores", section 4).

use cuda_std::thread;
use tilewright_contract::WgmmaTile;

use super::consumer::{ATOM_BYTES, operand, release};
use super::epilogue::{Place, Target, store_parts};
use super::tile_scheduler::{TileScheduler, WorkTile};
use super::{Element, Pipeline, PipelineState, Tile, full};
use crate::block::unroll::unrolled;
use crate::ptx::mbarrier;
use crate::ptx::shared_address::shared_address;
use crate::ptx::wgmma::{self, Accumulators};

/// The pairs of parts that are multiplied, the smallest products first.
const PAIRS: [[u32; 2]; 6] = [[2, 0], [0, 2], [1, 1], [1, 0], [0, 1], [0, 0]];

/// Computes the rows of this warpgroup, number `warpgroup`, of all work tiles of the CTA: `first`, then those of
/// `scheduler`.
///
/// # Safety
/// As for [`gemm`](super::gemm); the threads of a consumer warpgroup execute it together.
#[inline(always)]
pub(super) unsafe fn consume<
    E: Element,
    T: Tile,
    const A_IS_MN_MAJOR: bool,
    const B_IS_MN_MAJOR: bool,
    const ACCUMULATORS: usize,
>(
    warpgroup: u32,
    pipeline: Pipeline<E>,
    first: Option<WorkTile>,
    mut scheduler: TileScheduler,
    target: Target<'_, f32>,
) where
    [f32; ACCUMULATORS]: Accumulators,
{
    let tile = const { T::TILE };
    let t = thread::thread_idx_x() % WgmmaTile::WARPGROUP;
    let start = shared_address(pipeline.elems, 0);
    let (desc_a, a_bytes) = operand::<A_IS_MN_MAJOR>(start + warpgroup * ATOM_BYTES);
    let (desc_b, b_bytes) = operand::<B_IS_MN_MAJOR>(start + tile.a_elems() * WgmmaTile::ELEMENT_BYTES);
    let part_bytes = |rows: u32| rows * const { WgmmaTile::K * WgmmaTile::ELEMENT_BYTES };
    let mut state = PipelineState::FIRST;
    let mut next = first;
    while let Some(work) = next {
        // Found while the first loads arrive. SAFETY: the whole warp is here.
        next = unsafe { scheduler.next_of_warp::<T>(target.params) };
        let mut acc = <[f32; ACCUMULATORS]>::zero();
        let mut k_tile = 0;
        while k_tile < work.k_tiles {
            let PipelineState { stage, phase } = state;
            let at = stage * tile.stage_bytes().get();
            // Of this k-tile alone.
            let mut sum = <[f32; ACCUMULATORS]>::zero();
            // SAFETY: the whole warpgroup is here. The stage is in the pipeline and full; the producer refills it only
            // after it is released.
            unsafe {
                // RAW: the stage is full.
                mbarrier::wait(pipeline.barriers, full::<T>(stage), phase);
                wgmma::fence(&mut sum);
                unrolled!(const PAIRS.len(), |pair| {
                    let [part_a, part_b] = PAIRS[pair % PAIRS.len()];
                    unrolled!(const WgmmaTile::K / 16, |k_block| {
                        let a = desc_a.advanced(at + part_bytes(tile.m) * part_a + a_bytes * k_block);
                        let b = desc_b.advanced(at + part_bytes(tile.n) * part_b + b_bytes * k_block);
                        wgmma::mma_async::<E, A_IS_MN_MAJOR, B_IS_MN_MAJOR, _>(&mut sum, a, b, true);
                    });
                });
                wgmma::commit();
                wgmma::wait::<0, _>(&mut sum);
                release::<T>(pipeline, stage, t);
            }
            add(&mut acc, &sum);
            state = state.advance(tile.stages);
            k_tile += 1;
        }
        // SAFETY: as above; the accumulators are those of this warpgroup's rows, and nobody else uses its epilogue
        // subtile.
        unsafe {
            let split = scheduler.split_tile::<T>(work, warpgroup);
            let at = Place {
                row: work.row + warpgroup * WgmmaTile::ROWS,
                column: work.column,
                product: work.product,
                end: work.end,
            };
            store_parts::<E, T, ACCUMULATORS>(acc, warpgroup, split, at, target, pipeline.elems);
        }
    }
}

/// `acc += sum`, each rounded to nearest.
#[inline(always)]
fn add<const ACCUMULATORS: usize>(acc: &mut [f32; ACCUMULATORS], sum: &[f32; ACCUMULATORS]) {
    unrolled!(ACCUMULATORS / 4, |vec4| {
        unrolled!(4, at most 4, |i| {
            acc[4 * vec4 + i] += sum[4 * vec4 + i];
        });
    });
}
