//! Groups of rows of A and C, each with a B of its own.
//!
//! Tiles of a group begin at its first row. They are numbered so that the number of a group's first tile follows from
//! its first row alone ([`first_tile_of_group`]): a CTA finds its group by bisection, without a sum over those before.
//! A group may have one number more than it has tiles; what has it does nothing.

use cuda_views::Global;
use tilewright_contract::{GemmParams, RasterTile, first_tile_of_group};

use crate::block::batch::offset;

/// A tile of C in its group.
#[derive(Clone, Copy)]
pub struct GroupTile {
    /// The group.
    pub group: u32,
    /// The tile's first row.
    pub row: u32,
    /// Index of the tile along N.
    pub tile_n: u32,
    /// Where the rows of the group end.
    pub end: u32,
}

/// Tile `number` of all groups, in tiles of `tile_m` rows, `tiles_n` of them along N; none if the group has no such
/// tile. Where ends fall in between, what is found is a tile of C still, but of whatever group.
///
/// # Safety
/// `params.group_ends` has `params.batch` elements in global memory.
#[inline(always)]
pub unsafe fn find(params: &GemmParams<impl Sized>, number: u32, tile_m: u32, tiles_n: u32) -> Option<GroupTile> {
    let GemmParams { m, batch: groups, .. } = *params;
    // SAFETY: the caller's promise.
    let ends = unsafe { Global::new(params.group_ends, groups as usize) };
    // Whatever the ends are, no row past C's last is computed.
    // SAFETY: inside the ends.
    let end_of = |group: u32| unsafe { ends.get(group as usize) }.min(m);
    let start_of = |group: u32| if group == 0 { 0 } else { end_of(group - 1) };
    let row_of_tiles = number / tiles_n.max(1);
    let (mut group, mut after) = (0, groups);
    while group + 1 < after {
        let middle = group + (after - group) / 2;
        if first_tile_of_group(middle, start_of(middle), tile_m) <= row_of_tiles {
            group = middle;
        } else {
            after = middle;
        }
    }
    let (start, end) = (start_of(group), end_of(group));
    let tiles_m = end.saturating_sub(start).div_ceil(tile_m);
    let in_group = number - first_tile_of_group(group, start, tile_m) * tiles_n;
    let at = RasterTile::of_block(in_group, tiles_m, tiles_n, RasterTile::group_m(tile_m));
    (at.split == 0 && start < end).then_some(GroupTile {
        group,
        row: start + at.tile_m * tile_m,
        tile_n: at.tile_n,
        end,
    })
}

/// The parameters of a group: its B, and C up to its last row.
#[inline(always)]
pub fn params_of<E>(params: &GemmParams<E>, tile: GroupTile) -> GemmParams<E> {
    GemmParams {
        b: params.b.wrapping_add(offset(params.stride_b, tile.group)),
        m: tile.end,
        ..*params
    }
}
