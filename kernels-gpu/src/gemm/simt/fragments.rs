//! A thread's fragments of A and B, from a stage.

use cuda_views::Shared;
use tilewright_contract::BlockTile;

use super::Tile;
use crate::block::warp::Lane;

/// The stages from a thread's first elements of A and B on: what is left of an index is a constant and the stage.
#[derive(Clone, Copy)]
pub struct Fragments {
    a: Shared<f32>,
    b: Shared<f32>,
}

impl Fragments {
    /// Of a lane of warp number `warp` of those for the whole tile, from row `first_k` of a stage on.
    #[inline(always)]
    pub fn new<T: Tile>(stages: Shared<f32>, warp: u32, lane: Lane, first_k: u32) -> Self {
        let tile = const { T::TILE };
        let (warp_row, warp_column) = (warp % tile.warps_m(), warp / tile.warps_m());
        let first_row = warp_row * (BlockTile::LANES_M * tile.thread_m) + 4 * lane.row;
        let first_column = warp_column * (BlockTile::LANES_N * tile.thread_n) + 4 * lane.column;
        let elems = const { (T::TILE.stages * T::TILE.stage_elems()) as usize };
        // SAFETY: the element is inside the first stage.
        let from = |elem: u32| unsafe { stages.part(elem as usize, elems - elem as usize) };
        Self {
            a: from(first_k * tile.a_pitch() + first_row),
            b: from(tile.a_elems() + first_k * tile.b_pitch() + first_column),
        }
    }

    /// Loads those of row `k` of the stage that begins at element `stage`.
    ///
    /// # Safety
    /// The stage is in the pipeline, and nobody writes it.
    #[inline(always)]
    pub unsafe fn load<T: Tile, const M: usize, const N: usize>(
        self,
        from_a: &mut [f32; M],
        from_b: &mut [f32; N],
        stage: u32,
        k: u32,
    ) {
        let tile = const { T::TILE };
        // SAFETY: the caller's promise; each vec4 starts at a multiple of 4 elements.
        unsafe {
            for vector in 0..M / 4 {
                let index = stage + k * tile.a_pitch() + vector as u32 * (4 * BlockTile::LANES_M);
                from_a[4 * vector..4 * vector + 4].copy_from_slice(&self.a.get_vec::<4>(index as usize));
            }
            for vector in 0..N / 4 {
                let index = stage + k * tile.b_pitch() + vector as u32 * (4 * BlockTile::LANES_N);
                from_b[4 * vector..4 * vector + 4].copy_from_slice(&self.b.get_vec::<4>(index as usize));
            }
        }
    }
}
