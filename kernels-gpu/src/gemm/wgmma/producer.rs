//! Producer warp: one thread loads A and B into the pipeline by TMA.

use bytemuck::Pod;
use cuda_views::Shared;
use tilewright_contract::{GemmParams, WgmmaTile};

use super::tile_scheduler::{TileScheduler, WorkTile};
use super::{Pipeline, PipelineState, Tile, empty, full};
use crate::ptx::tensor_map::TensorMap;
use crate::ptx::{bulk_copy, cluster, mbarrier};

/// Loads every k-tile of every work tile of the CTA: `first`, then those of `scheduler`; `a_rows` rows of A and
/// `b_rows` columns of B of each. TMA fills elements outside the matrices with zeros, so the last k-tile is no special
/// case.
///
/// # Safety
/// As for [`gemm`](super::gemm); one thread of the CTA executes it.
#[inline(always)]
pub(super) unsafe fn produce<E: Pod, T: Tile, const A_IS_MN_MAJOR: bool, const B_IS_MN_MAJOR: bool>(
    [a, b]: [&TensorMap; 2],
    pipeline: Pipeline<E>,
    [a_rows, b_rows]: [u32; 2],
    first: Option<WorkTile>,
    mut scheduler: TileScheduler,
    params: &GemmParams<impl Sized>,
) {
    let tile = const { T::TILE };
    let bytes = (a_rows + b_rows) * const { T::TILE.parts * T::TILE.k * T::TILE.element_bytes };
    // This CTA's part of B, which it multicasts to the cluster.
    let b_rows = b_rows / tile.cluster;
    let own = scheduler.rank * b_rows;
    let mut state = PipelineState::FIRST;
    let mut next = first;
    while let Some(WorkTile {
        row,
        column,
        k: first_k,
        k_tiles,
        product,
        ..
    }) = next
    {
        // A matrix that all products share is the only one of its map; the parts of one are neighbors.
        let plane = |stride: u64| if stride == 0 { 0 } else { tile.parts * product };
        let (mut plane_a, mut plane_b) = (plane(params.stride_a), plane(params.stride_b));
        if const { T::TILE.is_transposed } {
            (plane_a, plane_b) = (plane_b, plane_a);
        }
        let mut k_tile = 0;
        while k_tile < k_tiles {
            let PipelineState { stage, phase } = state;
            let k = first_k + k_tile * const { T::TILE.k };
            let start = stage * tile.stage_elems();
            let to_b = start + tile.a_elems() + own * const { T::TILE.k };
            let barrier = (pipeline.barriers, full::<T>(stage));
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
                let mut part = 0;
                while part < tile.parts {
                    let to = start + part * const { T::TILE.m * T::TILE.k };
                    let at = [row, k, plane_a + part];
                    load::<E, A_IS_MN_MAJOR>(a, pipeline.elems, to, at, a_rows, 1, barrier);
                    let to = to_b + part * const { T::TILE.n * T::TILE.k };
                    let at = [column + own, k, plane_b + part];
                    load::<E, B_IS_MN_MAJOR>(b, pipeline.elems, to, at, b_rows, tile.cluster, barrier);
                    part += 1;
                }
            }
            state = state.advance(tile.stages);
            k_tile += 1;
        }
        // SAFETY: the groups, if there are any, are there.
        next = unsafe { scheduler.next::<T>(params) };
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

/// Loads `rows` rows of A or columns of B from `row` on, and a k-tile from `k` on, of matrix `plane`: one box if the
/// operand is K-major, else one box for every swizzle atom of rows; into this CTA, or multicast to all `ctas` of its
/// cluster.
///
/// # Safety
/// As for [`bulk_copy::load_3d`].
#[inline(always)]
unsafe fn load<E: Pod, const IS_MN_MAJOR: bool>(
    map: &TensorMap,
    stages: Shared<E>,
    to: u32,
    [row, k, plane]: [u32; 3],
    rows: u32,
    ctas: u32,
    barrier: (Shared<u64>, u32),
) {
    let load_box = |to, at: [u32; 3]| {
        let at = [at[0] as i32, at[1] as i32, at[2] as i32];
        // SAFETY: the caller's promise.
        unsafe {
            if ctas > 1 {
                bulk_copy::load_3d_multicast(stages, to, map, at, barrier, (1 << ctas) - 1);
            } else {
                bulk_copy::load_3d(stages, to, map, at, barrier);
            }
        }
    };
    if IS_MN_MAJOR {
        let mut first = 0;
        while first < rows {
            // Elements of a row of a swizzle atom.
            let atom = const { WgmmaTile::ROW_BYTES / size_of::<E>() as u32 };
            load_box(to + first * atom, [row + first, k, plane]);
            first += atom;
        }
    } else {
        load_box(to, [k, row, plane]);
    }
}
