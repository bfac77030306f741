//! Block-scaled operands: formats, and where the scale of a block is in memory.

use core::fmt;
use core::str::FromStr;

/// A block-scaled format: narrow elements, of which `block()` neighbors along K share a scale.
///
/// Sources: OCP Microscaling Formats (MX) 1.0 for the MX formats; PTX ISA, "Block Scaling for mma.sync", for NVFP4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockFormat {
    /// e2m1 elements, a ue4m3 scale for 16 of them, and one factor in f32 for the whole matrix.
    Nvfp4,
    /// e2m1 elements, a ue8m0 scale (a power of two) for 32 of them.
    Mxfp4,
    /// e4m3 elements, a ue8m0 scale for 32 of them.
    Mxfp8,
}

impl BlockFormat {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Nvfp4, Self::Mxfp4, Self::Mxfp8];

    /// Bytes along K of the operands of one `mma.sync`, whatever the format: a fragment has as many registers of each.
    pub const MMA_BYTES: u32 = 32;

    /// The name on the command line and in kernel symbols: `nvfp4`, `mxfp4` or `mxfp8`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nvfp4 => "nvfp4",
            Self::Mxfp4 => "mxfp4",
            Self::Mxfp8 => "mxfp8",
        }
    }

    /// Bits of an element. Elements of 4 bits are packed, that of the even index in the lower half of the byte.
    pub const fn element_bits(self) -> u32 {
        match self {
            Self::Nvfp4 | Self::Mxfp4 => 4,
            Self::Mxfp8 => 8,
        }
    }

    /// Elements that share a scale of one byte.
    pub const fn block(self) -> u32 {
        match self {
            Self::Nvfp4 => 16,
            Self::Mxfp4 | Self::Mxfp8 => 32,
        }
    }

    /// Whether scales are ue8m0, powers of two; else they are ue4m3, e4m3 without negative numbers.
    pub const fn scale_is_exponent(self) -> bool {
        !matches!(self, Self::Nvfp4)
    }

    /// Bytes of so many elements, a multiple of 2.
    pub const fn bytes(self, elems: usize) -> usize {
        elems * self.element_bits() as usize / 8
    }

    /// Elements along K of one `mma.sync`: 64 or 32.
    pub const fn mma_k(self) -> u32 {
        Self::MMA_BYTES * 8 / self.element_bits()
    }

    /// Scales of a row of one `mma.sync` (`.scale_vec::4X`, `::2X` or `::1X`).
    pub const fn mma_scales(self) -> u32 {
        self.mma_k() / self.block()
    }

    /// What K is a multiple of: whole blocks in rows of whole 16-byte vectors, which tensor maps demand.
    pub const fn k_multiple(self) -> u32 {
        32
    }

    /// Elements along K of a tile of scales.
    pub const fn scale_tile_k(self) -> u32 {
        ScaleLayout::TILE_SCALES * self.block()
    }
}

impl fmt::Display for BlockFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for BlockFormat {
    type Err = &'static str;

    /// Reads a [`BlockFormat::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or("unknown block-scaled format; known: nvfp4, mxfp4, mxfp8")
    }
}

/// Where scales are in memory: tiles of 128 rows x 4 scales, row of tiles after row of tiles, as cuBLASLt and CUTLASS
/// have them (cuBLAS, "1D Block Scaling Factors Layout").
///
/// ```text
/// in a tile of 512 bytes     byte = row % 32 * 16 + row / 32 * 4 + scale
/// ```
///
/// Four rows that are 32 apart are neighbors: 16 bytes. Tiles are whole; a scale outside the matrix is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScaleLayout {
    /// Tiles along the rows of A, or the columns of B.
    pub row_tiles: usize,
    /// Tiles along K.
    pub k_tiles: usize,
}

impl ScaleLayout {
    /// Rows of a tile.
    pub const TILE_ROWS: u32 = 128;
    /// Scales of a row of a tile.
    pub const TILE_SCALES: u32 = 4;
    /// Bytes of a tile.
    pub const TILE_BYTES: u32 = Self::TILE_ROWS * Self::TILE_SCALES;

    /// Of the scales of `rows` rows (of A; columns of B) with `k` elements each.
    pub const fn of(format: BlockFormat, rows: usize, k: usize) -> Self {
        Self {
            row_tiles: rows.div_ceil(Self::TILE_ROWS as usize),
            k_tiles: k.div_ceil(format.scale_tile_k() as usize),
        }
    }

    /// Bytes of all tiles.
    pub const fn bytes(self) -> usize {
        self.row_tiles * self.k_tiles * Self::TILE_BYTES as usize
    }

    /// The byte of scale `scale` of row `row`: that of elements `scale * block ..` along K.
    pub const fn offset(self, row: usize, scale: usize) -> usize {
        let (rows, scales) = (Self::TILE_ROWS as usize, Self::TILE_SCALES as usize);
        let tile = row / rows * self.k_tiles + scale / scales;
        tile * Self::TILE_BYTES as usize + Self::in_tile((row % rows) as u32) as usize + scale % scales
    }

    /// The byte of the first scale of a row of a tile, 0 to 127, from the tile's start.
    #[inline(always)]
    pub const fn in_tile(row: u32) -> u32 {
        row % 32 * 16 + row / 32 * 4
    }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;

    #[test]
    fn one_mma_takes_32_bytes_and_its_scales() {
        for (format, k, scales, tile_k) in [
            (BlockFormat::Nvfp4, 64, 4, 64),
            (BlockFormat::Mxfp4, 64, 2, 128),
            (BlockFormat::Mxfp8, 32, 1, 128),
        ] {
            assert_eq!((format.mma_k(), format.mma_scales()), (k, scales), "{format}");
            assert_eq!(format.scale_tile_k(), tile_k);
            assert_eq!(format.bytes(format.mma_k() as usize), BlockFormat::MMA_BYTES as usize);
            assert_eq!(format.name().parse(), Ok(format));
        }
        assert!("fp4".parse::<BlockFormat>().is_err());
    }

    #[test]
    fn every_scale_has_a_byte_of_its_own() {
        for (format, rows, k) in [
            (BlockFormat::Nvfp4, 200, 96),
            (BlockFormat::Mxfp4, 129, 416),
            (BlockFormat::Mxfp8, 1, 32),
        ] {
            let layout = ScaleLayout::of(format, rows, k);
            let mut seen = vec![false; layout.bytes()];
            for row in 0..rows {
                for scale in 0..k / format.block() as usize {
                    let byte = layout.offset(row, scale);
                    assert!(!core::mem::replace(&mut seen[byte], true), "{format}: {row}, {scale}");
                }
            }
        }
    }

    #[test]
    fn the_layout_is_that_of_cublaslt() {
        // 256 rows, 8 scales each: two tiles along K, two along the rows.
        let layout = ScaleLayout::of(BlockFormat::Nvfp4, 256, 128);
        assert_eq!((layout.row_tiles, layout.k_tiles, layout.bytes()), (2, 2, 2048));
        for (row, scale, byte) in [
            (0, 0, 0),
            (0, 3, 3),
            (1, 0, 16),
            (32, 0, 4),
            (127, 3, 511),
            (0, 4, 512),
            (128, 0, 1024),
            (255, 7, 2047),
        ] {
            assert_eq!(layout.offset(row, scale), byte, "row {row}, scale {scale}");
        }
    }
}
