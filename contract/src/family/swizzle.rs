//! The layout of operands of 2-byte elements in shared memory.

/// Swizzle of a matrix of 2-byte elements in shared memory: packed rows of 16-byte vectors, which are permuted within
/// their row by an XOR with a key that depends on the row.
///
/// Shared memory moves 128 bytes at once, eight vectors in different groups of banks ([`Self::bank_group`]). A warp
/// accesses a column of vectors in 8 neighboring rows (`ldmatrix`), or 8 neighboring vectors (a load); both are in 8
/// different groups, whatever the length of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Swizzle {
    /// Vectors of a row, a power of two.
    vectors: u32,
}

impl Swizzle {
    /// Elements of a vector: a load of one lane, and a row of the matrices that `ldmatrix` loads.
    pub const VECTOR: u32 = 8;

    /// Of rows of so many elements, a power of two and at least a vector.
    pub const fn of_row(elems: u32) -> Self {
        assert!(
            elems.is_power_of_two() && elems >= Self::VECTOR,
            "whole vectors, a power of two"
        );
        Self {
            vectors: elems / Self::VECTOR,
        }
    }

    /// Vectors of a row.
    pub const fn vectors(self) -> u32 {
        self.vectors
    }

    /// Elements of a row.
    pub const fn row_elems(self) -> u32 {
        self.vectors * Self::VECTOR
    }

    /// Key that the vector indices of a row are XORed with. Rows 8 apart have the same.
    #[inline(always)]
    pub const fn key(self, row: u32) -> u32 {
        // Rows in the same 128 bytes need no difference.
        if self.vectors < 8 {
            row / (8 / self.vectors) % self.vectors
        } else {
            row % 8
        }
    }

    /// First element of a vector, from the start of the matrix.
    #[inline(always)]
    pub const fn elem(self, row: u32, vector: u32) -> u32 {
        row * self.row_elems() + (vector ^ self.key(row)) * Self::VECTOR
    }

    /// Group of banks, 0 to 7, of the vector that starts at an element.
    pub const fn bank_group(elem: u32) -> u32 {
        elem / Self::VECTOR % 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a vector, of a 64-byte k-tile, of 128 bytes, and of 128 and 256 columns.
    const ROWS: [u32; 6] = [8, 16, 32, 64, 128, 256];

    #[test]
    fn every_vector_has_a_place_of_its_own_in_its_row() {
        for elems in ROWS {
            let swizzle = Swizzle::of_row(elems);
            for row in 0..32 {
                let mut seen = 0_u64;
                for vector in 0..swizzle.vectors() {
                    let elem = swizzle.elem(row, vector);
                    assert!(elem.is_multiple_of(Swizzle::VECTOR) && elem / elems == row);
                    seen |= 1 << (elem % elems / Swizzle::VECTOR);
                }
                assert_eq!(seen.count_ones(), swizzle.vectors(), "{elems} elements, row {row}");
            }
        }
    }

    /// Whether 8 vectors are in 8 different groups of banks.
    fn spread(elems: impl Iterator<Item = u32>) -> bool {
        elems.fold(0_u32, |seen, elem| seen | 1 << Swizzle::bank_group(elem)) == 0xff
    }

    #[test]
    fn the_8_rows_of_a_matrix_are_in_8_bank_groups() {
        for elems in ROWS {
            let swizzle = Swizzle::of_row(elems);
            for first in (0..64).step_by(8) {
                for vector in 0..swizzle.vectors() {
                    let rows = (first..first + 8).map(|row| swizzle.elem(row, vector));
                    assert!(spread(rows), "{elems} elements, rows from {first}, vector {vector}");
                }
            }
        }
    }

    #[test]
    fn neighboring_loads_are_in_8_bank_groups() {
        for elems in ROWS {
            let swizzle = Swizzle::of_row(elems);
            for first in (0..64 * swizzle.vectors()).step_by(8) {
                let loads = (first..first + 8).map(|at| swizzle.elem(at / swizzle.vectors(), at % swizzle.vectors()));
                assert!(spread(loads), "{elems} elements, loads from {first}");
            }
        }
    }
}
