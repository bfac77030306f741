//! Which tiles a block computes.

use cuda_std::thread;
use tilewright_contract::{GemmCall, GroupedTile, WgmmaTile};

use super::Tile;
use crate::primitives::cluster;

/// The tiles of a block, one after the other: its cluster goes through groups of `cluster` tiles along M, as far apart as there are clusters.
#[derive(Clone, Copy)]
pub(super) struct Work {
    /// Groups of tiles along M.
    groups_m: u32,
    /// Tiles along N.
    tiles_n: u32,
    /// As in [`GroupedTile::of_block`], in groups.
    order_m: u32,
    /// The block's place in its cluster.
    pub(super) rank: u32,
    /// The group of tiles that comes next.
    next: u32,
    /// From one to the next.
    stride: u32,
    /// Steps along K of each tile.
    pub(super) steps: u32,
}

impl Work {
    /// That of this block.
    #[inline(always)]
    pub(super) fn new<T: Tile>(call: GemmCall) -> Self {
        let tile = const { T::TILE };
        let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
        let alone = const { T::TILE.cluster == 1 };
        Self {
            groups_m: call.args.m.div_ceil(tile.m * tile.cluster),
            tiles_n: call.args.n.div_ceil(tile.n),
            order_m: call.group_m.div_ceil(tile.cluster),
            rank: if alone { 0 } else { cluster::rank() },
            next: block / tile.cluster,
            stride: blocks / tile.cluster,
            steps: call.args.k.div_ceil(WgmmaTile::K),
        }
    }

    /// The first row and column of the next tile. A cluster's last rows may lie behind C's: the block then works on nothing, as the others need its part of B.
    #[inline(always)]
    pub(super) fn next<T: Tile>(&mut self) -> Option<[u32; 2]> {
        let tile = const { T::TILE };
        if self.next >= self.groups_m * self.tiles_n {
            return None;
        }
        let at = GroupedTile::of_block(self.next, self.groups_m, self.tiles_n, self.order_m);
        self.next += self.stride;
        Some([(at.tile_m * tile.cluster + self.rank) * tile.m, at.tile_n * tile.n])
    }
}
