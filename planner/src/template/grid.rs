//! The warps of a CTA as a grid over its tile.

use super::TileShape;

/// How `parts` warps (or groups of four) share a tile: along m and along n, as square as it goes. `None` where they
/// cannot.
pub(crate) fn warp_grid(tile: TileShape, parts: u32, [m, n]: [u32; 2]) -> Option<(u32, u32)> {
    (1..=parts)
        .filter(|along_m| parts.is_multiple_of(*along_m))
        .map(|along_m| (along_m, parts / along_m))
        .filter(|&(along_m, along_n)| tile.m.is_multiple_of(m * along_m) && tile.n.is_multiple_of(n * along_n))
        // Operand fragments of a warp grow with the sum of its sides.
        .min_by_key(|&(along_m, along_n)| (tile.m / along_m + tile.n / along_n, along_n))
}
