//! From the accumulators of a block to C.

use cuda_std::thread;
use cuda_views::GlobalMut;
use tilewright_contract::{BlockTile, GemmParams, span_elems};

use super::Tile;
use crate::block::split_k::{SplitTile, WholeCta, reduce};
use crate::block::unroll::unrolled;
use crate::ptx::optimization_barrier;

/// Row and column of C of a thread's first element.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) row: u32,
    pub(super) column: u32,
}

/// Stores a thread's accumulators; with slices, the block that has those of all slices does.
///
/// # Safety
/// `params` is as for [`pipeline`](super::pipeline). The place is the thread's own. Every thread of the
/// block calls this.
#[inline(always)]
// Accumulators are indexed by row and column throughout.
#[allow(clippy::needless_range_loop)]
pub(super) unsafe fn store<T: Tile, const M: usize, const N: usize>(
    mut acc: [[f32; N]; M],
    place: Place,
    params: &GemmParams<f32>,
) {
    let slices = const { T::TILE.supports_split_k() };
    if slices && params.splits > 1 {
        let tile = const { T::TILE };
        // Computed again: kept since the start, these numbers would take registers that the products need.
        let block = thread::block_idx_x() + optimization_barrier::zero();
        let tiles = params.m.div_ceil(tile.m) * params.n.div_ceil(tile.n);
        let split = SplitTile {
            tile: block % tiles.max(1),
            tiles,
            split: block / tiles.max(1),
            splits: params.splits,
            threads: tile.threads(),
        };
        // SAFETY: the caller's promise.
        if !unsafe { reduce(&WholeCta, &mut acc, split, params) } {
            return;
        }
    }
    let (m, n, ld) = (params.m, params.n, params.ldc as usize);
    // SAFETY: C is as `params` says.
    let c = unsafe { GlobalMut::new_with(params.c, || span_elems(m as usize, n as usize, ld)) };
    // `ptxas` gives the four accumulators of a vector neighbouring registers, in the same banks as the vector of B has, so that
    // each `fma` reads two operands from one bank. Single stores leave it free.
    let vectors = slices && n.is_multiple_of(4) && ld.is_multiple_of(4) && params.c.addr().is_multiple_of(16);
    let scaled = |sum: f32, index: usize, inside: bool| {
        let product = params.alpha * sum;
        if params.beta == 0.0 {
            product
        } else {
            // SAFETY: inside C; no other thread writes this element.
            product + params.beta * unsafe { c.get_if(inside, || index, 0.0) }
        }
    };
    unrolled!(M, at most 16, |i| {
        let row = place.row + (i / 4) as u32 * (4 * BlockTile::LANES_M) + (i % 4) as u32;
        let mut vector = 0;
        while vector < N / 4 {
            let column = place.column + vector as u32 * (4 * BlockTile::LANES_N);
            let index = row as usize * ld + column as usize;
            if vectors {
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
