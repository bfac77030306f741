//! The copy of an operand whose rows begin at no multiples of 16 bytes, into rows that do.

use crate::args::span_elems;
use crate::shape::{GemmShape, Operand};

/// A matrix of elements of 2 bytes, row-major, that is copied into rows further apart: what the kernel
/// [`RowCopy::SYMBOL`] takes, and how its threads share the work.
///
/// Rows of the copy are made of chunks of 16 bytes. Thread `t` of the grid writes chunk `t`, counted row by row. What a
/// chunk has behind the end of its row is zeros.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowCopy {
    /// Rows of the matrix.
    pub rows: u32,
    /// Elements of a row; not 0.
    pub columns: u32,
    /// Elements from one row of the matrix to the next.
    pub from_ld: u32,
    /// Elements from one row of the copy to the next: [`RowCopy::padded`] of `columns`.
    pub to_ld: u32,
}

impl RowCopy {
    /// The kernel's symbol in PTX. Elements are moved as they are, whatever type of 2 bytes they have.
    pub const SYMBOL: &str = "copy_rows_b16";
    /// Bytes of an element.
    pub const ELEMENT_BYTES: u32 = 2;
    /// Elements of a chunk, which one thread writes.
    pub const CHUNK: u32 = 8;
    /// Threads of a block.
    pub const THREADS: u32 = 256;

    /// Elements of a line of L2, 128 bytes.
    const LINE: usize = 64;

    /// The distance of the copy's rows with so many elements, in elements: each begins at a multiple of 16 bytes, and
    /// where it is longer than a line of L2 with a line. A row of a tensor map's box then lies in one line and not in
    /// two (measured: 1000 cubed takes 1.6 times as long as 1024 cubed).
    pub const fn padded(columns: usize) -> usize {
        let unit = if columns > Self::LINE {
            Self::LINE
        } else {
            Self::CHUNK as usize
        };
        columns.next_multiple_of(unit)
    }

    /// The copy that makes of an operand of `shape` that of `taken`, which differs in leading dimensions alone. `None`
    /// where there is nothing to do: the rows are as far apart as they have to be, there is no second one, or they are
    /// empty.
    pub fn between(shape: &GemmShape, taken: &GemmShape, operand: Operand) -> Option<Self> {
        let (rows, columns, from_ld) = shape.extents(operand);
        let (.., to_ld) = taken.extents(operand);
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
        self.rows as u64 * self.chunks_of_row() as u64 <= (u32::MAX - Self::THREADS) as u64
    }

    /// Chunks of a row of the copy.
    #[inline(always)]
    pub const fn chunks_of_row(&self) -> u32 {
        self.to_ld / Self::CHUNK
    }

    /// Blocks of the grid, which has one dimension: a thread for each chunk.
    pub const fn blocks(&self) -> u32 {
        (self.rows * self.chunks_of_row()).div_ceil(Self::THREADS)
    }

    /// Elements from the first to the last one of the matrix, both included.
    #[inline(always)]
    pub const fn from_elems(&self) -> usize {
        span_elems(self.rows as usize, self.columns as usize, self.from_ld as usize)
    }

    /// Elements of the copy, those behind the end of its last row included.
    #[inline(always)]
    pub const fn to_elems(&self) -> usize {
        self.rows as usize * self.to_ld as usize
    }

    /// Bytes of the copy.
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
    fn a_copy_has_a_thread_for_every_chunk() {
        let copy = RowCopy {
            rows: 100,
            columns: 33,
            from_ld: 35,
            to_ld: RowCopy::padded(33) as u32,
        };
        assert_eq!((copy.to_ld, copy.chunks_of_row()), (40, 5));
        assert_eq!(copy.blocks(), 2);
        assert_eq!((copy.from_elems(), copy.to_elems()), (99 * 35 + 33, 4000));
        assert_eq!((copy.to_bytes(), copy.moved_bytes()), (8000, 8000 + 6600));
        assert!(copy.is_countable());
    }

    #[test]
    fn copies_of_more_threads_than_can_be_counted_are_none() {
        let of = |rows, to_ld| RowCopy {
            rows,
            columns: to_ld,
            from_ld: to_ld + 1,
            to_ld,
        };
        // 2^29 rows of 8 chunks have 2^32.
        assert!(!of(1 << 29, 64).is_countable());
        let large = of((1 << 29) - 64, 64);
        assert!(large.is_countable());
        assert_eq!(large.blocks(), (1 << 24) - 2);
    }

    #[test]
    fn one_row_and_empty_rows_need_no_copy() {
        let with = |m, k, lda| GemmShape::with_ld(m, 8, k, lda, 8, 8).expect("valid");
        let copy = |m, k| RowCopy::between(&with(m, k, 9), &with(m, k, 16), Operand::A);
        assert_eq!(copy(1, 9), None);
        assert_eq!(copy(0, 9), None);
        assert_eq!(copy(2, 0), None);
        let expected = RowCopy {
            rows: 2,
            columns: 9,
            from_ld: 9,
            to_ld: 16,
        };
        assert_eq!(copy(2, 9), Some(expected));
        assert_eq!(RowCopy::between(&with(2, 9, 9), &with(2, 9, 9), Operand::A), None);
    }
}
