//! The scales of a warp: one word of a lane for 32 rows of A, one for 32 columns of B.

use cuda_views::{Global, Shared};
use tilewright_contract::{BlockScaledParams, ScaleLayout, ScaleSource};

use super::Tile;
use crate::gemm::mma_sync::Position;

/// Rows of a tile of scales, and its words.
pub(super) const TILE_ROWS: u32 = ScaleLayout::TILE_ROWS;
pub(super) const TILE_WORDS: u32 = ScaleLayout::TILE_BYTES / 4;

/// Loads the scales of a warp's part of A and of B.
#[derive(Clone, Copy)]
pub(super) struct WarpScales {
    stages: Shared<u32>,
    global: [Global<u32>; 2],
    /// First word of the lane in a row of tiles, of A and of B; in a stage, or in global memory.
    first: [u32; 2],
    /// Tiles along K in global memory.
    k_tiles: u32,
    /// The row of tiles of the warp's part, of A and of B: within the CTA's tile, or of the whole operand.
    row_tile: [u32; 2],
    /// Rows of tiles in global memory.
    row_tiles: [u32; 2],
}

impl WarpScales {
    /// Of the warp at this position.
    ///
    /// The lane's row of 32: with `group = lane / 4` and `part = lane % 4`, of A 16 rows of an `mma` atom in each half
    /// of the quad, of B 8 columns of an atom in each lane of it.
    #[inline(always)]
    pub fn new<T: Tile>(
        stages: Shared<u32>,
        scaled: &BlockScaledParams,
        position: Position,
        [m, n]: [u32; 2],
        lane: u32,
    ) -> Self {
        let (group, part) = (lane / 4, lane % 4);
        let of_lane = [part / 2 * 16 + part % 2 * 8 + group, part * 8 + group];
        let starts = [position.row + position.warp_row, position.column + position.warp_column];
        let in_cta = const { matches!(T::TILE.scales, ScaleSource::Stage) };
        let of_cta = [position.row, position.column].map(|start| start / TILE_ROWS);
        let row_tile = [0, 1].map(|i| starts[i] / TILE_ROWS - if in_cta { of_cta[i] } else { 0 });
        let row_tiles = [m, n].map(|rows| rows.div_ceil(TILE_ROWS));
        let words = |row_tiles: u32| (row_tiles * scaled.scale_k_tiles * TILE_WORDS) as usize;
        Self {
            stages,
            // SAFETY: read only if the kernel takes its scales from there, and then inside.
            global: [0, 1].map(|i| unsafe { Global::new_with(scaled.scales[i], || words(row_tiles[i])) }),
            first: [0, 1].map(|i| ScaleLayout::in_tile(starts[i] % TILE_ROWS + of_lane[i]) / 4),
            k_tiles: scaled.scale_k_tiles,
            row_tile,
            row_tiles,
        }
    }

    /// The lane's words for k-block `k_block` of k-tile `k_tile`, whose stage begins at byte `stage`: of A and of B,
    /// for the first 32 rows of the warp and the next, of which a warp of 32 has none. The two are neighbors in a tile:
    /// one load.
    ///
    /// # Safety
    /// The stage is full.
    #[inline(always)]
    pub unsafe fn load<T: Tile>(self, stage: u32, k_tile: u32, k_block: u32) -> ([u32; 2], [u32; 2]) {
        let tile = const { T::TILE };
        let k_tile_of_stage = k_block * tile.format.mma_k() / tile.format.scale_tile_k();
        let k_tiles = const { T::TILE.scale_k_tiles() };
        let at_scales = stage + const { T::TILE.a_bytes() + T::TILE.b_bytes() };
        let starts = [at_scales, at_scales + const { T::TILE.scale_bytes(T::TILE.m) }];
        let words = |i: usize, extent: u32| {
            // SAFETY: the caller's promise; a scale outside the operand's tiles is not read.
            unsafe {
                match const { T::TILE.scales } {
                    ScaleSource::Stage => {
                        let tile = self.row_tile[i] * k_tiles + k_tile_of_stage;
                        let word = (starts[i] / 4 + tile * TILE_WORDS + self.first[i]) as usize;
                        match extent {
                            64 => self.stages.get_vec::<2>(word),
                            _ => [self.stages.get(word), 0],
                        }
                    }
                    ScaleSource::L2 => {
                        let along = k_tile * k_tiles + k_tile_of_stage;
                        let tile = self.row_tile[i] * self.k_tiles + along;
                        let word = (tile * TILE_WORDS + self.first[i]) as usize;
                        match (along < self.k_tiles && self.row_tile[i] < self.row_tiles[i], extent) {
                            (false, _) => [0; 2],
                            (true, 64) => self.global[i].get_vec::<2>(word),
                            (true, _) => [self.global[i].get(word), 0],
                        }
                    }
                }
            }
        };
        (words(0, tile.warp_m), words(1, tile.warp_n))
    }
}
