//! Matrix descriptors: operands of [`wgmma`](super::wgmma) in shared memory (PTX ISA, "Matrix Descriptor Format").

/// Swizzle of the 16-byte vectors of a row in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptorSwizzle {
    /// As they are.
    None = 0,
    /// Rows of 128 bytes, vector c of row r at index c XOR r % 8: a tensor map's 128-byte swizzle.
    Bytes128 = 1,
    /// Rows of 64 bytes, of four vectors.
    Bytes64 = 2,
    /// Rows of 32 bytes, of two vectors.
    Bytes32 = 3,
}

/// Matrix descriptor: an operand tile in shared memory (PTX ISA, "Matrix Descriptor Format").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor(pub(super) u64);

impl Descriptor {
    /// From the address of the first element in shared memory and the two offsets, all in bytes: multiples of 16 below
    /// 2^18.
    ///
    /// | | `leading` | `stride` |
    /// |---|---|---|
    /// | K-major, swizzled | not used | from 8 rows to the next 8 |
    /// | K-major, no swizzle | from a vector of K to the next | from 8 rows to the next 8 |
    /// | MN-major, swizzled | from one swizzled row's width along M or N to the next | from 8 of K to the next 8 |
    /// | MN-major, no swizzle | from 8 of K to the next 8 | from a vector along M or N to the next |
    ///
    /// A swizzled pattern of 8 rows begins at a multiple of its size, 1,024 bytes for rows of 128.
    pub const fn new(address: u32, leading: u32, stride: u32, swizzle: DescriptorSwizzle) -> Self {
        const fn field(bytes: u32) -> u64 {
            (bytes as u64 & 0x3ffff) >> 4
        }
        Self(field(address) | field(leading) << 16 | field(stride) << 32 | (swizzle as u64) << 62)
    }

    /// Of a tile whose rows are 64 elements of K, 128 bytes, with the 128-byte swizzle: what a tensor map's box of 64
    /// columns is. The next 16 of K are [32 bytes](Self::advanced) further; of tf32, with 32 elements in a row, the
    /// next 8; of FP8, with 128, the next 32.
    pub const fn k_major(address: u32) -> Self {
        Self::new(address, 16, 1024, DescriptorSwizzle::Bytes128)
    }

    /// Of a tile whose rows are 64 elements of M or N, 128 bytes, with the 128-byte swizzle; the next 64 of them are
    /// `atom` bytes further. The next 16 of K are [2,048 bytes](Self::advanced) further.
    pub const fn mn_major(address: u32, atom: u32) -> Self {
        Self::new(address, atom, 1024, DescriptorSwizzle::Bytes128)
    }

    /// The same, so many bytes further; a multiple of 16, and the sum below 2^18.
    #[inline(always)]
    pub const fn advanced(self, bytes: u32) -> Self {
        // In the lower half alone, which the address does not leave: the upper one stays a constant to the compiler.
        let low = (self.0 as u32).wrapping_add(bytes >> 4);
        Self(self.0 >> 32 << 32 | low as u64)
    }

    /// The 64 bits.
    pub const fn bits(self) -> u64 {
        self.0
    }
}
