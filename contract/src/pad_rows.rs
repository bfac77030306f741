//! Copies of operands that are made before a product: rows padded, f32 split into parts.

use crate::args::span_elems;
use crate::grid::MAX_ROWS;
use crate::shape::{GemmShape, Operand};

/// Copies of row-major matrices into padded rows of elements of 2 bytes: the parameters of the kernels of
/// [`CopyKind`], and their geometry.
///
/// Padded rows are whole vectors of 16 bytes. Thread `t` along x of the grid writes vector `t` of a matrix, counted row
/// by row; along y the grid has a row for each matrix of a batch. Elements past the end of a row are zeros.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PadRows {
    /// Elements from one matrix of a batch to the next. Padded matrices follow one another.
    pub from_stride: u64,
    /// Rows of a matrix.
    pub rows: u32,
    /// Elements of a row; not 0.
    pub columns: u32,
    /// Elements from one row of a matrix to the next.
    pub from_ld: u32,
    /// Elements from one padded row to the next: [`PadRows::padded`] of `columns`.
    pub to_ld: u32,
    /// Matrices: those of a batch, or one.
    pub matrices: u32,
}

impl PadRows {
    /// Bytes of an element that is written.
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

    /// From an operand of `shape` to that of `padded`, which differs in leading dimensions and strides alone. `None`
    /// for an empty one.
    pub(crate) fn new(shape: &GemmShape, padded: &GemmShape, operand: Operand) -> Option<Self> {
        let (rows, columns, from_ld) = shape.extents(operand);
        let (.., to_ld) = padded.extents(operand);
        // A shape has checked that each fits.
        let [rows, columns, from_ld, to_ld] = [rows, columns, from_ld, to_ld].map(|extent| extent as u32);
        (rows > 0 && columns > 0).then_some(Self {
            from_stride: shape.batch().stride(operand),
            rows,
            columns,
            from_ld,
            to_ld,
            matrices: shape.batch().matrices(operand),
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

    /// CTAs along x of the grid: a thread for each vector.
    pub const fn blocks(&self) -> u32 {
        (self.rows * self.vectors_of_row()).div_ceil(Self::THREADS)
    }

    /// The launches: the first matrix of each, and how many it has, the rows of its grid along y.
    pub fn launches(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let all = self.matrices;
        let first = (0..all).step_by(MAX_ROWS as usize);
        first.map(move |first| (first, MAX_ROWS.min(all - first)))
    }

    /// Elements from the first to the last one of a matrix, both included.
    #[inline(always)]
    pub const fn from_elems(&self) -> usize {
        span_elems(self.rows as usize, self.columns as usize, self.from_ld as usize)
    }

    /// Elements of a padded matrix, padding after its last row included: from one to the next.
    #[inline(always)]
    pub const fn to_elems(&self) -> usize {
        self.rows as usize * self.to_ld as usize
    }
}

/// What a kernel does not take as it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyKind {
    /// Elements of 2 bytes in rows that begin at no multiple of 16 bytes: rows are padded.
    Pad,
    /// f32: each element becomes three bf16, the nearest one, that of the rest, and that of what is left.
    Split,
}

impl CopyKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Pad, Self::Split];

    /// The symbol of the kernel that copies, in PTX.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Pad => "copy_rows_b16",
            Self::Split => "split_rows_f32",
        }
    }

    /// Bytes of an element that is read. One that is written has [`PadRows::ELEMENT_BYTES`].
    pub const fn from_bytes(self) -> u32 {
        match self {
            Self::Pad => PadRows::ELEMENT_BYTES,
            Self::Split => 4,
        }
    }

    /// Matrices that become of one, one after the other.
    pub const fn parts(self) -> u32 {
        match self {
            Self::Pad => 1,
            Self::Split => 3,
        }
    }
}

/// The copy of an operand that is made before a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OperandCopy {
    /// What is made of it.
    pub kind: CopyKind,
    /// The geometry of each part; the kernel's parameters.
    pub rows: PadRows,
}

impl OperandCopy {
    /// From an operand of `shape` to that of `taken`, which differs in leading dimensions and strides alone. `None` if
    /// there is nothing to do: it is empty, or to be padded, and both are equal or there are fewer than two rows.
    pub fn between(kind: CopyKind, shape: &GemmShape, taken: &GemmShape, operand: Operand) -> Option<Self> {
        let rows = PadRows::new(shape, taken, operand)?;
        let moves = rows.from_ld != rows.to_ld && rows.rows > 1 || rows.from_stride != taken.batch().stride(operand);
        (moves || matches!(kind, CopyKind::Split)).then_some(Self { kind, rows })
    }

    /// Elements of all parts of a matrix: from one copied matrix to the next.
    pub const fn to_elems(&self) -> usize {
        self.rows.to_elems() * self.kind.parts() as usize
    }

    /// Bytes of the copy.
    pub const fn to_bytes(&self) -> u64 {
        self.to_elems() as u64 * PadRows::ELEMENT_BYTES as u64 * self.rows.matrices as u64
    }

    /// Bytes that are read and written.
    pub const fn moved_bytes(&self) -> u64 {
        let PadRows {
            rows,
            columns,
            matrices,
            ..
        } = self.rows;
        rows as u64 * columns as u64 * self.kind.from_bytes() as u64 * matrices as u64 + self.to_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_a_thread_for_every_vector() {
        let copy = PadRows {
            from_stride: 0,
            rows: 100,
            columns: 33,
            from_ld: 35,
            to_ld: PadRows::padded(33) as u32,
            matrices: 1,
        };
        assert_eq!((copy.to_ld, copy.vectors_of_row()), (40, 5));
        assert_eq!(copy.blocks(), 2);
        assert_eq!((copy.from_elems(), copy.to_elems()), (99 * 35 + 33, 4000));
        let bytes = |kind, rows| {
            let copy = OperandCopy { kind, rows };
            (copy.to_bytes(), copy.moved_bytes())
        };
        assert_eq!(bytes(CopyKind::Pad, copy), (8000, 8000 + 6600));
        assert_eq!(bytes(CopyKind::Split, copy), (24_000, 24_000 + 13_200));
        assert!(copy.is_countable());
        let batch = PadRows { matrices: 9, ..copy };
        assert!(batch.launches().eq([(0, 9)]));
        let large = PadRows {
            matrices: 70_000,
            ..copy
        };
        assert!(large.launches().eq([(0, 65_535), (65_535, 4465)]));
        assert_eq!(bytes(CopyKind::Pad, batch), (9 * 8000, 9 * (8000 + 6600)));
    }

    #[test]
    fn copies_of_more_threads_than_can_be_counted_are_none() {
        let of = |rows, to_ld| PadRows {
            from_stride: 0,
            rows,
            columns: to_ld,
            from_ld: to_ld + 1,
            to_ld,
            matrices: 1,
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
        let between = |from: GemmShape, to: GemmShape| OperandCopy::between(CopyKind::Pad, &from, &to, Operand::A);
        let copy = |m, k| between(with(m, k, 9), with(m, k, 16)).map(|copy| copy.rows);
        assert_eq!(copy(1, 9), None);
        assert_eq!(copy(0, 9), None);
        assert_eq!(copy(2, 0), None);
        let expected = PadRows {
            from_stride: 0,
            rows: 2,
            columns: 9,
            from_ld: 9,
            to_ld: 16,
            matrices: 1,
        };
        assert_eq!(copy(2, 9), Some(expected));
        assert_eq!(between(with(2, 9, 9), with(2, 9, 9)), None);
        // A split is always one, unless it is empty.
        let split = |m| OperandCopy::between(CopyKind::Split, &with(m, 9, 16), &with(m, 9, 16), Operand::A);
        assert!(split(1).is_some() && split(0).is_none());
    }

    #[test]
    fn matrices_of_a_batch_are_copied_one_after_the_other() {
        let batch = |ld, stride| {
            let shape = GemmShape::with_ld(2, 8, 9, ld, 8, 8).and_then(|shape| shape.with_batch(5, [stride, 0, 16]));
            shape.expect("valid")
        };
        let between = |from: GemmShape, to: GemmShape| OperandCopy::between(CopyKind::Pad, &from, &to, Operand::A);
        let copy = |from_ld, from_stride| between(batch(from_ld, from_stride), batch(16, 32)).map(|copy| copy.rows);
        let expected = PadRows {
            from_stride: 33,
            rows: 2,
            columns: 9,
            from_ld: 16,
            to_ld: 16,
            matrices: 5,
        };
        assert_eq!(copy(16, 33), Some(expected));
        assert_eq!(copy(16, 32), None);
        // One matrix for all is copied once.
        let shared = between(batch(9, 0), batch(16, 0)).expect("other rows");
        assert_eq!((shared.rows.matrices, shared.to_bytes()), (1, 64));
    }
}
