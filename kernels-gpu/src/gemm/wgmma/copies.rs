//! The thread that copies A and B to the ring.

use cuda_views::Shared;
use tilewright_contract::WgmmaTile;

use super::work::{Item, Work};
use super::{Element, Ring, Tile, Turn, empty, full};
use crate::ptx::tensor_map::TensorMap;
use crate::ptx::{bulk_copy, cluster, mbarrier};

/// Copies all steps of all tiles of the block: `first`, then those of `work`; of each as many rows of A and columns of
/// B as are given. Elements outside of the matrices arrive as zeros, so that sums need no case for the last step.
///
/// # Safety
/// As for [`product`](super::product); one thread of the block executes it.
#[inline(always)]
pub(super) unsafe fn copy<E: Element, T: Tile, const A_IS_M_MAJOR: bool, const B_IS_N_MAJOR: bool>(
    [a, b]: [&TensorMap; 2],
    ring: Ring<E>,
    [a_rows, b_rows]: [u32; 2],
    first: Option<Item>,
    mut work: Work,
) {
    let tile = const { T::TILE };
    let bytes = (a_rows + b_rows) * const { WgmmaTile::K * WgmmaTile::ELEMENT_BYTES };
    // This block's part of B, for all blocks of the cluster.
    let b_rows = b_rows / tile.cluster;
    let own = work.rank * b_rows;
    let mut turn = Turn::FIRST;
    let mut next = first;
    while let Some(Item {
        row,
        column,
        k: first_k,
        steps,
        ..
    }) = next
    {
        let mut step = 0;
        while step < steps {
            let Turn { stage, parity } = turn;
            let k = first_k + step * WgmmaTile::K;
            let start = stage * tile.stage_elems();
            let to_b = start + tile.a_elems() + own * WgmmaTile::K;
            let barrier = (ring.barriers, full::<T>(stage));
            // SAFETY: the stage lies in the ring, and nobody uses it: in the first round nobody has, later those who
            // multiply have arrived. The boxes are the bytes that the barrier expects; in a cluster those that other
            // blocks copy here among them.
            unsafe {
                // WAR: the stage is drained, in every block of the cluster. In the first round the phase before the
                // first one counts as complete.
                if const { T::TILE.cluster > 1 } {
                    cluster::wait_for(ring.barriers, empty::<T>(stage), parity ^ 1);
                } else {
                    mbarrier::wait(ring.barriers, empty::<T>(stage), parity ^ 1);
                }
                mbarrier::arrive_expect_tx(ring.barriers, full::<T>(stage), bytes);
                panels::<E, A_IS_M_MAJOR>(a, ring.elems, start, [row, k], a_rows, 1, barrier);
                panels::<E, B_IS_N_MAJOR>(b, ring.elems, to_b, [column + own, k], b_rows, tile.cluster, barrier);
            }
            turn = turn.next(tile.stages);
            step += 1;
        }
        next = work.next::<T>();
    }
    if const { T::TILE.cluster > 1 } {
        // Other blocks arrive at this one's barriers until they have multiplied the last stages: it does not end
        // before.
        let mut stage = 0;
        while stage < tile.stages {
            // SAFETY: as above. A stage that was never filled counts as drained.
            unsafe { cluster::wait_for(ring.barriers, empty::<T>(turn.stage), turn.parity ^ 1) };
            turn = turn.next(tile.stages);
            stage += 1;
        }
    }
}

/// Copies `rows` rows of A or columns of B from `row` on, and 64 elements along K from `k` on: one box where the matrix
/// lies along K, else one for every 64 rows; to this block, or to all `blocks` of its cluster.
///
/// # Safety
/// As for [`bulk_copy::load_2d`].
#[inline(always)]
unsafe fn panels<E: Element, const LIES_ACROSS: bool>(
    map: &TensorMap,
    ring: Shared<E>,
    to: u32,
    [row, k]: [u32; 2],
    rows: u32,
    blocks: u32,
    barrier: (Shared<u64>, u32),
) {
    let load = |to, at: [u32; 2]| {
        let at = at.map(|at| at as i32);
        // SAFETY: the caller's promise.
        unsafe {
            if blocks > 1 {
                bulk_copy::load_2d_multicast(ring, to, map, at, barrier, (1 << blocks) - 1);
            } else {
                bulk_copy::load_2d(ring, to, map, at, barrier);
            }
        }
    };
    if LIES_ACROSS {
        let mut first = 0;
        while first < rows {
            load(to + first * WgmmaTile::K, [row + first, k]);
            first += WgmmaTile::PANEL;
        }
    } else {
        load(to, [k, row]);
    }
}
