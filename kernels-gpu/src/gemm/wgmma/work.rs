//! Which tiles and which parts of K a block computes.

use cuda_std::thread;
use tilewright_contract::{GemmParams, GroupedTile, WgmmaTile};

use super::Tile;
use crate::block::split_k::Share;
use crate::ptx::cluster;

/// The items of a block, one after the other: its cluster goes through groups of `cluster` tiles along M, all of slice
/// 0 first, as far apart as there are clusters.
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
    /// Elements along K, of all slices and of each but the last, and how many slices there are.
    k: u32,
    slice_k: u32,
    slices: u32,
}

/// A tile of C and a slice of K.
#[derive(Clone, Copy)]
pub(super) struct Item {
    /// The first row of the tile. A cluster's last rows may lie behind C's: the block then works on nothing, as the
    /// others need its part of B.
    pub(super) row: u32,
    /// The first column of the tile.
    pub(super) column: u32,
    /// The first element along K.
    pub(super) k: u32,
    /// Steps along K.
    pub(super) steps: u32,
    /// The slice.
    slice: u32,
    /// Its number among all.
    pub(super) number: u32,
}

impl Work {
    /// That of this block.
    #[inline(always)]
    pub(super) fn new<T: Tile>(params: &GemmParams<impl Sized>) -> Self {
        let tile = const { T::TILE };
        let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
        let k = params.k;
        let (slice_k, slices) = if const { T::TILE.supports_split_k() } {
            (params.k_per_split, params.splits)
        } else {
            (k, 1)
        };
        Self {
            groups_m: params.m.div_ceil(tile.m * tile.cluster),
            tiles_n: params.n.div_ceil(tile.n),
            order_m: params.group_m.div_ceil(tile.cluster),
            rank: if const { T::TILE.cluster == 1 } {
                0
            } else {
                cluster::rank()
            },
            next: block / tile.cluster,
            stride: blocks / tile.cluster,
            k,
            slice_k,
            slices,
        }
    }

    /// The next item, or none.
    #[inline(always)]
    pub(super) fn next<T: Tile>(&mut self) -> Option<Item> {
        let tile = const { T::TILE };
        if self.is_done() {
            return None;
        }
        let at = if self.groups_m <= self.order_m && self.next < self.groups_m * self.tiles_n {
            // The same with one division in place of three: where blocks have one tile each, copies wait for it.
            let groups_m = self.groups_m.max(1);
            GroupedTile {
                tile_m: self.next % groups_m,
                tile_n: self.next / groups_m,
                split: 0,
            }
        } else {
            GroupedTile::of_block(self.next, self.groups_m, self.tiles_n, self.order_m)
        };
        let number = self.next;
        self.next += self.stride;
        let k = at.split * self.slice_k;
        let steps = self.slice_k.min(self.k.saturating_sub(k)).div_ceil(WgmmaTile::K);
        Some(Item {
            row: (at.tile_m * tile.cluster + self.rank) * tile.m,
            column: at.tile_n * tile.n,
            k,
            steps,
            slice: at.split,
            number,
        })
    }

    /// Whether there is no next item.
    #[inline(always)]
    pub(super) fn is_done(self) -> bool {
        self.next >= self.groups_m * self.tiles_n * self.slices
    }

    /// The items of warpgroup `warpgroup` where two take turns with a block's items, of which `first` is the first: its
    /// first one, and the rest.
    #[inline(always)]
    pub(super) fn in_turns<T: Tile>(mut self, warpgroup: u32, first: Option<Item>) -> (Option<Item>, Self) {
        let stride = self.stride;
        self.stride *= 2;
        if warpgroup == 0 {
            self.next += stride;
            (first, self)
        } else {
            (self.next::<T>(), self)
        }
    }

    /// Whether another item of the block comes behind this one, where two warpgroups take turns.
    #[inline(always)]
    pub(super) fn goes_on(self, item: Item) -> bool {
        item.number + self.stride / 2 < self.groups_m * self.tiles_n
    }

    /// The share of a warpgroup in the tile of an item: its 64 rows are a tile of their own.
    #[inline(always)]
    pub(super) fn share<T: Tile>(self, item: Item, warpgroup: u32) -> Share {
        let tile = const { T::TILE };
        let rows = item.row / WgmmaTile::ROWS + warpgroup;
        Share {
            tile: rows * self.tiles_n + item.column / tile.n,
            tiles: self.groups_m * tile.cluster * tile.consumers() * self.tiles_n,
            slice: item.slice,
            slices: self.slices,
            threads: WgmmaTile::WARPGROUP,
        }
    }
}
