//! Persistent tile scheduler.

use cuda_std::thread;
use tilewright_contract::{GemmParams, RasterTile, WgmmaTile, first_tile_of_group};

use super::Tile;
use crate::block::groups;
use crate::block::split_k::SplitTile;
use crate::ptx::cluster;
use crate::ptx::warp_uniform::warp_uniform;

/// Persistent tile scheduler, of C or of its transpose. Each cluster takes every `stride`-th group of M-adjacent tiles:
/// all tiles of split 0 of the first product, of split 1, and so on, then those of the next product. With [`groups`]
/// every `stride`-th tile.
#[derive(Clone, Copy)]
pub(crate) struct TileScheduler {
    /// Groups of `cluster` tiles along M.
    groups_m: u32,
    /// Tiles along N.
    pub(crate) tiles_n: u32,
    /// The CTA's rank in its cluster.
    pub(crate) rank: u32,
    /// The next group of tiles.
    pub(crate) next: u32,
    /// Number of clusters: from one group to the next.
    pub(crate) stride: u32,
    /// Elements along K: of the problem, and of each split but the last.
    k: u32,
    k_per_split: u32,
    splits: u32,
    /// Products of the batch; one where there are groups.
    batch: u32,
}

/// A tile of C and a split of K.
#[derive(Clone, Copy, Default)]
pub(crate) struct WorkTile {
    /// The first row. The last tiles of a cluster may start past C's last row: the CTA still loads its part of B, which
    /// the others need.
    pub(crate) row: u32,
    /// The first column.
    pub(crate) column: u32,
    /// The first element along K.
    pub(crate) k: u32,
    /// Number of k-tiles.
    pub(crate) k_tiles: u32,
    /// The product of the batch; the group of the rows.
    pub(crate) product: u32,
    /// Where the rows of C end, those of the group.
    pub(crate) end: u32,
    /// The split.
    pub(crate) split: u32,
    /// Index among all work tiles.
    pub(crate) index: u32,
}

impl TileScheduler {
    /// Scheduler of this CTA.
    #[inline(always)]
    pub(crate) fn new<T: Tile>(params: &GemmParams<impl Sized>) -> Self {
        let tile = const { T::TILE };
        let (cta, ctas) = (thread::block_idx_x(), thread::grid_dim_x());
        let k = params.k;
        let (k_per_split, splits) = if const { T::TILE.supports_split_k() } {
            (params.k_per_split, params.splits)
        } else {
            (k, 1)
        };
        let (groups_m, batch) = if const { T::TILE.groups } {
            (first_tile_of_group(params.batch, params.m, tile.m), 1)
        } else {
            (
                if const { T::TILE.is_transposed } {
                    params.n
                } else {
                    params.m
                }
                .div_ceil(tile.m * tile.cluster),
                params.batch,
            )
        };
        Self {
            groups_m,
            tiles_n: if const { T::TILE.is_transposed } {
                params.m
            } else {
                params.n
            }
            .div_ceil(tile.n),
            rank: if const { T::TILE.cluster == 1 } {
                0
            } else {
                cluster::rank()
            },
            next: cta / tile.cluster,
            stride: ctas / tile.cluster,
            k,
            k_per_split,
            splits,
            batch,
        }
    }

    /// The next work tile, or none.
    ///
    /// # Safety
    /// The scheduler is of `params`; [`find`](groups::find) may read its groups.
    #[inline(always)]
    pub(crate) unsafe fn next<T: Tile>(&mut self, params: &GemmParams<impl Sized>) -> Option<WorkTile> {
        if const { T::TILE.groups } {
            // SAFETY: the caller's promise.
            unsafe { self.next_of_groups::<T>(params) }
        } else {
            self.next_of_batch::<T>(params)
        }
    }

    /// [`next`](Self::next) for a whole warp, so that `ptxas` knows that its lanes have one tile. Without groups it
    /// sees so by itself.
    ///
    /// # Safety
    /// As for [`next`](Self::next); all lanes of the warp execute it together.
    #[inline(always)]
    pub(crate) unsafe fn next_of_warp<T: Tile>(&mut self, params: &GemmParams<impl Sized>) -> Option<WorkTile> {
        // SAFETY: the caller's promise.
        unsafe {
            let next = self.next::<T>(params);
            if const { !T::TILE.groups } {
                return next;
            }
            let some = next.unwrap_or_default();
            (warp_uniform(u32::from(next.is_some())) != 0).then_some(WorkTile {
                row: warp_uniform(some.row),
                column: warp_uniform(some.column),
                k_tiles: warp_uniform(some.k_tiles),
                product: warp_uniform(some.product),
                end: warp_uniform(some.end),
                ..some
            })
        }
    }

    /// The next tile that a group has, of whole K.
    ///
    /// # Safety
    /// As for [`next`](Self::next).
    #[inline(always)]
    unsafe fn next_of_groups<T: Tile>(&mut self, params: &GemmParams<impl Sized>) -> Option<WorkTile> {
        let tile = const { T::TILE };
        while !self.is_done() {
            let index = self.next;
            self.next += self.stride;
            // SAFETY: the caller's promise.
            if let Some(at) = unsafe { groups::find(params, index, tile.m, self.tiles_n) } {
                return Some(WorkTile {
                    row: at.row,
                    column: at.tile_n * tile.n,
                    k: 0,
                    k_tiles: self.k.div_ceil(const { T::TILE.k }),
                    product: at.group,
                    end: at.end,
                    split: 0,
                    index,
                });
            }
        }
        None
    }

    #[inline(always)]
    fn next_of_batch<T: Tile>(&mut self, params: &GemmParams<impl Sized>) -> Option<WorkTile> {
        let tile = const { T::TILE };
        if self.is_done() {
            return None;
        }
        // A split of a product. Most launches have one, and the first loads of a CTA wait for every division.
        let tiles = (self.groups_m * self.tiles_n).max(1);
        let (layer, at) = if self.next < tiles {
            (0, self.next)
        } else {
            (self.next / tiles, self.next % tiles)
        };
        let (product, split) = match self.splits {
            1 => (layer, 0),
            splits => (layer / splits.max(1), layer % splits.max(1)),
        };
        let raster_m = const { RasterTile::group_m(T::TILE.m).div_ceil(T::TILE.cluster) };
        let at = if self.groups_m <= raster_m {
            // The same with one division instead of three.
            let groups_m = self.groups_m.max(1);
            RasterTile {
                tile_m: at % groups_m,
                tile_n: at / groups_m,
                split: 0,
            }
        } else {
            RasterTile::of_block(at, self.groups_m, self.tiles_n, raster_m)
        };
        let index = self.next;
        self.next += self.stride;
        let k = split * self.k_per_split;
        let k_tiles = self
            .k_per_split
            .min(self.k.saturating_sub(k))
            .div_ceil(const { T::TILE.k });
        Some(WorkTile {
            row: (at.tile_m * tile.cluster + self.rank) * tile.m,
            column: at.tile_n * tile.n,
            k,
            k_tiles,
            product,
            end: if const { T::TILE.is_transposed } {
                params.n
            } else {
                params.m
            },
            split,
            index,
        })
    }

    /// Whether there is no next work tile.
    #[inline(always)]
    pub(crate) fn is_done(self) -> bool {
        self.next >= self.groups_m * self.tiles_n * self.splits * self.batch
    }

    /// Ping-pong schedule: warpgroups 0 and 1 alternate over the CTA's work tiles, the first of which is `first`.
    /// Returns the first work tile of `warpgroup` and a scheduler of its others.
    #[inline(always)]
    pub(crate) fn ping_pong<T: Tile>(
        mut self,
        params: &GemmParams<impl Sized>,
        warpgroup: u32,
        first: Option<WorkTile>,
    ) -> (Option<WorkTile>, Self) {
        let stride = self.stride;
        self.stride *= 2;
        if warpgroup == 0 {
            self.next += stride;
            (first, self)
        } else {
            (self.next_of_batch::<T>(params), self)
        }
    }

    /// Whether the CTA has a work tile after this one, in the ping-pong schedule.
    #[inline(always)]
    pub(crate) fn has_next(self, work: WorkTile) -> bool {
        work.index + self.stride / 2 < self.groups_m * self.tiles_n * self.batch
    }

    /// The split of a warpgroup in a work tile: its 64 rows count as a tile of their own.
    #[inline(always)]
    pub(crate) fn split_tile<T: Tile>(self, work: WorkTile, warpgroup: u32) -> SplitTile {
        let tile = const { T::TILE };
        let rows = self.groups_m * tile.cluster * tile.consumers();
        let row = work.product * rows + work.row / WgmmaTile::ROWS + warpgroup;
        SplitTile {
            tile: row * self.tiles_n + work.column / tile.n,
            tiles: rows * self.tiles_n * self.batch,
            split: work.split,
            splits: self.splits,
            threads: WgmmaTile::WARPGROUP,
        }
    }
}
