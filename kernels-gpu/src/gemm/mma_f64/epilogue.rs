//! Epilogue: from the accumulators of a warp to C.
//!
//! A lane holds pairs of neighbors of 16 rows. Where C takes pairs in every row, four lanes store 64 bytes, whole
//! sectors. Elsewhere single elements would reach each sector twice: a warp passes 16 rows of 32 columns at a time
//! through shared memory, and its lanes store whole rows of them.

use cuda_std::{thread, warp};
use cuda_views::{GlobalMut, Shared};
use tilewright_contract::{GemmParams, span_elems};

use super::{Accumulators, Tile};
use crate::block::batch;
use crate::block::split_k::reduce_atoms;
use crate::block::unroll::unrolled;
use crate::ptx::mma::c_place;
use crate::ptx::{async_copy, optimization_barrier};

/// Columns that a warp has in shared memory at once: those of four MMA atoms.
const COLUMNS: u32 = 32;

/// Rows: those of an MMA atom.
const ROWS: u32 = 16;

/// Elements of a warp's buffer in shared memory.
const BUFFER_ELEMS: u32 = ROWS * COLUMNS;

/// Index of an element of the buffer: pairs XORed so that neither pairs of two rows nor halves of a row have bank
/// conflicts.
#[inline(always)]
const fn elem(row: u32, column: u32) -> u32 {
    row * COLUMNS + (column ^ (row % 2 * 8))
}

/// Stores a warp's accumulators, whose first element is at `row` and `column` of C; with split-K the CTA that holds the
/// sum of all splits does.
///
/// # Safety
/// `params` is as for [`gemm`](super::gemm), and the elements are the warp's. Every thread of the CTA calls this, and
/// uses the stages no more.
#[inline(always)]
pub(super) unsafe fn store<T: Tile, const M: usize, const N: usize>(
    mut acc: Accumulators<M, N>,
    [row, column]: [u32; 2],
    params: &GemmParams<f64>,
    stages: Shared<f64>,
) {
    if const { T::TILE.supports_split_k() } && params.splits > 1 {
        let tile = const { T::TILE };
        const {
            assert!(
                !T::TILE.supports_split_k() || matches!(M * N, 2 | 8),
                "see `reduce_atoms`"
            )
        };
        // SAFETY: the caller's promise.
        let is_complete = unsafe { reduce_atoms(&mut acc, [tile.m, tile.n], tile.threads(), params) };
        if !is_complete {
            return;
        }
    }
    let c = batch::c::<f64, f64>(params);
    let is_vec2 = params.n.is_multiple_of(2) && params.ldc.is_multiple_of(2) && c.addr().is_multiple_of(16);
    // SAFETY: C is as `params` says.
    let c = unsafe {
        GlobalMut::new_with(c, || {
            span_elems(params.m as usize, params.n as usize, params.ldc as usize)
        })
    };
    // SAFETY: the caller's promise; with `is_vec2` pairs are aligned in every row, and inside C or outside.
    unsafe {
        if is_vec2 {
            store_pairs(&acc, c, [row, column], params);
        } else if const { M * N <= 8 && T::TILE.defers_last_row } {
            // Few accumulators leave registers for all rows, in a tile that is not short of them.
            store_rows::<T, M, N, { ROWS as usize }>(&acc, c, [row, column], params, stages);
        } else {
            store_rows::<T, M, N, 4>(&acc, c, [row, column], params, stages);
        }
    }
}

/// Stores pairs of neighbors from registers.
///
/// # Safety
/// As for [`store`]; n, `ldc` and the start of C are multiples of a pair.
#[inline(always)]
unsafe fn store_pairs<const M: usize, const N: usize>(
    acc: &Accumulators<M, N>,
    c: GlobalMut<f64>,
    [row, column]: [u32; 2],
    params: &GemmParams<f64>,
) {
    let (m, n, ld) = (params.m, params.n, params.ldc as usize);
    let [alpha, beta] = params.factors_f64;
    let (own_row, own_column) = c_place(thread::thread_idx_x() % 32, 0);
    unrolled!(const M, |i| {
        unrolled!(const N, |j| {
            unrolled!(2, at most 2, |half| {
                let row = row + own_row + 16 * i as u32 + 8 * half as u32;
                let column = column + own_column + 8 * j as u32;
                let index = row as usize * ld + column as usize;
                let scaled = [alpha * acc[i][j][2 * half], alpha * acc[i][j][2 * half + 1]];
                if row < m && column < n {
                    // SAFETY: inside C, since n is even; no other thread accesses these elements.
                    unsafe {
                        let source = if beta == 0.0 { [0.0; 2] } else { c.get_vec::<2>(index).map(|c| beta * c) };
                        c.set_vec(index, [scaled[0] + source[0], scaled[1] + source[1]]);
                    }
                }
            });
        });
    });
}

/// Stores rows of single elements through shared memory, `R` at a time.
///
/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn store_rows<T: Tile, const M: usize, const N: usize, const R: usize>(
    acc: &Accumulators<M, N>,
    c: GlobalMut<f64>,
    [row, column]: [u32; 2],
    params: &GemmParams<f64>,
    stages: Shared<f64>,
) {
    const {
        let elems = T::TILE.threads() / 32 * BUFFER_ELEMS;
        assert!(
            elems <= T::TILE.stages * T::TILE.stage_elems(),
            "the stages hold a buffer for each warp"
        );
        assert!(N < 4 || N.is_multiple_of(4), "one part or whole ones");
    };
    let parts_of_row = const { N.div_ceil(4) };
    let (m, n, ld) = (params.m, params.n, params.ldc as usize);
    let [alpha, beta] = params.factors_f64;
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let (own_row, own_column) = c_place(lane, 0);
    async_copy::wait::<0>();
    // WAR: no thread reads the stages any more, and no load into them is under way, where rows of C go now.
    thread::sync_threads();
    // SAFETY: the buffer is the warp's own. A lane reads what others wrote after a barrier; an element of C is inside,
    // and no other thread accesses it.
    unsafe {
        let buffer = stages.part((warp * BUFFER_ELEMS) as usize, BUFFER_ELEMS as usize);
        // The warp's columns may end before those of a part.
        let end = n.min(column + 8 * N as u32);
        let parts = (M * parts_of_row) as u32;
        let mut part = optimization_barrier::zero();
        while part < parts {
            // Only the code that indexes the accumulators is unrolled over the parts; the rest is emitted once.
            unrolled!(const M * N.div_ceil(4), |candidate| {
                if part == candidate as u32 {
                    unrolled!(const if N < 4 { 2 * N } else { 8 }, |pair| {
                        let atom = &acc[candidate / parts_of_row][candidate % parts_of_row * 4 + pair / 2];
                        let half = pair % 2;
                        let at = elem(own_row + 8 * half as u32, own_column + 8 * (pair as u32 / 2));
                        buffer.set_vec(at as usize, [atom[2 * half], atom[2 * half + 1]]);
                    });
                }
            });
            // RAW: the warp's accumulators are written.
            warp::sync_warp(u32::MAX);
            let row = row + part / parts_of_row as u32 * ROWS;
            let column = column + part % parts_of_row as u32 * COLUMNS + lane;
            // A loop of one turn is none: its offset is known.
            let mut below = if const { R == ROWS as usize } {
                0
            } else {
                optimization_barrier::zero()
            };
            while below < ROWS {
                let mut source = [0.0; R];
                if beta != 0.0 {
                    unrolled!(const R, at most 16, |i| {
                        let row = row + below + i as u32;
                        let index = || row as usize * ld + column as usize;
                        source[i] = beta * c.get_if(row < m && column < end, index, 0.0);
                    });
                }
                unrolled!(const R, at most 16, |i| {
                    let below = below + i as u32;
                    let row = row + below;
                    let sum = buffer.get(elem(below, lane) as usize);
                    let index = || row as usize * ld + column as usize;
                    c.set_if(row < m && column < end, index, || alpha * sum + source[i]);
                });
                below += R as u32;
            }
            // WAR: the warp's accumulators are read.
            warp::sync_warp(u32::MAX);
            part += 1;
        }
    }
}
