//! Epilogue: from the accumulators of a CTA to C.
//!
//! A lane has four neighboring columns. Where C takes vectors of four, a lane stores its own. Elsewhere a store of one
//! element of each lane would reach every sector of a row four times: the lanes of a warp pass their columns through
//! shared memory, and each store writes 128 bytes of a row.

use cuda_std::{shared, thread, warp};
use cuda_views::{GlobalMut, Shared};
use tilewright_contract::{BlockTile, GemmParams, span_elems};

use super::{Lane, Tile};
use crate::block::batch;
use crate::block::epilogue::linear_combination;
use crate::block::split_k::{SplitTile, WholeCta, reduce};
use crate::block::unroll::unrolled;
use crate::ptx::{async_copy, optimization_barrier};

/// Elements from one row of a warp in shared memory to the next: one more than it has columns, so that neither four
/// columns of each lane nor a whole row have bank conflicts.
const ROW_PITCH: usize = 4 * BlockTile::LANES_N as usize + 1;

/// Rows of lanes.
const LANES_M: usize = BlockTile::LANES_M as usize;

/// Elements of a buffer: a row of a warp for each row of lanes, from a vector of each lane.
const BUFFER_ELEMS: usize = LANES_M * ROW_PITCH;

/// Rows of accumulators whose vectors have buffers in the stages at once.
const fn rows_at_once(tile: BlockTile, columns: usize) -> usize {
    let elems_of_warp = (tile.stages * tile.stage_elems() / (tile.threads() / 32)) as usize;
    let rows = elems_of_warp / (columns / 4 * BUFFER_ELEMS);
    assert!(rows > 0, "the stages have room for a row of every lane");
    rows
}

/// Stores a thread's accumulators, the rows from `first` on of those that a thread has of a tile; with split-K the CTA
/// that holds the sum of all splits does.
///
/// # Safety
/// `params` is as for [`gemm`](super::gemm). The CTA's tile begins at the row and column. Every thread of the CTA calls
/// this.
#[inline(always)]
// Accumulators are indexed by row and column throughout.
#[allow(clippy::needless_range_loop)]
pub(super) unsafe fn store<T: Tile, const M: usize, const N: usize>(
    mut acc: [[f32; N]; M],
    [row, column]: [u32; 2],
    first: u32,
    params: &GemmParams<f32>,
) {
    let tile = const { T::TILE };
    let supports_split_k = const { T::TILE.supports_split_k() };
    if supports_split_k && params.splits > 1 {
        let split = SplitTile::of_cta(params, [tile.m, tile.n], tile.threads());
        // SAFETY: the caller's promise.
        if !unsafe { reduce(&WholeCta, &mut acc, split, params) } {
            return;
        }
    }
    let (m, n, ld) = (params.m, params.n, params.ldc as usize);
    let c = batch::c::<f32, f32>(params);
    let is_aligned = c.addr().is_multiple_of(16);
    // SAFETY: C is as `params` says.
    let c = unsafe { GlobalMut::new_with(c, || span_elems(m as usize, n as usize, ld)) };
    // `ptxas` gives the four accumulators of a vec4 neighboring registers, in the same banks as the vec4 of B, so that
    // each FMA reads two operands from one bank. Single stores leave it free.
    let is_vec4 = supports_split_k && n.is_multiple_of(4) && ld.is_multiple_of(4) && is_aligned;
    // SAFETY: inside C; no other thread writes this element.
    let source = |index: usize, inside: bool| unsafe { c.get_if(inside, || index, 0.0) };
    let scaled = |acc: f32, index: usize| linear_combination(params.alpha, acc, params.beta, || source(index, true));
    // Computed again: kept since the start, it would take a register from the accumulators.
    let t = thread::thread_idx_x() + optimization_barrier::zero();
    let (warp, lane) = (t / 32, t % 32);
    let own = Lane::of(lane);
    // The warp's first row and column.
    let of_slice = match const { T::TILE.slices } {
        1 => warp,
        _ => warp % (tile.warps_m() * tile.warps_n()),
    };
    let first_row = row + of_slice % tile.warps_m() * (BlockTile::LANES_M * tile.thread_m);
    let first_column = column + of_slice / tile.warps_m() * (BlockTile::LANES_N * tile.thread_n);
    // From a lane's first row of the tile to that of its accumulators of this index.
    let below = |i: u32| (first + i) / 4 * (4 * BlockTile::LANES_M) + (first + i) % 4;
    if is_vec4 {
        unrolled!(const M, at most 16, |i| {
            let row = first_row + 4 * own.row + below(i as u32);
            let mut vector = 0;
            while vector < N / 4 {
                let column = first_column + 4 * own.column + vector as u32 * (4 * BlockTile::LANES_N);
                let index = row as usize * ld + column as usize;
                if row < m && column < n {
                    let values: [f32; 4] = core::array::from_fn(|j| scaled(acc[i][4 * vector + j], index + j));
                    // SAFETY: n is a multiple of 4, so the whole vector is inside C and this thread's; its address is a
                    // multiple of 16.
                    unsafe { c.set_vec(index, values) };
                }
                vector += 1;
            }
        });
        return;
    }
    async_copy::wait::<0>();
    // WAR: no thread reads the stages any more, and no load into them is under way, where rows of C go now.
    thread::sync_threads();
    // SAFETY: the stages have room for the buffers of every warp. A lane writes its own elements of a buffer, and other
    // lanes read them after the barrier; an element of C is inside, and no other thread writes it.
    unsafe {
        let stages = Shared::new(
            shared::dynamic_shared_mem::<f32>(),
            const { (T::TILE.stages * T::TILE.stage_elems()) as usize },
        );
        let rows = const { rows_at_once(T::TILE, N) };
        let elems = rows * (N / 4) * BUFFER_ELEMS;
        let buffers = stages.part(warp as usize * elems, elems);
        let reads_c = params.beta != 0.0;
        // C of the accumulators' rows `from` to `end`, which all lanes have written.
        let store_rows = |from: usize, end: usize| {
            for vector in from * (N / 4)..end * (N / 4) {
                let row = first_row + below((vector / (N / 4)) as u32);
                let column = first_column + (vector % (N / 4)) as u32 * (4 * BlockTile::LANES_N) + lane;
                let buffer = (vector - from * (N / 4)) * BUFFER_ELEMS + lane as usize;
                let place = |of_lanes: usize| {
                    let row = row + 4 * of_lanes as u32;
                    (row as usize * ld + column as usize, row < m && column < n)
                };
                // No branch for each element: the loads of all are predicated, and before the first store.
                let before: [f32; LANES_M] = core::array::from_fn(|of_lanes| {
                    let (index, inside) = place(of_lanes);
                    source(index, inside && reads_c)
                });
                for of_lanes in 0..LANES_M {
                    let sum = buffers.get(buffer + of_lanes * ROW_PITCH);
                    let value = linear_combination(params.alpha, sum, params.beta, || before[of_lanes]);
                    let (index, inside) = place(of_lanes);
                    c.set_if(inside, || index, || value);
                }
            }
        };
        unrolled!(const M, at most 16, |i| {
            let from = i / rows * rows;
            if i == from && i > 0 {
                // WAR: the other lanes have read the rows before.
                warp::sync_warp(u32::MAX);
            }
            for vector in 0..N / 4 {
                let to = ((i - from) * (N / 4) + vector) * BUFFER_ELEMS + own.row as usize * ROW_PITCH;
                for j in 0..4 {
                    buffers.set(to + 4 * own.column as usize + j, acc[i][4 * vector + j]);
                }
            }
            if i + 1 == M || i + 1 == from + rows {
                // RAW: the other lanes have written their parts of the rows.
                warp::sync_warp(u32::MAX);
                store_rows(from, i + 1);
            }
        });
    }
}
