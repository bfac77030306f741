//! FP8 operands: formats, and where their scales are in memory.

use core::fmt;
use core::str::FromStr;

/// An element of 8 bits (OCP 8-bit Floating Point Specification 1.0; PTX ISA, "Alternate Floating-Point Data Formats").
///
/// The numbers are those in the parameters of kernels that take either.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fp8 {
    /// 4 bits of exponent, 3 of fraction: up to 448, no infinity, one NaN of each sign.
    E4m3 = 0,
    /// 5 bits of exponent, 2 of fraction: up to 57,344, with infinities.
    E5m2 = 1,
}

impl Fp8 {
    /// Both formats.
    pub const ALL: [Self; 2] = [Self::E4m3, Self::E5m2];

    /// Elements along K of one `wgmma`: 32 bytes.
    pub const MMA_K: u32 = 32;

    /// What K is a multiple of: rows of whole 16-byte vectors, which tensor maps demand.
    pub const K_MULTIPLE: u32 = 16;

    /// The name on the command line and in kernel symbols: `e4m3` or `e5m2`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::E4m3 => "e4m3",
            Self::E5m2 => "e5m2",
        }
    }

    /// The largest finite magnitude.
    pub const fn largest(self) -> f32 {
        match self {
            Self::E4m3 => 448.0,
            Self::E5m2 => 57_344.0,
        }
    }

    /// The scale of elements with this largest magnitude, as the quantizers of the CPU and of the GPU compute it: over
    /// [the format's largest](Self::largest), rounded to the nearest f32, at least the smallest normal one; 1 where all
    /// elements are 0; NaN where one is infinite or NaN, so that nothing that is computed of them is a number.
    #[inline(always)]
    pub const fn scale_for(self, largest: f32) -> f32 {
        let scale = largest / self.largest();
        if !largest.is_finite() {
            f32::NAN
        } else if largest == 0.0 {
            1.0
        } else if scale < f32::MIN_POSITIVE {
            f32::MIN_POSITIVE
        } else {
            scale
        }
    }

    /// Whether these bits are NaN.
    pub const fn is_nan(self, bits: u8) -> bool {
        match self {
            Self::E4m3 => bits & 0x7f == 0x7f,
            Self::E5m2 => bits & 0x7f > 0x7c,
        }
    }
}

impl fmt::Display for Fp8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Fp8 {
    type Err = &'static str;

    /// Reads a [`Fp8::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or("unknown FP8 format; known: e4m3, e5m2")
    }
}

/// Which elements of an FP8 operand share a scale, an f32. A has M rows, B its N columns as rows; rows are along K.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fp8Scaling {
    /// All: one scale.
    Tensor,
    /// Those of a row: as many scales as rows.
    Rows,
    /// 128 of a row, from a multiple of 128 on: `1x128`.
    Rows128,
    /// 128 rows of 128, each from a multiple of 128 on: `128x128`.
    Blocks128,
}

impl Fp8Scaling {
    /// Every scaling.
    pub const ALL: [Self; 4] = [Self::Tensor, Self::Rows, Self::Rows128, Self::Blocks128];

    /// Extent of a block along K, and along the rows of [`Blocks128`](Self::Blocks128).
    pub const BLOCK: usize = 128;

    /// What leading dimensions of scales are a multiple of: 16 bytes, which tensor maps and cuBLASLt demand.
    pub const LD_MULTIPLE: usize = 4;

    /// The name on the command line: `tensor`, `row`, `1x128` or `128x128`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tensor => "tensor",
            Self::Rows => "row",
            Self::Rows128 => "1x128",
            Self::Blocks128 => "128x128",
        }
    }

    /// Whether scales change along K, every 128 elements.
    pub const fn is_blocked(self) -> bool {
        matches!(self, Self::Rows128 | Self::Blocks128)
    }
}

impl fmt::Display for Fp8Scaling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Fp8Scaling {
    type Err = &'static str;

    /// Reads a [`Fp8Scaling::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|scaling| scaling.name() == name)
            .ok_or("unknown scaling; known: tensor, row, 1x128, 128x128")
    }
}

/// Where the scales of an operand are: a matrix of f32, as cuBLASLt takes it (cuBLAS, "Scaling factors layouts":
/// `SCALAR_32F`, `OUTER_VEC_32F`, `VEC128_32F`, `BLK128x128_32F`).
///
/// ```text
/// Tensor       scale[0]
/// Rows         scale[row]
/// Rows128      scale[k / 128 * ld + row]          K-blocks one after the other: a k-tile's scales are neighbors
/// Blocks128    scale[row / 128 * ld + k / 128]    rows of blocks one after the other
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fp8ScaleLayout {
    /// The scaling.
    pub scaling: Fp8Scaling,
    /// Lines of scales: K-blocks of `Rows128`, rows of blocks of `Blocks128`, else 1.
    pub lines: usize,
    /// Scales of a line.
    pub columns: usize,
    /// Scales from one line to the next: `columns`, with two dimensions rounded up to a multiple of 4.
    pub ld: usize,
}

impl Fp8ScaleLayout {
    /// Of the scales of `rows` rows (of A; columns of B) with `k` elements each.
    pub const fn of(scaling: Fp8Scaling, rows: usize, k: usize) -> Self {
        let k_blocks = k.div_ceil(Fp8Scaling::BLOCK);
        let (lines, columns) = match scaling {
            Fp8Scaling::Tensor => (1, 1),
            Fp8Scaling::Rows => (1, rows),
            Fp8Scaling::Rows128 => (k_blocks, rows),
            Fp8Scaling::Blocks128 => (rows.div_ceil(Fp8Scaling::BLOCK), k_blocks),
        };
        let ld = if scaling.is_blocked() {
            columns.next_multiple_of(Fp8Scaling::LD_MULTIPLE)
        } else {
            columns
        };
        Self {
            scaling,
            lines,
            columns,
            ld,
        }
    }

    /// Scales of all lines, those past a line's columns included.
    pub const fn elems(self) -> usize {
        self.lines * self.ld
    }

    /// Bytes of them.
    pub const fn bytes(self) -> usize {
        4 * self.elems()
    }

    /// Index of the scale of element `k` of row `row`.
    pub const fn index(self, row: usize, k: usize) -> usize {
        match self.scaling {
            Fp8Scaling::Tensor => 0,
            Fp8Scaling::Rows => row,
            Fp8Scaling::Rows128 => k / Fp8Scaling::BLOCK * self.ld + row,
            Fp8Scaling::Blocks128 => row / Fp8Scaling::BLOCK * self.ld + k / Fp8Scaling::BLOCK,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_those_of_cublaslt() {
        // Rows, K, then lines, columns, leading dimension.
        for (scaling, rows, k, expected) in [
            (Fp8Scaling::Tensor, 70, 300, [1, 1, 1]),
            (Fp8Scaling::Rows, 70, 300, [1, 70, 70]),
            (Fp8Scaling::Rows128, 70, 300, [3, 70, 72]),
            (Fp8Scaling::Blocks128, 300, 700, [3, 6, 8]),
            (Fp8Scaling::Blocks128, 128, 512, [1, 4, 4]),
        ] {
            let layout = Fp8ScaleLayout::of(scaling, rows, k);
            assert_eq!([layout.lines, layout.columns, layout.ld], expected, "{scaling}");
            assert!(layout.index(rows - 1, k - 1) < layout.elems());
            assert_eq!(scaling.name().parse(), Ok(scaling));
        }
        let rows = Fp8ScaleLayout::of(Fp8Scaling::Rows128, 70, 300);
        assert_eq!(
            [
                rows.index(0, 127),
                rows.index(5, 127),
                rows.index(5, 128),
                rows.index(69, 299)
            ],
            [0, 5, 77, 213]
        );
        let blocks = Fp8ScaleLayout::of(Fp8Scaling::Blocks128, 300, 700);
        assert_eq!(
            [blocks.index(127, 0), blocks.index(128, 127), blocks.index(299, 699)],
            [0, 8, 21]
        );
    }

    #[test]
    fn scales_bring_the_largest_to_the_largest() {
        for format in Fp8::ALL {
            let most = format.largest();
            assert_eq!([0.0, most, 2.0 * most].map(|of| format.scale_for(of)), [1.0, 1.0, 2.0]);
            assert_eq!(format.scale_for(f32::from_bits(1)), f32::MIN_POSITIVE);
            assert_eq!(format.scale_for(f32::MIN_POSITIVE * most), f32::MIN_POSITIVE);
            assert_eq!(format.scale_for(f32::MAX), f32::MAX / most);
            assert!([f32::INFINITY, f32::NAN].map(|of| format.scale_for(of).is_nan()) == [true; 2]);
        }
    }

    #[test]
    fn names_are_read_back() {
        for format in Fp8::ALL {
            assert_eq!(format.name().parse(), Ok(format));
            assert!(format.is_nan(0xff) && !format.is_nan(0x7b));
        }
        assert!(Fp8::E4m3.is_nan(0x7f) && !Fp8::E4m3.is_nan(0x7e));
        assert!(Fp8::E5m2.is_nan(0x7d) && !Fp8::E5m2.is_nan(0x7c), "infinity is no NaN");
        assert!("fp8".parse::<Fp8>().is_err() && "block".parse::<Fp8Scaling>().is_err());
    }
}
