//! How the lanes of a warp share its part of a tile.

use tilewright_contract::BlockTile;

/// A lane's place among the 4 x 8 of its warp.
#[derive(Clone, Copy)]
pub struct Lane {
    /// 0 to [`BlockTile::LANES_M`] - 1.
    pub row: u32,
    /// 0 to [`BlockTile::LANES_N`] - 1.
    pub column: u32,
}

impl Lane {
    /// Neighbouring lanes differ in the column, lanes two apart in the row: each pair shares its vector of A, each pair
    /// of pairs its vector of B. Loads of 16 bytes are served by half-warps then and not by quarters, two wavefronts
    /// each instead of four.
    #[inline(always)]
    pub const fn of(lane: u32) -> Self {
        const { assert!(BlockTile::LANES_M == 4 && BlockTile::LANES_N == 8) };
        Self {
            row: (lane >> 1 & 1) | (lane >> 3 & 2),
            column: (lane & 1) | (lane >> 1 & 6),
        }
    }
}
