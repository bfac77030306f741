//! Lane layout of a warp's tile.

use tilewright_contract::BlockTile;

/// A lane's position in the 4 x 8 lanes of its warp.
#[derive(Clone, Copy)]
pub struct Lane {
    /// 0 to [`BlockTile::LANES_M`] - 1.
    pub row: u32,
    /// 0 to [`BlockTile::LANES_N`] - 1.
    pub column: u32,
}

impl Lane {
    /// Position of lane `lane`. Neighboring lanes differ in the column, lanes two apart in the row: pairs share
    /// their vector of A, lanes two apart their vector of B. 16-byte loads are then served by half-warps instead of
    /// quarters, in two wavefronts instead of four.
    #[inline(always)]
    pub const fn of(lane: u32) -> Self {
        const { assert!(BlockTile::LANES_M == 4 && BlockTile::LANES_N == 8) };
        Self {
            row: (lane >> 1 & 1) | (lane >> 3 & 2),
            column: (lane & 1) | (lane >> 1 & 6),
        }
    }
}
