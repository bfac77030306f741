//! Copies of operands that are made before a product: rows padded, matrices transposed, f32 split into parts.

use crate::args::span_elems;
use crate::grid::MAX_ROWS;
use crate::kernel::Kernel;
use crate::shape::{GemmShape, Operand};

/// Bytes of a line of L2.
const LINE_BYTES: usize = 128;

/// Bytes of a vector, the unit of loads and of tensor maps.
const VECTOR_BYTES: usize = 16;

/// Leading dimension of the rows of a copy, in elements: they start at multiples of 16 bytes, or of an L2 line if they
/// are longer than one. A row of a tensor map's box is then in one line instead of two (measured: 1000 cubed in bf16
/// takes 1.6 times as long as 1024 cubed).
pub const fn padded_ld(columns: usize, element_bytes: u32) -> usize {
    let element_bytes = element_bytes as usize;
    let unit = if columns * element_bytes > LINE_BYTES {
        LINE_BYTES
    } else {
        VECTOR_BYTES
    };
    columns.next_multiple_of(unit / element_bytes)
}

/// Copies of row-major matrices: the parameters of the kernels of [`CopyKind`], in the elements of that kind, and the
/// geometry of those that keep rows as rows.
///
/// Rows of the copy are whole vectors of 16 bytes. Thread `t` along x of the grid writes vector `t` of a matrix,
/// counted row by row; along y the grid has a row for each matrix of a batch. Elements past the end of a row are zeros.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CopyRows {
    /// Elements from one matrix of a batch to the next. Copies follow one another.
    pub from_stride: u64,
    /// Rows of a matrix.
    pub rows: u32,
    /// Elements of a row; not 0.
    pub columns: u32,
    /// Elements from one row of a matrix to the next.
    pub from_ld: u32,
    /// Elements from one row of the copy to the next.
    pub to_ld: u32,
    /// Matrices: those of a batch, or one.
    pub matrices: u32,
}

impl CopyRows {
    /// Elements of 2 bytes of a vector, which one thread writes.
    pub const VECTOR: u32 = 8;
    /// Threads of a CTA.
    pub const THREADS: u32 = 256;
    /// Rows and columns of the tile of a CTA that transposes.
    pub const TILE: u32 = 32;

    /// No matrix, which takes no CTA.
    pub const NONE: Self = Self {
        from_stride: 0,
        rows: 0,
        columns: 0,
        from_ld: 0,
        to_ld: 0,
        matrices: 0,
    };

    /// Vectors of a padded row.
    #[inline(always)]
    pub const fn vectors_of_row(&self) -> u32 {
        self.to_ld / Self::VECTOR
    }

    /// CTAs along x of the grid: a thread for each vector.
    #[inline(always)]
    pub const fn blocks(&self) -> u32 {
        (self.rows * self.vectors_of_row()).div_ceil(Self::THREADS)
    }

    /// Tiles along a row of a copy that is transposed; its padding is written, too.
    #[inline(always)]
    pub const fn tiles_of_row(&self) -> u32 {
        self.to_ld.div_ceil(Self::TILE)
    }

    /// CTAs along x of the grid of a copy that is transposed: one for each tile.
    #[inline(always)]
    pub const fn tiles(&self) -> u32 {
        self.tiles_of_row() * self.columns.div_ceil(Self::TILE)
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

    /// Elements of a copy that keeps rows, padding after the last one included: from one to the next.
    #[inline(always)]
    pub const fn to_elems(&self) -> usize {
        self.rows as usize * self.to_ld as usize
    }

    /// Elements of a copy that is transposed, likewise.
    #[inline(always)]
    pub const fn transposed_elems(&self) -> usize {
        self.columns as usize * self.to_ld as usize
    }
}

/// What a kernel does not take as it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyKind {
    /// Elements of 2 bytes, or of 4 as two of these, in rows that begin or end at no multiple of 16 bytes: rows are
    /// padded.
    Pad,
    /// Elements of 4 bytes of a matrix whose columns would be rows: it is transposed, into padded rows.
    Transpose,
    /// f32: each element becomes three bf16, the nearest one, that of the rest, and that of what is left.
    Split,
}

impl CopyKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Pad, Self::Transpose, Self::Split];

    /// The symbol of the kernel that copies, in PTX.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Pad => "copy_rows_b16",
            Self::Transpose => "transpose_rows_b32",
            Self::Split => "split_rows_f32",
        }
    }

    /// Bytes of an element that is read.
    pub const fn from_bytes(self) -> u32 {
        match self {
            Self::Pad => 2,
            Self::Transpose | Self::Split => 4,
        }
    }

    /// Bytes of an element that is written.
    pub const fn to_bytes(self) -> u32 {
        match self {
            Self::Pad | Self::Split => 2,
            Self::Transpose => 4,
        }
    }

    /// Matrices that become of one, one after the other.
    pub const fn parts(self) -> u32 {
        match self {
            Self::Pad | Self::Transpose => 1,
            Self::Split => 3,
        }
    }

    /// What is done to the operand, in a sentence.
    pub const fn participle(self) -> &'static str {
        match self {
            Self::Pad => "padded",
            Self::Transpose => "transposed",
            Self::Split => "split",
        }
    }
}

/// The copy of an operand that is made before a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OperandCopy {
    /// What is made of it.
    pub kind: CopyKind,
    /// The kernel's parameters: the geometry of each part, in elements of the kind.
    pub rows: CopyRows,
}

impl OperandCopy {
    /// From an operand of `shape` to that of `taken`, the same product as `kernel` takes it. `None` if there is nothing
    /// to do: the operand is empty, or it lies as the kernel takes it, or it is one row, which may begin anywhere.
    pub fn between(kernel: &Kernel, shape: &GemmShape, taken: &GemmShape, operand: Operand) -> Option<Self> {
        let kind = if kernel.splits_operands() {
            CopyKind::Split
        } else if shape.transpose(operand) != taken.transpose(operand) {
            CopyKind::Transpose
        } else {
            CopyKind::Pad
        };
        let (rows, columns, from_ld) = shape.extents(operand);
        let (.., to_ld) = taken.extents(operand);
        let (from_stride, to_stride) = (shape.batch().stride(operand), taken.batch().stride(operand));
        let moves = kind != CopyKind::Pad || from_ld != to_ld && rows > 1 || from_stride != to_stride;
        if rows == 0 || columns == 0 || !moves {
            return None;
        }
        // Elements of the kind in one of the operand.
        let units = match kind {
            CopyKind::Pad => kernel.dtype.size_bytes() / kind.from_bytes(),
            CopyKind::Transpose | CopyKind::Split => 1,
        };
        // A shape has checked that each is below 2^31, and of f32 there are two units in each.
        let [rows, columns, from_ld, to_ld] = [rows, columns, from_ld, to_ld].map(|extent| extent as u32);
        let rows = CopyRows {
            from_stride: from_stride * u64::from(units),
            rows,
            columns: columns * units,
            from_ld: from_ld * units,
            to_ld: to_ld * units,
            matrices: shape.batch().matrices(operand),
        };
        Some(Self { kind, rows })
    }

    /// Whether one launch makes the copies of A and of B: they are of one kind, and a grid has rows for the matrices of
    /// both.
    pub fn are_one_launch(copies: &[Option<Self>; 2]) -> bool {
        matches!(copies, [Some(a), Some(b)]
            if a.kind == b.kind && a.rows.matrices.max(b.rows.matrices) <= MAX_ROWS
                && a.blocks().checked_add(b.blocks()).is_some_and(|blocks| blocks <= i32::MAX as u32))
    }

    /// Launches that make the copies of A and of B, but for batches that no grid holds.
    pub fn launches(copies: &[Option<Self>; 2]) -> usize {
        copies.iter().flatten().count() - usize::from(Self::are_one_launch(copies))
    }

    /// CTAs along x of the grid, each of [`CopyRows::THREADS`] threads.
    pub const fn blocks(&self) -> u32 {
        match self.kind {
            CopyKind::Pad | CopyKind::Split => self.rows.blocks(),
            CopyKind::Transpose => self.rows.tiles(),
        }
    }

    /// Whether threads can be counted in 32 bits: copies of less than 64 GiB.
    pub const fn is_countable(&self) -> bool {
        let rows = &self.rows;
        let threads = match self.kind {
            CopyKind::Pad | CopyKind::Split => rows.rows as u64 * rows.vectors_of_row() as u64,
            CopyKind::Transpose => {
                let tiles = rows.tiles_of_row() as u64 * rows.columns.div_ceil(CopyRows::TILE) as u64;
                tiles * CopyRows::THREADS as u64
            }
        };
        threads <= (u32::MAX - CopyRows::THREADS) as u64
    }

    /// Elements of all parts of a matrix: from one copied matrix to the next.
    pub const fn to_elems(&self) -> usize {
        let rows = &self.rows;
        match self.kind {
            CopyKind::Pad | CopyKind::Split => rows.to_elems() * self.kind.parts() as usize,
            CopyKind::Transpose => rows.transposed_elems(),
        }
    }

    /// Bytes of the copy.
    pub const fn to_bytes(&self) -> u64 {
        self.to_elems() as u64 * self.kind.to_bytes() as u64 * self.rows.matrices as u64
    }

    /// Bytes that are read and written.
    pub const fn moved_bytes(&self) -> u64 {
        let CopyRows {
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

    /// A kernel that pads rows of elements of 2 bytes, one that pads those of 4, and one that splits.
    fn kernels() -> [&'static Kernel; 3] {
        [
            "wgmma_nn_64x64_bf16",
            "wgmma_tf32_nn_256x128_f32",
            "wgmma_bf16x6_nn_128x128_f32",
        ]
        .map(|symbol| Kernel::named(symbol).expect("in the table"))
    }

    const ROWS: CopyRows = CopyRows {
        from_stride: 0,
        rows: 100,
        columns: 33,
        from_ld: 35,
        to_ld: 40,
        matrices: 1,
    };

    #[test]
    fn rows_of_copies_start_at_vectors_or_at_lines_of_l2() {
        assert_eq!(
            [1, 8, 33, 64, 65, 1000].map(|columns| padded_ld(columns, 2)),
            [8, 8, 40, 64, 128, 1024]
        );
        assert_eq!(
            [1, 4, 31, 32, 33, 1000].map(|columns| padded_ld(columns, 4)),
            [4, 4, 32, 32, 64, 1024]
        );
    }

    #[test]
    fn a_copy_has_a_thread_for_every_vector() {
        assert_eq!((ROWS.vectors_of_row(), ROWS.blocks()), (5, 2));
        assert_eq!((ROWS.from_elems(), ROWS.to_elems()), (99 * 35 + 33, 4000));
        let bytes = |kind, rows| {
            let copy = OperandCopy { kind, rows };
            (copy.to_bytes(), copy.moved_bytes())
        };
        assert_eq!(bytes(CopyKind::Pad, ROWS), (8000, 8000 + 6600));
        assert_eq!(bytes(CopyKind::Split, ROWS), (24_000, 24_000 + 13_200));
        let batch = CopyRows { matrices: 9, ..ROWS };
        assert!(batch.launches().eq([(0, 9)]));
        let large = CopyRows {
            matrices: 70_000,
            ..ROWS
        };
        assert!(large.launches().eq([(0, 65_535), (65_535, 4465)]));
        assert_eq!(bytes(CopyKind::Pad, batch), (9 * 8000, 9 * (8000 + 6600)));
    }

    #[test]
    fn a_transposed_copy_has_a_cta_for_every_tile() {
        // 33 rows of 100 elements, in rows of 128: 4 tiles along each, and 2 rows of tiles.
        let rows = CopyRows { to_ld: 128, ..ROWS };
        let kind = CopyKind::Transpose;
        let copy = OperandCopy { kind, rows };
        assert_eq!((copy.blocks(), copy.to_elems()), (8, 33 * 128));
        assert_eq!((copy.to_bytes(), copy.moved_bytes()), (16_896, 16_896 + 13_200));
    }

    #[test]
    fn copies_of_more_threads_than_can_be_counted_are_none() {
        let of = |kind, rows, to_ld| OperandCopy {
            kind,
            rows: CopyRows {
                rows,
                columns: to_ld,
                from_ld: to_ld + 1,
                to_ld,
                ..ROWS
            },
        };
        // 2^29 rows of 8 vectors have 2^32.
        assert!(!of(CopyKind::Pad, 1 << 29, 64).is_countable());
        let large = of(CopyKind::Pad, (1 << 29) - 64, 64);
        assert!(large.is_countable());
        assert_eq!(large.blocks(), (1 << 24) - 2);
        // 2^12 tiles along each.
        assert!(!of(CopyKind::Transpose, 1 << 17, 1 << 17).is_countable());
        assert!(of(CopyKind::Transpose, 1 << 17, 1 << 16).is_countable());
    }

    #[test]
    fn copies_of_one_kind_are_one_launch() {
        let of = |kind, matrices| {
            Some(OperandCopy {
                kind,
                rows: CopyRows { matrices, ..ROWS },
            })
        };
        let (pad, transpose) = (of(CopyKind::Pad, 1), of(CopyKind::Transpose, 1));
        let many = of(CopyKind::Pad, MAX_ROWS + 1);
        for (copies, launches) in [
            ([None, None], 0),
            ([pad, None], 1),
            ([pad, pad], 1),
            ([pad, transpose], 2),
            ([many, pad], 2),
        ] {
            assert_eq!(OperandCopy::launches(&copies), launches, "{copies:?}");
        }
    }

    #[test]
    fn one_row_and_empty_rows_need_no_copy() {
        let [pads, pads_f32, splits] = kernels();
        let with = |m, k, lda| GemmShape::with_ld(m, 8, k, lda, 8, 8).expect("valid");
        let between = |kernel, from: GemmShape, to: GemmShape| OperandCopy::between(kernel, &from, &to, Operand::A);
        let copy = |m, k| between(pads, with(m, k, 9), with(m, k, 16)).map(|copy| copy.rows);
        assert_eq!(copy(1, 9), None);
        assert_eq!(copy(0, 9), None);
        assert_eq!(copy(2, 0), None);
        let expected = CopyRows {
            from_stride: 0,
            rows: 2,
            columns: 9,
            from_ld: 9,
            to_ld: 16,
            matrices: 1,
        };
        assert_eq!(copy(2, 9), Some(expected));
        // Elements of 4 bytes are two of 2.
        let of_f32 = between(pads_f32, with(2, 9, 9), with(2, 9, 16)).expect("moves");
        let CopyRows {
            columns,
            from_ld,
            to_ld,
            ..
        } = of_f32.rows;
        assert_eq!((of_f32.kind, columns, from_ld, to_ld), (CopyKind::Pad, 18, 18, 32));
        assert_eq!(between(pads, with(2, 9, 9), with(2, 9, 9)), None);
        // A split is always one, unless it is empty.
        let split = |m| between(splits, with(m, 9, 16), with(m, 9, 16));
        assert!(split(1).is_some() && split(0).is_none());
    }

    #[test]
    fn matrices_of_a_batch_are_copied_one_after_the_other() {
        let [pads, ..] = kernels();
        let batch = |ld, stride| {
            let shape = GemmShape::with_ld(2, 8, 9, ld, 8, 8).and_then(|shape| shape.with_batch(5, [stride, 0, 16]));
            shape.expect("valid")
        };
        let between = |from: GemmShape, to: GemmShape| OperandCopy::between(pads, &from, &to, Operand::A);
        let copy = |from_ld, from_stride| between(batch(from_ld, from_stride), batch(16, 32)).map(|copy| copy.rows);
        let expected = CopyRows {
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
