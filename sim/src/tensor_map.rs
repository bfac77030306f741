//! Descriptions of matrices for bulk copies: the parameters and rules of `cuTensorMapEncodeTiled`, and the simulator's
//! encoding.
//!
//! A GPU's tensor map is 128 bytes that only the driver can make. The simulator's has the same size and alignment and
//! says the same, so that a kernel that takes one runs on both.

use std::fmt;

/// The bytes of a tensor map, as words: those of a GPU, or the simulator's.
pub type TensorMapWords = [u64; 16];

/// The type of a matrix's elements (`CUtensorMapDataType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorElement {
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// binary32.
    F32,
    /// binary32, of which loads round each element to the nearest tf32: its lowest 13 bits are 0 in shared memory.
    Tf32,
    /// Bytes, also those of packed elements of 4 bits.
    U8,
    /// Words.
    U32,
}

impl TensorElement {
    /// Bytes of an element.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::F32 | Self::Tf32 | Self::U32 => 4,
        }
    }

    /// What a load makes of the 4 bytes of an element.
    ///
    /// How the hardware rounds a number that is halfway between two tf32 is not documented; here as `cvt.rna.tf32.f32`,
    /// away from zero.
    pub(crate) fn loaded(self, element: [u8; 4]) -> [u8; 4] {
        let value = f32::from_le_bytes(element);
        if self != Self::Tf32 || value.is_nan() {
            return element;
        }
        (value.to_bits().wrapping_add(0x1000) & !0x1fff).to_le_bytes()
    }
}

/// The order of a box's bytes in shared memory (`CUtensorMapSwizzle`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorSwizzle {
    /// Row after row.
    None,
    /// Rows of 128 bytes; of every 1,024 bytes of shared memory, row r has its 16-byte chunk c at place c XOR r.
    Bytes128,
    /// Rows of 64 bytes; of every 512 bytes of shared memory, row r has its 16-byte chunk c at place c XOR r / 2.
    Bytes64,
    /// Rows of 32 bytes; of every 256 bytes of shared memory, row r has its 16-byte chunk c at place c XOR r / 4.
    Bytes32,
}

impl TensorSwizzle {
    /// Alignment of a box in shared memory, in bytes.
    pub const ALIGNMENT: usize = 128;

    /// The swizzled offset of the byte at `offset` of a box at `address`. The pattern follows addresses, not boxes: a
    /// box that starts within the 1,024 bytes starts with a later row of it (CUDA C++ Programming Guide, "Shared Memory
    /// Bank Swizzling"; observed on an H200 with boxes 84 rows apart).
    pub const fn place(self, address: usize, offset: usize) -> usize {
        match self.row_bytes() {
            None => offset,
            Some(bytes) => offset ^ ((address + offset) >> 7 & (bytes / 16 - 1)) << 4,
        }
    }

    /// Bytes of a row, if it is swizzled.
    pub const fn row_bytes(self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Bytes128 => Some(128),
            Self::Bytes64 => Some(64),
            Self::Bytes32 => Some(32),
        }
    }
}

/// The third dimension of a map of rank 3: a batch of matrices of one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planes {
    /// The matrices.
    pub count: u64,
    /// From the start of a matrix to that of the next, in bytes. It may be less than a matrix has: the rows of a batch
    /// may be interleaved.
    pub stride_bytes: u64,
}

/// A matrix in global memory, or a batch of them, and the boxes of it that copies transfer. In pairs the extent along a
/// row comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMapParts {
    /// The address of the first element.
    pub address: u64,
    /// Elements of a row, and rows.
    pub extents: [u64; 2],
    /// From the start of a row to that of the next, in bytes.
    pub stride_bytes: u64,
    /// The matrices of a map of rank 3, each with these extents, and boxes of one matrix; `None` for rank 2.
    pub planes: Option<Planes>,
    /// Elements of a box's row, and its rows.
    pub box_extents: [u32; 2],
    /// The type of the elements.
    pub element: TensorElement,
    /// The order of a box in shared memory.
    pub swizzle: TensorSwizzle,
}

/// Why a [`TensorMapParts`] is invalid. Each variant names the given value and the allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorMapError {
    /// The matrix's address is no multiple of 16.
    Address(u64),
    /// The matrix has no elements, or too many along a row (0) or of rows (1): 1 to 2^32 are allowed.
    Extent(usize, u64),
    /// The rows' distance in bytes is no multiple of 16, or 2^40 or more.
    Stride(u64),
    /// The rows' distance is smaller than the bytes of a row, which come second.
    Overlap(u64, u64),
    /// The batch has no matrices, or too many: 1 to 2^32 are allowed.
    Planes(u64),
    /// The matrices' distance in bytes is no multiple of 16, or 2^40 or more.
    PlaneStride(u64),
    /// The box has no elements, or more than 256 along a row (0) or rows (1).
    Box(usize, u32),
    /// A row of the box has so many bytes: no multiple of 16.
    BoxBytes(u64),
    /// A row of the box has so many bytes, and the swizzle is of rows of so many. (The driver takes fewer as well, and
    /// leaves gaps.)
    SwizzledBytes(u64, usize),
}

impl fmt::Display for TensorMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ALONG: [&str; 2] = ["elements in a row", "rows"];
        match *self {
            Self::Address(address) => write!(
                f,
                "the matrix begins at address {address:#x}, which is {} modulo 16: it has to be a multiple of 16",
                address % 16
            ),
            Self::Extent(axis, extent) => {
                write!(
                    f,
                    "a matrix with {extent} {}: 1 to {} are allowed",
                    ALONG[axis],
                    1_u64 << 32
                )
            }
            Self::Stride(stride) => write!(
                f,
                "{stride} bytes from row to row: a multiple of 16 below {} is allowed",
                1_u64 << 40
            ),
            Self::Overlap(stride, row) => write!(f, "{stride} bytes from row to row, a row has {row}"),
            Self::Planes(count) => write!(f, "a batch of {count} matrices: 1 to {} are allowed", 1_u64 << 32),
            Self::PlaneStride(stride) => write!(
                f,
                "{stride} bytes from matrix to matrix: a multiple of 16 below {} is allowed",
                1_u64 << 40
            ),
            Self::Box(axis, extent) => write!(f, "a box with {extent} {}: 1 to 256 are allowed", ALONG[axis]),
            Self::BoxBytes(bytes) => write!(f, "a row of the box has {bytes} bytes: a multiple of 16 is allowed"),
            Self::SwizzledBytes(bytes, swizzled) => {
                write!(f, "a row of the box has {bytes} bytes: swizzled, it has {swizzled}")
            }
        }
    }
}

impl std::error::Error for TensorMapError {}

impl TensorMapParts {
    /// The first word of a simulated map, which no driver's tensor map starts with.
    const TAG: u64 = 0x7469_6c65_6d61_7031;

    /// The rank of the map, and of the instructions that use it.
    pub const fn rank(&self) -> u32 {
        match self.planes {
            None => 2,
            Some(_) => 3,
        }
    }

    /// Bytes of a row of the box.
    pub const fn box_row_bytes(&self) -> u64 {
        self.box_extents[0] as u64 * self.element.bytes()
    }

    /// Bytes of a box. Every copy writes that many to shared memory and completes them on its mbarrier, also at the
    /// matrix's edges.
    pub const fn box_bytes(&self) -> u64 {
        self.box_row_bytes() * self.box_extents[1] as u64
    }

    /// Whether a tensor map can say this (CUDA Driver API, `cuTensorMapEncodeTiled`).
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check(&self) -> Result<(), TensorMapError> {
        if !self.address.is_multiple_of(16) {
            return Err(TensorMapError::Address(self.address));
        }
        for (axis, extent) in self.extents.into_iter().enumerate() {
            if !(1..=1 << 32).contains(&extent) {
                return Err(TensorMapError::Extent(axis, extent));
            }
        }
        if !self.stride_bytes.is_multiple_of(16) || self.stride_bytes >= 1 << 40 {
            return Err(TensorMapError::Stride(self.stride_bytes));
        }
        let row = self.extents[0] * self.element.bytes();
        if self.stride_bytes < row {
            return Err(TensorMapError::Overlap(self.stride_bytes, row));
        }
        if let Some(Planes { count, stride_bytes }) = self.planes {
            if !(1..=1 << 32).contains(&count) {
                return Err(TensorMapError::Planes(count));
            }
            if !stride_bytes.is_multiple_of(16) || stride_bytes >= 1 << 40 {
                return Err(TensorMapError::PlaneStride(stride_bytes));
            }
        }
        for (axis, extent) in self.box_extents.into_iter().enumerate() {
            if !(1..=256).contains(&extent) {
                return Err(TensorMapError::Box(axis, extent));
            }
        }
        let bytes = self.box_row_bytes();
        if !bytes.is_multiple_of(16) {
            return Err(TensorMapError::BoxBytes(bytes));
        }
        if let Some(swizzled) = self.swizzle.row_bytes()
            && bytes != swizzled as u64
        {
            return Err(TensorMapError::SwizzledBytes(bytes, swizzled));
        }
        Ok(())
    }

    /// The simulator's tensor map of this.
    ///
    /// # Errors
    /// As [`TensorMapParts::check`].
    pub fn encode_simulated(&self) -> Result<TensorMapWords, TensorMapError> {
        self.check()?;
        // No batch has 0 matrices.
        let Planes { count, stride_bytes } = self.planes.unwrap_or(Planes {
            count: 0,
            stride_bytes: 0,
        });
        let mut words = [0; 16];
        words[..10].copy_from_slice(&[
            Self::TAG,
            self.address,
            self.extents[0],
            self.extents[1],
            self.stride_bytes,
            u64::from(self.box_extents[0]) | u64::from(self.box_extents[1]) << 32,
            self.element as u64,
            self.swizzle as u64,
            count,
            stride_bytes,
        ]);
        Ok(words)
    }

    /// The fields of a simulated tensor map; `None` if it is not one.
    pub fn decode_simulated(words: &TensorMapWords) -> Option<Self> {
        let [
            tag,
            address,
            columns,
            rows,
            stride_bytes,
            boxes,
            element,
            swizzle,
            count,
            distance,
            ..,
        ] = *words;
        let parts = Self {
            address,
            extents: [columns, rows],
            stride_bytes,
            planes: (count != 0).then_some(Planes {
                count,
                stride_bytes: distance,
            }),
            box_extents: [boxes as u32, (boxes >> 32) as u32],
            element: match element {
                0 => TensorElement::F16,
                1 => TensorElement::Bf16,
                2 => TensorElement::F32,
                3 => TensorElement::Tf32,
                4 => TensorElement::U8,
                _ => TensorElement::U32,
            },
            swizzle: match swizzle {
                0 => TensorSwizzle::None,
                1 => TensorSwizzle::Bytes128,
                2 => TensorSwizzle::Bytes64,
                _ => TensorSwizzle::Bytes32,
            },
        };
        (tag == Self::TAG && parts.check().is_ok()).then_some(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTS: TensorMapParts = TensorMapParts {
        address: 0x1000,
        extents: [100, 7],
        stride_bytes: 208,
        planes: None,
        box_extents: [64, 8],
        element: TensorElement::Bf16,
        swizzle: TensorSwizzle::Bytes128,
    };

    /// Each swizzle with the bytes of a row.
    const SWIZZLES: [(TensorSwizzle, u32); 4] = [
        (TensorSwizzle::None, 128),
        (TensorSwizzle::Bytes128, 128),
        (TensorSwizzle::Bytes64, 64),
        (TensorSwizzle::Bytes32, 32),
    ];

    const fn planes(count: u64, stride_bytes: u64) -> Option<Planes> {
        Some(Planes { count, stride_bytes })
    }

    #[test]
    fn loads_round_to_the_nearest_tf32() {
        let loaded = |element: TensorElement, bits: u32| u32::from_le_bytes(element.loaded(bits.to_le_bytes()));
        for (bits, rounded) in [
            (0x3f80_0fff, 0x3f80_0000),
            (0x3f80_1000, 0x3f80_2000),
            (0xbf80_3000, 0xbf80_4000),
            (0x3fff_ffff, 0x4000_0000),
            (0x7f7f_ffff, 0x7f80_0000),
            (0x7f80_0000, 0x7f80_0000),
            (0x7fff_ffff, 0x7fff_ffff),
            (0x0000_1000, 0x0000_2000),
        ] {
            assert_eq!(loaded(TensorElement::Tf32, bits), rounded, "{bits:#x}");
            assert_eq!(loaded(TensorElement::F32, bits), bits);
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for element in [
            TensorElement::F16,
            TensorElement::Bf16,
            TensorElement::F32,
            TensorElement::Tf32,
            TensorElement::U8,
            TensorElement::U32,
        ] {
            for (swizzle, row_bytes) in SWIZZLES {
                // The last two are interleaved: a matrix begins within the rows of another.
                for planes in [None, planes(5, 2800), planes(1 << 32, 16), planes(2, 208)] {
                    let parts = TensorMapParts {
                        element,
                        swizzle,
                        stride_bytes: 400,
                        planes,
                        box_extents: [row_bytes / element.bytes() as u32, 8],
                        ..PARTS
                    };
                    let words = parts.encode_simulated().expect("allowed");
                    assert_eq!(TensorMapParts::decode_simulated(&words), Some(parts));
                    assert_eq!(parts.rank(), if planes.is_some() { 3 } else { 2 });
                }
            }
        }
        assert_eq!(TensorMapParts::decode_simulated(&[0; 16]), None);
    }

    #[test]
    fn each_rule_has_its_error_with_both_numbers() {
        type Change = fn(&mut TensorMapParts);
        let broken = |change: Change| {
            let mut parts = PARTS;
            change(&mut parts);
            let error = parts.encode_simulated().expect_err("a rule is broken");
            (error, error.to_string())
        };
        use TensorMapError::*;
        let cases: [(Change, TensorMapError, &str); 14] = [
            (|p| p.address += 8, Address(0x1008), "8 modulo 16"),
            (|p| p.extents[0] = 0, Extent(0, 0), "0 elements in a row"),
            (|p| p.extents[1] = 1 << 33, Extent(1, 1 << 33), "4294967296"),
            (|p| p.stride_bytes = 200, Stride(200), "200 bytes"),
            (|p| p.stride_bytes = 1 << 40, Stride(1 << 40), "below 1099511627776"),
            (
                |p| p.stride_bytes = 192,
                Overlap(192, 200),
                "192 bytes from row to row, a row has 200",
            ),
            (|p| p.planes = planes(0, 1456), Planes(0), "a batch of 0 matrices"),
            (
                |p| p.planes = planes((1 << 32) + 1, 1456),
                Planes((1 << 32) + 1),
                "1 to 4294967296",
            ),
            (
                |p| p.planes = planes(3, 1448),
                PlaneStride(1448),
                "1448 bytes from matrix to matrix",
            ),
            (
                |p| p.planes = planes(3, 1 << 40),
                PlaneStride(1 << 40),
                "below 1099511627776",
            ),
            (|p| p.box_extents[1] = 257, Box(1, 257), "257 rows: 1 to 256"),
            (|p| p.box_extents[0] = 0, Box(0, 0), "0 elements in a row: 1 to 256"),
            (|p| p.box_extents[0] = 60, BoxBytes(120), "120 bytes"),
            (
                |p| p.box_extents[0] = 128,
                SwizzledBytes(256, 128),
                "256 bytes: swizzled, it has 128",
            ),
        ];
        for (change, expected, text) in cases {
            let (error, said) = broken(change);
            assert_eq!(error, expected);
            assert!(said.contains(text), "{said}");
        }
    }

    #[test]
    fn the_swizzle_stays_in_its_row_and_spreads_a_column_over_all_chunks() {
        for (swizzle, row) in SWIZZLES {
            let row = row as usize;
            for offset in 0..4096 {
                let place = swizzle.place(0, offset);
                assert_eq!(
                    (place / row, place % 16, swizzle.place(0, place)),
                    (offset / row, offset % 16, offset)
                );
            }
            // Two halves of a box equal the whole.
            for offset in 0..512 {
                assert_eq!(512 + swizzle.place(512, offset), swizzle.place(0, 512 + offset));
            }
            if swizzle == TensorSwizzle::None {
                continue;
            }
            // The banks of 128 bytes hold 8 chunks: `ldmatrix` reads one of each.
            for chunk in 0..row / 16 {
                let mut chunks: Vec<_> = (0..8)
                    .map(|number| swizzle.place(0, row * number + 16 * chunk) / 16 % 8)
                    .collect();
                chunks.sort_unstable();
                assert!(chunks.into_iter().eq(0..8), "{swizzle:?}");
            }
        }
    }
}
