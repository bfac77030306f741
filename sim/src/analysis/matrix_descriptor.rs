//! Shared-memory layout of `wgmma` operands (PTX ISA, "Asynchronous warpgroup level matrix instructions: Shared Memory
//! Matrix Layout" and "Matrix Descriptor Format").
//!
//! Operands are made of chunks of 16 bytes, 8 elements of 2 bytes or 4 of 4. With swizzle a row of chunks has 2, 4 or 8
//! of them (32, 64 or 128 bytes), 8 rows follow each other, and in row r chunk c takes the place c XOR r, of as many
//! bits as it has; the bits are taken from the address, so a pattern must begin at a multiple of 8 rows.

/// Which of an operand's dimensions is contiguous in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Major {
    /// The K dimension.
    K,
    /// The rows of A, the columns of B.
    Mn,
}

/// A matrix descriptor's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MatrixDescriptor {
    /// Address in shared memory, in bytes.
    start: u32,
    /// Leading dimension byte offset.
    leading: u32,
    /// Stride dimension byte offset.
    stride: u32,
    /// log2 of the chunks of a swizzled row; 0 without swizzle.
    swizzle: u32,
    /// Matrix base offset: not 0 where the pattern begins elsewhere.
    pub(crate) base_offset: u32,
}

impl MatrixDescriptor {
    /// From the 64 bits.
    pub(crate) fn from_bits(bits: u64) -> Self {
        let bytes = |shift: u32| (bits >> shift & 0x3fff) as u32 * 16;
        Self {
            start: bytes(0),
            leading: bytes(16),
            stride: bytes(32),
            swizzle: [0, 3, 2, 1][(bits >> 62) as usize],
            base_offset: (bits >> 49 & 7) as u32,
        }
    }

    /// The address of element (`mn`, `k`), which has `bytes` bytes.
    pub(crate) fn address(&self, major: Major, bytes: u32, mn: u32, k: u32) -> u32 {
        let chunks = 1 << self.swizzle;
        // Of the contiguous dimension, and of the other one.
        let (along, across) = match major {
            Major::K => (k, mn),
            Major::Mn => (mn, k),
        };
        let (chunk, element) = (along * bytes / 16, along * bytes % 16);
        let (row, group) = (across % 8, across / 8);
        let offset = match (major, self.swizzle) {
            (Major::K, 0) => chunk * self.leading + row * 16 + group * self.stride,
            (Major::Mn, 0) => chunk * self.stride + row * 16 + group * self.leading,
            _ => chunk % chunks * 16 + chunk / chunks * self.leading + row * chunks * 16 + group * self.stride,
        };
        let address = self.start + offset + element;
        address ^ (address >> 7 & (chunks - 1)) << 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(start: u64, leading: u64, stride: u64, mode: u64) -> MatrixDescriptor {
        MatrixDescriptor::from_bits(start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62)
    }

    #[test]
    fn rows_of_128_swizzled_bytes() {
        // 64 elements of K a row, as a tensor map with swizzle leaves them.
        let tile = descriptor(0x4000, 0, 1024, 1);
        for (mn, k) in [(0, 0), (1, 0), (7, 9), (8, 0), (63, 15)] {
            let plain = mn * 128 + k * 2;
            assert_eq!(
                tile.address(Major::K, 2, mn, k),
                0x4000 + (plain ^ (mn % 8) << 4),
                "{mn}, {k}"
            );
        }
        // 16 further along K the start is 32 bytes further.
        let next = descriptor(0x4020, 0, 1024, 1);
        assert_eq!(next.address(Major::K, 2, 5, 3), 0x4000 + ((5 * 128 + 38) ^ 5 << 4));
    }

    #[test]
    fn rows_have_half_as_many_elements_of_4_bytes() {
        let tile = descriptor(0x4000, 0, 1024, 1);
        for (mn, k) in [(0, 0), (1, 0), (7, 5), (8, 0), (63, 7)] {
            let plain = mn * 128 + k * 4;
            assert_eq!(
                tile.address(Major::K, 4, mn, k),
                0x4000 + (plain ^ (mn % 8) << 4),
                "{mn}, {k}"
            );
        }
    }

    #[test]
    fn the_contiguous_dimension_may_be_the_other_one() {
        // Rows are k, 64 elements of mn each; 64 rows of k before the next 64 elements of mn.
        let tile = descriptor(0, 8192, 1024, 1);
        for (mn, k) in [(0, 0), (63, 7), (64, 0), (130, 15)] {
            let plain = mn / 64 * 8192 + k * 128 + mn % 64 * 2;
            assert_eq!(tile.address(Major::Mn, 2, mn, k), plain ^ (k % 8) << 4, "{mn}, {k}");
        }
    }

    #[test]
    fn without_swizzle_8_rows_of_a_chunk_are_a_core_matrix() {
        let tile = descriptor(256, 128, 2048, 0);
        assert_eq!(tile.address(Major::K, 2, 3, 2), 256 + 3 * 16 + 4);
        assert_eq!(tile.address(Major::K, 2, 3, 10), 256 + 128 + 3 * 16 + 4);
        assert_eq!(tile.address(Major::K, 2, 19, 0), 256 + 2 * 2048 + 3 * 16);
        assert_eq!(tile.address(Major::Mn, 2, 10, 9), 256 + 2048 + 128 + 16 + 4);
    }
}
