//! Padding of an operand with an unaligned leading dimension.

use crate::args::span_elems;
use crate::shape::{GemmShape, Operand};

/// Padding of a row-major matrix with elements of 2 bytes: the parameters of the kernel [`PadRows::SYMBOL`], and its
/// geometry.
///
/// Padded rows are whole vectors of 16 bytes. Thread `t` of the grid writes vector `t`, counted row by row. Elements
/// past the end of a row are zeros.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PadRows {
    /// Rows of the matrix.
    pub rows: u32,
    /// Elements of a row; not 0.
    pub columns: u32,
    /// Elements from one row of the matrix to the next.
    pub from_ld: u32,
    /// Elements from one padded row to the next: [`PadRows::padded`] of `columns`.
    pub to_ld: u32,
}

impl PadRows {
    /// The kernel's symbol in PTX. Elements are moved as they are, whatever type of 2 bytes they have.
    pub const SYMBOL: &str = "copy_rows_b16";
    /// Bytes of an element.
    pub const ELEMENT_BYTES: u32 = 2;
    /// Elements of a vector, which one thread writes.
    pub const VECTOR: u32 = 8;
    /// Threads of a CTA.
    pub const THREADS: u32 = 256;

    /// Elements of a line of L2, 128 bytes.
    const LINE: usize = 64;

    /// Leading dimension of padded rows of so many elements, in elements: rows start at multiples of 16 bytes, or of an
    /// L2 line if they are longer than one. A row of a tensor map's box is then in one line instead of two (measured:
    /// 1000 cubed takes 1.6 times as long as 1024 cubed).
    pub const fn padded(columns: usize) -> usize {
        let unit = if columns > Self::LINE {
            Self::LINE
        } else {
            Self::VECTOR as usize
        };
        columns.next_multiple_of(unit)
    }

    /// Padding from an operand of `shape` to that of `padded`, which differs in leading dimensions alone. `None` if
    /// there is nothing to do: the leading dimensions are equal, or there are fewer than two rows, or they are empty.
    pub fn between(shape: &GemmShape, padded: &GemmShape, operand: Operand) -> Option<Self> {
        let (rows, columns, from_ld) = shape.extents(operand);
        let (.., to_ld) = padded.extents(operand);
        // A shape has checked that each fits.
        let [rows, columns, from_ld, to_ld] = [rows, columns, from_ld, to_ld].map(|extent| extent as u32);
        let is_needed = from_ld != to_ld && rows > 1 && columns > 0;
        is_needed.then_some(Self {
            rows,
            columns,
            from_ld,
            to_ld,
        })
    }

    /// Whether threads can be counted in 32 bits: copies of less than 64 GiB.
    pub const fn is_countable(&self) -> bool {
        self.rows as u64 * self.vectors_of_row() as u64 <= (u32::MAX - Self::THREADS) as u64
    }

    /// Vectors of a padded row.
    #[inline(always)]
    pub const fn vectors_of_row(&self) -> u32 {
        self.to_ld / Self::VECTOR
    }

    /// CTAs of the grid, which has one dimension: a thread for each vector.
    pub const fn blocks(&self) -> u32 {
        (self.rows * self.vectors_of_row()).div_ceil(Self::THREADS)
    }

    /// Elements from the first to the last one of the matrix, both included.
    #[inline(always)]
    pub const fn from_elems(&self) -> usize {
        span_elems(self.rows as usize, self.columns as usize, self.from_ld as usize)
    }

    /// Elements of the padded matrix, padding after its last row included.
    #[inline(always)]
    pub const fn to_elems(&self) -> usize {
        self.rows as usize * self.to_ld as usize
    }

    /// Bytes of the padded matrix.
    pub const fn to_bytes(&self) -> u64 {
        self.to_elems() as u64 * Self::ELEMENT_BYTES as u64
    }

    /// Bytes that are read and written.
    pub const fn moved_bytes(&self) -> u64 {
        self.rows as u64 * self.columns as u64 * Self::ELEMENT_BYTES as u64 + self.to_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_a_thread_for_every_vector() {
        let copy = PadRows {
            rows: 100,
            columns: 33,
            from_ld: 35,
            to_ld: PadRows::padded(33) as u32,
        };
        assert_eq!((copy.to_ld, copy.vectors_of_row()), (40, 5));
        assert_eq!(copy.blocks(), 2);
        assert_eq!((copy.from_elems(), copy.to_elems()), (99 * 35 + 33, 4000));
        assert_eq!((copy.to_bytes(), copy.moved_bytes()), (8000, 8000 + 6600));
        assert!(copy.is_countable());
    }

    #[test]
    fn copies_of_more_threads_than_can_be_counted_are_none() {
        let of = |rows, to_ld| PadRows {
            rows,
            columns: to_ld,
            from_ld: to_ld + 1,
            to_ld,
        };
        // 2^29 rows of 8 vectors have 2^32.
        assert!(!of(1 << 29, 64).is_countable());
        let large = of((1 << 29) - 64, 64);
        assert!(large.is_countable());
        assert_eq!(large.blocks(), (1 << 24) - 2);
    }

    #[test]
    fn one_row_and_empty_rows_need_no_copy() {
        let with = |m, k, lda| GemmShape::with_ld(m, 8, k, lda, 8, 8).expect("valid");
        let copy = |m, k| PadRows::between(&with(m, k, 9), &with(m, k, 16), Operand::A);
        assert_eq!(copy(1, 9), None);
        assert_eq!(copy(0, 9), None);
        assert_eq!(copy(2, 0), None);
        let expected = PadRows {
            rows: 2,
            columns: 9,
            from_ld: 9,
            to_ld: 16,
        };
        assert_eq!(copy(2, 9), Some(expected));
        assert_eq!(PadRows::between(&with(2, 9, 9), &with(2, 9, 9), Operand::A), None);
    }
}
