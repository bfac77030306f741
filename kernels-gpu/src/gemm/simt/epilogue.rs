//! Epilogue: from the accumulators of a CTA to C.

use cuda_std::thread;
use cuda_views::GlobalMut;
use tilewright_contract::{BlockTile, GemmParams, span_elems};

use super::Tile;
use crate::block::batch;
use crate::block::epilogue::linear_combination;
use crate::block::split_k::{SplitTile, WholeCta, reduce};
use crate::block::unroll::unrolled;
use crate::ptx::{ctaid, optimization_barrier};

/// Row and column of C of a thread's first element.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub(super) row: u32,
    pub(super) column: u32,
}

/// Stores a thread's accumulators; with split-K the CTA that holds the sum of all splits does.
///
/// # Safety
/// `params` is as for [`gemm`](super::gemm). The position is the thread's own. Every thread of the CTA calls this.
#[inline(always)]
// Accumulators are indexed by row and column throughout.
#[allow(clippy::needless_range_loop)]
pub(super) unsafe fn store<T: Tile, const M: usize, const N: usize>(
    mut acc: [[f32; N]; M],
    position: Position,
    params: &GemmParams<f32>,
) {
    let supports_split_k = const { T::TILE.supports_split_k() };
    if supports_split_k && params.splits > 1 {
        let tile = const { T::TILE };
        // Computed again: kept since the start, these numbers would take registers from the accumulators.
        let cta = thread::block_idx_x() + optimization_barrier::zero();
        let tiles = params.m.div_ceil(tile.m) * params.n.div_ceil(tile.n);
        let split = SplitTile {
            tile: cta % tiles.max(1) + ctaid::y() * tiles,
            tiles: tiles * params.batch,
            split: cta / tiles.max(1),
            splits: params.splits,
            threads: tile.threads(),
        };
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
    let scaled = |acc: f32, index: usize, inside: bool| {
        linear_combination(params.alpha, acc, params.beta, || source(index, inside))
    };
    unrolled!(const M, at most 16, |i| {
        let row = position.row + (i / 4) as u32 * (4 * BlockTile::LANES_M) + (i % 4) as u32;
        let mut vector = 0;
        while vector < N / 4 {
            let column = position.column + vector as u32 * (4 * BlockTile::LANES_N);
            let index = row as usize * ld + column as usize;
            if is_vec4 {
                if row < m && column < n {
                    let values: [f32; 4] = core::array::from_fn(|j| scaled(acc[i][4 * vector + j], index + j, true));
                    // SAFETY: n is a multiple of 4, so the whole vector is inside C and this thread's; its address is a
                    // multiple of 16.
                    unsafe { c.set_vec(index, values) };
                }
            } else {
                for j in 0..4 {
                    let inside = row < m && column + (j as u32) < n;
                    let value = scaled(acc[i][4 * vector + j], index + j, inside);
                    // SAFETY: inside C; no other thread writes this element.
                    unsafe { c.set_if(inside, || index + j, || value) };
                }
            }
            vector += 1;
        }
    });
}
