//! The mapping from CTAs to tiles of C.

use core::fmt;

use crate::args::GemmArgs;
use crate::kernel::Kernel;
use crate::shape::GemmShape;

/// Blocks along x, at most (CUDA programming guide, "Compute Capabilities"). Along y it is [`MAX_ROWS`] only, which a
/// tall matrix exceeds: the tiles of C are along x.
const MAX_BLOCKS: u64 = i32::MAX as u64;

/// Blocks along y, at most, of the same source.
pub(crate) const MAX_ROWS: u32 = 65_535;

/// A grid over the tiles of C, row by row along x. The products of a batch are along y, or, with persistent CTAs, their
/// tiles follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    /// Tiles along the rows of C (M); with clusters along M a multiple of their CTAs; the last tiles may be below C.
    pub tiles_m: u32,
    /// Tiles along the columns of C (N); the same with clusters along N.
    pub tiles_n: u32,
    /// Splits of K, each with CTAs of its own.
    pub splits: u32,
    /// Products of the batch.
    pub batch: u32,
    /// CTAs at most: with fewer CTAs than tiles each computes several.
    most: u32,
    /// Whether each computes tile after tile.
    is_persistent: bool,
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
        Self {
            tiles_m: args.m.div_ceil(tile_m),
            tiles_n: args.n.div_ceil(tile_n),
            splits,
            batch: 1,
            most: u32::MAX,
            is_persistent: false,
        }
        .checked()
    }

    /// The grid of a kernel with this tile: whole clusters, and for persistent CTAs no more than the device holds at
    /// once, if that is known.
    ///
    /// # Errors
    /// As for [`Self::cover`].
    pub const fn of_kernel(
        shape: &GemmShape,
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
        let (rows, batch) = (shape.m() as u32, shape.batch());
        let (tiles_m, batch) = match batch.groups {
            true => (group_tiles(rows, batch.count, kernel.tile.m), 1),
            false => (rows.div_ceil(kernel.tile.m), batch.count),
        };
        let columns = match shape.n() as u32 {
            0 => 0,
            n => overlapped_columns(n, kernel.overlap),
        };
        let tiles_n = columns.div_ceil(kernel.tile.n - kernel.overlap);
        let (tiles_m, tiles_n) = if kernel.is_transposed {
            (tiles_m, tiles_n.next_multiple_of(cluster))
        } else {
            (tiles_m.next_multiple_of(cluster), tiles_n)
        };
        Self {
            tiles_m,
            tiles_n,
            splits,
            batch,
            most,
            is_persistent: kernel.is_persistent(),
        }
        .checked()
    }

    const fn checked(self) -> Result<Self, GridError> {
        let requested = (self.tiles_m as u64 * self.tiles_n as u64).saturating_mul(self.splits as u64);
        if requested > MAX_BLOCKS {
            return Err(GridError {
                requested,
                available: MAX_BLOCKS,
            });
        }
        Ok(self)
    }

    /// Tiles of a product, those of all splits together.
    pub const fn tiles(self) -> u32 {
        self.tiles_m * self.tiles_n * self.splits
    }

    /// Whether there is nothing to launch: C is empty.
    pub const fn is_empty(self) -> bool {
        self.tiles() == 0 || self.batch == 0
    }

    /// Products of a launch; the last launch may have fewer.
    pub const fn products_per_launch(self) -> u32 {
        let most = match (self.is_persistent, self.tiles()) {
            (true, tiles) if tiles > 0 => MAX_BLOCKS as u32 / tiles,
            _ => MAX_ROWS,
        };
        if self.batch < most { self.batch } else { most }
    }

    /// Launches: one, unless a grid does not hold all products of a batch.
    pub const fn launches(self) -> u32 {
        if self.is_empty() {
            0
        } else {
            self.batch.div_ceil(self.products_per_launch())
        }
    }

    /// CTAs along x, y and z of a launch of so many products, at most [`products_per_launch`].
    ///
    /// [`products_per_launch`]: Self::products_per_launch
    pub const fn extents(self, products: u32) -> [u32; 3] {
        if self.is_persistent {
            let tiles = self.tiles() * products;
            [if tiles < self.most { tiles } else { self.most }, 1, 1]
        } else {
            [self.tiles(), products, 1]
        }
    }

    /// CTAs of the largest launch; 0 for an empty C, which needs none.
    pub const fn blocks(self) -> u64 {
        let [x, y, _] = self.extents(self.products_per_launch());
        x as u64 * y as u64
    }
}

/// Columns that tiles which overlap in `overlap` of them cover, of a C with `n`: the last sector of a row may begin
/// within the last columns of a tile, and end in the next one.
#[inline(always)]
pub const fn overlapped_columns(n: u32, overlap: u32) -> u32 {
    n + overlap.saturating_sub(1)
}

/// Tiles of `tile_m` rows that `rows` rows in `groups` groups take at most, whatever the groups: group `i`, which
/// begins at row `s`, has those from number `s / tile_m + i` on. A group may have one less than there is room for.
const fn group_tiles(rows: u32, groups: u32, tile_m: u32) -> u32 {
    match (rows, groups) {
        (0, _) | (_, 0) => 0,
        _ => rows / tile_m + groups,
    }
}

/// Number of the first tile of `tile_m` rows of group `index`, which begins at row `start`: no sum over the groups
/// before, so that a search finds the group of a tile.
#[inline(always)]
pub const fn first_tile_of_group(index: u32, start: u32, tile_m: u32) -> u32 {
    start / tile_m + index
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
    /// Tiles of `tile_m` rows that neighboring CTAs compute before the next column of tiles: 2048 rows of C.
    pub const fn group_m(tile_m: u32) -> u32 {
        match 2048 / tile_m {
            0 => 1,
            tiles => tiles,
        }
    }

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
                let origin = TileOrigin::of_block(block as u32, n as u32, width);
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
    fn groups_have_room_for_their_tiles() {
        // Every way to divide 9 rows among 3 groups.
        for (first, second) in (0..=9).flat_map(|first| (first..=9).map(move |second| (first, second))) {
            let starts = [0, first, second, 9];
            for tile_m in 1..=10 {
                let number = |group: usize| first_tile_of_group(group as u32, starts[group], tile_m);
                for group in 0..3 {
                    let rows = starts[group + 1] - starts[group];
                    let end = if group == 2 {
                        group_tiles(9, 3, tile_m)
                    } else {
                        number(group + 1)
                    };
                    assert!(number(group) + rows.div_ceil(tile_m) <= end, "{starts:?}, {tile_m}");
                }
            }
        }
        assert_eq!((group_tiles(0, 3, 8), group_tiles(9, 0, 8)), (0, 0));
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
        let shape = GemmShape::packed(600, 700, 64).expect("small");
        let of = |kernel, splits, held| Grid::of_kernel(&shape, kernel, splits, held).expect("small");
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
        let empty = GemmShape::packed(0, 700, 64).expect("small");
        let grid = Grid::of_kernel(&empty, cluster, 1, Some(132)).expect("small");
        assert_eq!((grid.blocks(), grid.launches(), grid.is_empty()), (0, 0, true));
    }

    #[test]
    fn products_of_a_batch_are_along_y_or_tiles_of_persistent_blocks() {
        use crate::Family;
        let kernel = |family: Family| family.kernels().next().expect("in the table");
        let (simt, cluster) = (kernel(Family::SIMT), kernel(Family::WGMMA));
        // 3 x 6 tiles of 256 x 128; 6 x 3 of 128 x 256, in clusters of 2.
        let of = |kernel, count| {
            let shape = GemmShape::packed(600, 700, 64).and_then(|shape| shape.with_packed_batch(count));
            Grid::of_kernel(&shape.expect("small"), kernel, 1, Some(132)).expect("small")
        };
        let summary = |grid: Grid| (grid.products_per_launch(), grid.launches(), grid.blocks());
        assert_eq!(of(simt, 100).extents(100), [18, 100, 1]);
        assert_eq!(summary(of(simt, 100)), (100, 1, 1800));
        assert_eq!(summary(of(simt, 65_536)), (65_535, 2, 18 * 65_535));
        assert_eq!(of(simt, 65_536).extents(1), [18, 1, 1]);
        assert_eq!(
            (of(cluster, 5).extents(5), of(cluster, 100).extents(100)),
            ([90, 1, 1], [132, 1, 1])
        );
        assert_eq!(summary(of(cluster, 200_000_000)), (i32::MAX as u32 / 18, 2, 132));
        assert_eq!(summary(of(simt, 0)), (0, 0, 0));
    }

    #[test]
    fn tiles_that_overlap_cover_the_last_sector_of_every_row() {
        let kernel = Kernel::named("mma_sync_strips_nn1_64x128_f16").expect("in the table");
        let step = (kernel.tile.n - kernel.overlap) as usize;
        // A row may begin up to 15 elements further right in its sector.
        for (columns, tiles) in [
            (0, 0),
            (1, 1),
            (step - 15, 1),
            (step - 14, 2),
            (step, 2),
            (9 * step - 15, 9),
        ] {
            let shape = GemmShape::packed(65, columns, 9).expect("small");
            let grid = Grid::of_kernel(&shape, kernel, 1, None).expect("small");
            assert_eq!((grid.tiles_m, grid.tiles_n), (2, tiles), "{columns} columns");
        }
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
