//! The mapping from CTAs to tiles of C.

use core::fmt;

use crate::args::GemmArgs;
use crate::kernel::Kernel;

/// Blocks along x, at most (CUDA programming guide, "Compute Capabilities"). Along y it is 65535 only, which a tall
/// matrix exceeds: the grid is one-dimensional.
const MAX_BLOCKS: u64 = i32::MAX as u64;

/// A one-dimensional grid over the tiles of C, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    /// Tiles along the rows of C (M); with clusters a multiple of their CTAs; the last tiles may be below C.
    pub tiles_m: u32,
    /// Tiles along the columns of C (N).
    pub tiles_n: u32,
    /// Splits of K, each with CTAs of its own.
    pub splits: u32,
    /// CTAs at most: with fewer CTAs than tiles each computes several.
    most: u32,
}

/// More tiles than a grid can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridError {
    /// Blocks that the tiling needs.
    pub requested: u64,
    /// Blocks that a grid holds.
    pub available: u64,
}

impl fmt::Display for GridError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the tiling needs {} blocks, a grid holds {}; take a wider tile",
            self.requested, self.available
        )
    }
}

impl core::error::Error for GridError {}

impl Grid {
    /// The grid that covers C with tiles of `tile_m x tile_n`, once for each of `splits` splits of K.
    ///
    /// # Errors
    /// [`GridError`] when there are more tiles than CTAs in a grid.
    pub const fn cover(args: GemmArgs, tile_m: u32, tile_n: u32, splits: u32) -> Result<Self, GridError> {
        Self::checked(args.m.div_ceil(tile_m), args.n.div_ceil(tile_n), splits, u32::MAX)
    }

    /// The grid of a kernel with this tile: whole clusters, and for persistent CTAs no more than the device holds at
    /// once, if that is known.
    ///
    /// # Errors
    /// As for [`Self::cover`].
    pub const fn of_kernel(
        args: GemmArgs,
        kernel: &Kernel,
        splits: u32,
        max_resident: Option<u32>,
    ) -> Result<Self, GridError> {
        let cluster = kernel.cluster;
        let most = match max_resident {
            Some(held) if kernel.is_persistent() => {
                if held < cluster {
                    cluster
                } else {
                    held / cluster * cluster
                }
            }
            _ => u32::MAX,
        };
        let tiles_m = args.m.div_ceil(kernel.tile.m).next_multiple_of(cluster);
        Self::checked(tiles_m, args.n.div_ceil(kernel.tile.n), splits, most)
    }

    const fn checked(tiles_m: u32, tiles_n: u32, splits: u32, most: u32) -> Result<Self, GridError> {
        let grid = Self {
            tiles_m,
            tiles_n,
            splits,
            most,
        };
        let requested = (grid.tiles_m as u64 * grid.tiles_n as u64).saturating_mul(splits as u64);
        if requested > MAX_BLOCKS {
            return Err(GridError {
                requested,
                available: MAX_BLOCKS,
            });
        }
        Ok(grid)
    }

    /// Tiles of all splits together.
    pub const fn tiles(self) -> u32 {
        self.tiles_m * self.tiles_n * self.splits
    }

    /// Blocks of the grid, all along x; 0 for an empty C, which needs no launch.
    pub const fn blocks(self) -> u32 {
        let tiles = self.tiles();
        if tiles < self.most { tiles } else { self.most }
    }
}

/// The first element of a CTA's tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileOrigin {
    /// First row of C.
    pub row: u32,
    /// First column of C.
    pub column: u32,
}

impl TileOrigin {
    /// The tile of CTA `block` (x index) when C has `n` columns and tiles are `width` wide: columns change fastest.
    #[inline(always)]
    pub const fn of_block(block: u32, n: u32, width: u32) -> Self {
        // A launched CTA means n > 0, so there is at least one tile along N. The maximum states it to the compiler,
        // which would otherwise keep a division-by-zero panic in the kernel.
        let tiles_n = match n.div_ceil(width) {
            0 => 1,
            tiles => tiles,
        };
        Self {
            row: block / tiles_n * width,
            column: block % tiles_n * width,
        }
    }
}

/// Rasterization: the tile and the split of a CTA, in an order that reuses L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RasterTile {
    /// The tile's index along M.
    pub tile_m: u32,
    /// The tile's index along N.
    pub tile_n: u32,
    /// The split of K.
    pub split: u32,
}

impl RasterTile {
    /// Work of CTA `block` (x index): all tiles of split 0 first. Within a split CTAs take `group_m` tiles down a
    /// column, then the next column, so that concurrent CTAs read few rows of A and few columns of B, which L2 then
    /// holds.
    #[inline(always)]
    pub const fn of_block(block: u32, tiles_m: u32, tiles_n: u32, group_m: u32) -> Self {
        // A launched CTA means that none of these is 0. The maxima state it to the compiler, which would otherwise
        // keep a panic for each division.
        const fn some(number: u32) -> u32 {
            if number == 0 { 1 } else { number }
        }
        let tiles = some(tiles_m * tiles_n);
        let (split, tile) = (block / tiles, block % tiles);
        let group_tiles = some(group_m * tiles_n);
        let (group, within) = (tile / group_tiles, tile % group_tiles);
        let first = group * group_m;
        let left = tiles_m - first;
        // The last group may be lower.
        let rows = some(if left < group_m { left } else { group_m });
        Self {
            tile_m: first + within % rows,
            tile_n: within / rows,
            split,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GemmShape;

    #[test]
    fn every_tile_has_one_block_and_the_whole_matrix_is_covered() {
        for (m, n, width) in [
            (1, 1, 1),
            (1, 33, 32),
            (33, 1, 32),
            (31, 32, 16),
            (70, 50, 7),
            (16, 48, 16),
        ] {
            let shape = GemmShape::packed(m, n, 5).expect("small");
            let grid = Grid::cover(shape.args(), width, width, 1).expect("small");
            let mut next = (0, 0);
            for block in 0..grid.blocks() {
                let origin = TileOrigin::of_block(block, n as u32, width);
                assert_eq!((origin.row, origin.column), next);
                assert!((origin.row as usize) < m && (origin.column as usize) < n);
                next.1 += width;
                if next.1 as usize >= n {
                    next = (next.0 + width, 0);
                }
            }
            assert!(next.0 as usize >= m && next.1 == 0);
        }
    }

    #[test]
    fn grouped_blocks_go_through_every_tile_of_every_split_once() {
        for (tiles_m, tiles_n, splits, group_m) in
            [(1, 1, 1, 8), (5, 3, 2, 2), (8, 4, 3, 8), (9, 2, 1, 4), (3, 7, 2, 16)]
        {
            for block in 0..tiles_m * tiles_n * splits {
                let at = RasterTile::of_block(block, tiles_m, tiles_n, group_m);
                assert!(at.tile_m < tiles_m && at.tile_n < tiles_n && at.split < splits);
                let again = (0..block).any(|other| RasterTile::of_block(other, tiles_m, tiles_n, group_m) == at);
                assert!(!again, "{tiles_m} {tiles_n} {splits} {group_m}: {block}");
            }
        }
        // Two rows of tiles at a time.
        let order = [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)];
        for (block, (tile_m, tile_n)) in (0..).zip(order) {
            let expected = RasterTile {
                tile_m,
                tile_n,
                split: 0,
            };
            assert_eq!(RasterTile::of_block(block, 3, 2, 2), expected);
        }
    }

    #[test]
    fn persistent_blocks_are_whole_clusters_and_no_more_than_are_held_at_once() {
        use crate::Family;
        let kernel = |family: Family| family.kernels().next().expect("in the table");
        let (simt, cluster) = (kernel(Family::SIMT), kernel(Family::WGMMA));
        // 3 x 6 tiles of 256 x 128; 5 x 3 of 128 x 256.
        let args = GemmShape::packed(600, 700, 64).expect("small").args();
        let of = |kernel, splits, held| Grid::of_kernel(args, kernel, splits, held).expect("small");
        assert_eq!(of(simt, 1, Some(4)).blocks(), 18, "not persistent");
        for (splits, held, tiles, blocks) in [
            (1, None, 18, 18),
            (1, Some(132), 18, 18),
            (1, Some(7), 18, 6),
            (1, Some(1), 18, 2),
            (3, Some(20), 54, 20),
        ] {
            let grid = of(cluster, splits, held);
            assert_eq!((grid.tiles_m, grid.tiles(), grid.blocks()), (6, tiles, blocks));
        }
        let empty = GemmShape::packed(0, 700, 64).expect("small").args();
        let grid = Grid::of_kernel(empty, cluster, 1, Some(132)).expect("small");
        assert_eq!(grid.blocks(), 0);
    }

    #[test]
    fn too_many_tiles_are_refused_with_both_numbers() {
        let shape = GemmShape::packed(1 << 20, 1 << 20, 1).expect("fits the index type");
        assert_eq!(
            Grid::cover(shape.args(), 1, 1, 1),
            Err(GridError {
                requested: 1 << 40,
                available: i32::MAX as u64
            })
        );
    }
}
