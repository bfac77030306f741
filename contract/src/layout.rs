//! The layout of `A_s` and `B_s` in shared memory: the one formula.

use crate::args::TileParts;
use crate::dtype::DType;
use crate::tile::TileGeometry;
use crate::units::{Bytes, Elems};

/// Two square tiles, one behind the other, in one allocation:
///
/// ```text
/// byte 0                     a_part              a_part + b_part
/// | A_s: width x width | pad | B_s: width x width | pad |
/// ```
///
/// Rows are packed (pitch = width elements). Each part is rounded up to [`TilePair::ALIGNMENT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TilePair {
    tile: TileGeometry,
    part: Bytes,
}

impl TilePair {
    /// Both parts begin at a multiple of 16 bytes, the widest shared-memory access (PTX ISA, `ld.shared.v4.b32`).
    pub const ALIGNMENT: u32 = 16;

    /// The layout of two tiles of `tile` with elements of `dtype`.
    pub const fn new(tile: TileGeometry, dtype: DType) -> Self {
        let elems = Elems(tile.width() * tile.width());
        // The widest tile takes 128 * 128 * 8 bytes: neither step can exceed u32.
        let part = match elems.to_bytes(dtype.size_bytes()) {
            Some(bytes) => match bytes.align_up(Self::ALIGNMENT) {
                Some(part) => part,
                None => panic!("a tile exceeds u32 bytes"),
            },
            None => panic!("a tile exceeds u32 bytes"),
        };
        Self { tile, part }
    }

    /// Where `A_s` begins.
    pub const fn a_offset(self) -> Bytes {
        Bytes(0)
    }

    /// Where `B_s` begins.
    pub const fn b_offset(self) -> Bytes {
        self.part
    }

    /// Bytes of the part of `A_s`, padding included.
    pub const fn a_part(self) -> Bytes {
        self.part
    }

    /// Bytes of the part of `B_s`, padding included.
    pub const fn b_part(self) -> Bytes {
        self.part
    }

    /// Bytes of the whole allocation.
    pub const fn total(self) -> Bytes {
        Bytes(self.part.get() * 2)
    }

    /// The form that a kernel with dynamic shared memory takes.
    pub const fn parts(self) -> TileParts {
        TileParts {
            tile_width: self.tile.width(),
            a_part: self.part,
            b_part: self.part,
        }
    }

    /// The widest tile whose pair fits into `limit`, or `None` where not even one element a side does.
    pub fn widest_within(limit: Bytes, dtype: DType) -> Option<TileGeometry> {
        (TileGeometry::MIN_WIDTH..=TileGeometry::MAX_WIDTH)
            .rev()
            .filter_map(|width| TileGeometry::new(width).ok())
            .find(|&tile| Self::new(tile, dtype).total() <= limit)
    }
}

/// The geometry and shared memory of rung 5, for f32: `A_s`, transposed, and `B_s` behind it.
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

    /// Threads of a block, each with 8 x 8 elements of C.
    pub const THREADS: u32 = 256;

    /// `A_s` and `B_s`.
    pub const PARTS: TileParts = TileParts {
        tile_width: Self::WIDTH,
        a_part: Bytes(Self::DEPTH * Self::A_PITCH * 4),
        b_part: Bytes(Self::DEPTH * Self::WIDTH * 4),
    };

    /// Bytes of both arrays.
    pub const BYTES: Bytes = Bytes(Self::PARTS.a_part.0 + Self::PARTS.b_part.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slides_example_takes_128_bytes() {
        let tile = TileGeometry::new(4).expect("4 is a tile width");
        assert_eq!(TilePair::new(tile, DType::F32).total(), Bytes(2 * 4 * 4 * 4));
    }

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

    #[test]
    fn parts_are_aligned_and_do_not_overlap() {
        for dtype in DType::ALL {
            for width in TileGeometry::MIN_WIDTH..=TileGeometry::MAX_WIDTH {
                let pair = TilePair::new(TileGeometry::new(width).expect("in range"), dtype);
                let tile_bytes = width * width * dtype.size_bytes();
                assert_eq!(pair.b_offset().get() % TilePair::ALIGNMENT, 0);
                assert!(pair.a_offset().get() + tile_bytes <= pair.b_offset().get());
                assert!(pair.b_offset().get() + tile_bytes <= pair.total().get());
                assert!(pair.total().get() - 2 * tile_bytes < 2 * TilePair::ALIGNMENT);
                assert_eq!(
                    pair.parts().a_part.get() + pair.parts().b_part.get(),
                    pair.total().get()
                );
            }
        }
    }

    #[test]
    fn the_widest_tile_is_exact_to_the_byte() {
        for dtype in DType::ALL {
            for width in TileGeometry::MIN_WIDTH..TileGeometry::MAX_WIDTH {
                let total = TilePair::new(TileGeometry::new(width).expect("in range"), dtype).total();
                let at = TilePair::widest_within(total, dtype).expect("fits");
                // Padding can make neighbours equal in size; then the wider one is right.
                assert!(at.width() >= width && TilePair::new(at, dtype).total() <= total);
                let under = TilePair::widest_within(Bytes(total.get() - 1), dtype).map_or(0, TileGeometry::width);
                assert!(under < width);
            }
        }
        assert_eq!(TilePair::widest_within(Bytes(31), DType::F16), None);
    }
}
