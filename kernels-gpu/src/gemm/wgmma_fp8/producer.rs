//! Producer warp of FP8: one thread loads A, B and the scales of A into the pipeline by TMA.

use tilewright_contract::GemmParams;

use super::schedule::{Schedule, planes};
use super::{Fp8Tile, Scales};
use crate::gemm::wgmma::tile_scheduler::WorkTile;
use crate::gemm::wgmma::{Pipeline, PipelineState, empty, full};
use crate::ptx::tensor_map::TensorMap;
use crate::ptx::{bulk_copy, cluster, mbarrier};

/// Loads every k-tile of every work tile of the CTA: `first`, then those of `schedule`; `a_rows` rows of A and
/// `b_rows` columns of B of each, and the scales of A where stages have some. TMA fills elements outside the matrices
/// with zeros, so the last k-tile is no special case.
///
/// # Safety
/// As for [`gemm`](super::gemm); one thread of the CTA executes it.
#[inline(always)]
pub(super) unsafe fn produce<T: Fp8Tile>(
    [a, b, scales]: [&TensorMap; 3],
    pipeline: Pipeline<u8>,
    [a_rows, b_rows]: [u32; 2],
    first: Option<WorkTile>,
    mut schedule: Schedule,
    params: &GemmParams<impl Sized>,
) {
    let tile = const { T::TILE };
    let bytes = (a_rows + b_rows) * const { T::TILE.k } + const { 4 * T::MODE.scale_rows(T::TILE) };
    // This CTA's part of B, which it multicasts to the cluster.
    let own = schedule.rank() * (b_rows / tile.cluster);
    let of_rows = Scales::of::<T>(pipeline);
    let mut state = PipelineState::FIRST;
    let mut next = first;
    while let Some(work) = next {
        let [of_a, of_b] = planes::<T>(work, params);
        let mut k_tile = 0;
        while k_tile < work.k_tiles {
            let PipelineState { stage, phase } = state;
            let k = k_tile * const { T::TILE.k };
            let to_a = stage * tile.stage_elems();
            let to_b = to_a + tile.a_elems() + own * const { T::TILE.k };
            let barrier = (pipeline.barriers, full::<T>(stage));
            let at_a = [k, work.row, of_a].map(|at| at as i32);
            let at_b = [k, work.column + own, of_b].map(|at| at as i32);
            // SAFETY: the stage is in the pipeline and empty: unused at first, later released by the consumers. The
            // boxes have the bytes that the barrier expects, those that other CTAs of the cluster multicast included.
            unsafe {
                // Acquire. WAR: the stage is drained in every CTA of the cluster. The phase before the first one counts
                // as complete.
                if const { T::TILE.cluster > 1 } {
                    cluster::wait_for(pipeline.barriers, empty::<T>(stage), phase ^ 1);
                } else {
                    mbarrier::wait(pipeline.barriers, empty::<T>(stage), phase ^ 1);
                }
                mbarrier::arrive_expect_tx(pipeline.barriers, full::<T>(stage), bytes);
                bulk_copy::load_3d(pipeline.elems, to_a, a, at_a, barrier);
                if const { T::TILE.cluster > 1 } {
                    let ranks = const { ((1 << T::TILE.cluster) - 1) as u16 };
                    bulk_copy::load_3d_multicast(pipeline.elems, to_b, b, at_b, barrier, ranks);
                } else {
                    bulk_copy::load_3d(pipeline.elems, to_b, b, at_b, barrier);
                }
                if const { T::SCALES } {
                    // All of the tile's rows, however many A has: zeros outside.
                    let row = work.row - Scales::before::<T>(work.row);
                    let at = [row, of_a * work.k_tiles + k_tile].map(|at| at as i32);
                    bulk_copy::load_2d(of_rows, Scales::first::<T>(stage), scales, at, barrier);
                }
            }
            state = state.advance(tile.stages);
            k_tile += 1;
        }
        // SAFETY: the caller's promise.
        next = unsafe { schedule.next::<T>(params) };
    }
    if const { T::TILE.cluster > 1 } {
        // Other CTAs arrive at this one's barriers until they have read the last stages: it must not exit before.
        let mut stage = 0;
        while stage < tile.stages {
            // SAFETY: as above. A stage that was never filled counts as drained.
            unsafe { cluster::wait_for(pipeline.barriers, empty::<T>(state.stage), state.phase ^ 1) };
            state = state.advance(tile.stages);
            stage += 1;
        }
    }
}
