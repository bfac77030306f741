//! f32 by `fma` from tiles of registers, with static shared memory: for devices without `cp.async`.

use crate::dtype::DType;
use crate::family::{Family, tiled};
use crate::kernel::{Kernel, TileShape};
use crate::smem::{SmemLayout, Storage};
use crate::units::Bytes;

/// The geometry and shared memory, for f32: `A_s`, transposed, followed by `B_s`.
///
/// ```text
/// byte 0                          4224                       8320
/// | A_s: DEPTH x WIDTH, pitch 132 | B_s: DEPTH x WIDTH       |
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RegisterTile;

impl RegisterTile {
    /// Rows and columns of the tile of C.
    pub const WIDTH: u32 = 128;

    /// Elements along K of a step.
    pub const DEPTH: u32 = 8;

    /// Elements from one row of `A_s` to the next. A warp stores 8 columns of 4 rows of A, transposed: with 4 elements
    /// of padding the 32 addresses fall into 32 banks, without they would fall into 4.
    pub const A_PITCH: u32 = Self::WIDTH + 4;

    /// Threads of a CTA, each with 8 x 8 elements of C.
    pub const THREADS: u32 = 256;

    /// Bytes of `A_s`.
    pub const A_PART: Bytes = Bytes(Self::DEPTH * Self::A_PITCH * 4);

    /// Bytes of `B_s`.
    pub const B_PART: Bytes = Bytes(Self::DEPTH * Self::WIDTH * 4);

    /// Bytes of both arrays.
    pub const BYTES: Bytes = Bytes(Self::A_PART.0 + Self::B_PART.0);
}

/// The kernel of this family.
pub(super) const KERNELS: [Kernel; 1] = [Kernel {
    max_threads: Some(RegisterTile::THREADS),
    tile: TileShape {
        m: RegisterTile::WIDTH,
        n: RegisterTile::WIDTH,
        k: RegisterTile::DEPTH,
    },
    smem: SmemLayout {
        storage: Storage::Static,
        a_per_stage: RegisterTile::A_PART,
        b_per_stage: RegisterTile::B_PART,
        row_padding: [RegisterTile::A_PITCH - RegisterTile::WIDTH, 0],
        ..SmemLayout::NONE
    },
    ..tiled::of_batches(tiled::with_static(
        Family::REGISTER_TILE,
        "register_tile_f32",
        DType::F32,
        [RegisterTile::WIDTH; 2],
    ))
}];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::tiled::{TileGeometry, TilePair};

    #[test]
    fn the_register_tile_is_one_that_a_block_of_its_width_computes() {
        let tile = TileGeometry::new(RegisterTile::WIDTH).expect("in range");
        assert_eq!((tile.threads(), tile.outputs_per_side()), (RegisterTile::THREADS, 8));
        assert_eq!(RegisterTile::BYTES, Bytes(8320));
        // Vectors of 16 bytes: every row begins at a multiple.
        assert_eq!(RegisterTile::A_PITCH * 4 % TilePair::ALIGNMENT, 0);
        let banks: u64 = (0..32)
            .map(|lane| (lane % 8 * RegisterTile::A_PITCH + lane / 8) % 32)
            .fold(0, |seen, bank| seen | 1 << bank);
        assert_eq!(banks.count_ones(), 32);
    }
}
