//! The shape of one product and the extents of its operands.

use core::fmt;

use crate::args::{GemmArgs, span_elems};
use crate::batch::Batch;
use crate::major::Major;

/// Which matrix of `C = A · B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// `A`, m x k.
    A,
    /// `B`, k x n.
    B,
    /// `C`, m x n.
    C,
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operand::A => "A",
            Operand::B => "B",
            Operand::C => "C",
        })
    }
}

/// Whether a matrix is transposed, in the words of BLAS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Transpose {
    /// As the product reads it: rows of A are rows in memory.
    #[default]
    No,
    /// Transposed: columns of A are rows in memory.
    Yes,
}

impl Transpose {
    /// The letter of BLAS: `N` or `T`.
    pub const fn letter(self) -> char {
        match self {
            Transpose::No => 'N',
            Transpose::Yes => 'T',
        }
    }
}

/// Why a shape cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeError {
    /// A leading dimension is smaller than the row it must hold (both in elements).
    LeadingDimension {
        /// The operand.
        operand: Operand,
        /// The leading dimension given, in elements.
        ld: usize,
        /// The row's length, in elements.
        columns: usize,
    },
    /// An extent or leading dimension exceeds what the kernels index with (`i32::MAX`).
    TooLarge {
        /// The operand.
        operand: Operand,
        /// The offending number.
        extent: usize,
    },
    /// The matrices of C of a batch share elements.
    BatchOverlap {
        /// Products.
        count: usize,
        /// Elements from one C to the next.
        stride: usize,
        /// Rows, columns and leading dimension of each.
        c: [usize; 3],
    },
    /// Groups of rows of an A that is transposed: its rows are not rows in memory.
    GroupsOfColumns,
    /// A batch, or its number of products, that no address reaches the end of.
    BatchTooLarge {
        /// The operand.
        operand: Operand,
        /// Products.
        count: usize,
        /// Elements from one matrix to the next.
        stride: usize,
    },
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ShapeError::LeadingDimension { operand, ld, columns } => {
                write!(
                    f,
                    "leading dimension {ld} of {operand} is smaller than its rows of {columns} elements"
                )
            }
            ShapeError::TooLarge { operand, extent } => {
                write!(
                    f,
                    "extent {extent} of {operand} exceeds the largest supported, {}",
                    i32::MAX
                )
            }
            ShapeError::BatchOverlap {
                count,
                stride,
                c: [rows, columns, ld],
            } => write!(
                f,
                "the {count} matrices of C overlap: they are {stride} elements apart, each has {rows} rows of \
                 {columns} elements, {ld} apart"
            ),
            ShapeError::GroupsOfColumns => f.write_str("A is transposed, and groups are of rows of A as it is stored"),
            ShapeError::BatchTooLarge { operand, count, stride } => write!(
                f,
                "a batch of {count} matrices {operand}, {stride} elements apart, exceeds the largest supported: {} \
                 products, 2^60 elements",
                i32::MAX
            ),
        }
    }
}

impl core::error::Error for ShapeError {}

/// `C (m x n) = op(A) (m x k) · op(B) (k x n)`, row-major, with leading dimensions in elements. `op` leaves a matrix as
/// it is or transposes it.
///
/// A [batch](Self::with_batch) is several such products.
///
/// A value of this type has been checked: every extent fits the kernels' index type, every leading dimension holds a
/// row, the matrices of C of a batch are disjoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GemmShape {
    args: GemmArgs,
    transpose: [Transpose; 2],
    batch: Batch,
}

/// The most elements from the first one of an operand to its last.
const MAX_SPAN: u128 = 1 << 60;

impl GemmShape {
    /// A shape with rows packed without gaps: `lda = k`, `ldb = n`, `ldc = n`.
    pub fn packed(m: usize, n: usize, k: usize) -> Result<Self, ShapeError> {
        Self::with_ld(m, n, k, k, n, n)
    }

    /// A shape with leading dimensions, in elements.
    ///
    /// # Errors
    /// [`ShapeError`] with the operand and the numbers.
    pub fn with_ld(m: usize, n: usize, k: usize, lda: usize, ldb: usize, ldc: usize) -> Result<Self, ShapeError> {
        Self::with_transposes(m, n, k, [Transpose::No; 2], [lda, ldb, ldc])
    }

    /// A shape whose operands are transposed or not, with rows packed without gaps.
    ///
    /// # Errors
    /// [`ShapeError`] with the operand and the numbers.
    pub fn packed_transposed(m: usize, n: usize, k: usize, transpose: [Transpose; 2]) -> Result<Self, ShapeError> {
        let row = |transpose, plain, transposed| match transpose {
            Transpose::No => plain,
            Transpose::Yes => transposed,
        };
        let lds = [row(transpose[0], k, m), row(transpose[1], n, k), n];
        Self::with_transposes(m, n, k, transpose, lds)
    }

    /// The general shape: `transpose` of A and B, leading dimensions of A, B and C as they are stored, in elements.
    ///
    /// # Errors
    /// [`ShapeError`] with the operand and the numbers.
    pub fn with_transposes(
        m: usize,
        n: usize,
        k: usize,
        transpose: [Transpose; 2],
        [lda, ldb, ldc]: [usize; 3],
    ) -> Result<Self, ShapeError> {
        // The signed maximum, so that sums of an index and a tile width cannot wrap in the kernels' u32 arithmetic.
        let index = |operand, extent: usize| {
            if extent > i32::MAX as usize {
                Err(ShapeError::TooLarge { operand, extent })
            } else {
                Ok(extent as u32)
            }
        };
        let leading = |operand, ld: usize, columns: usize| {
            if ld < columns {
                Err(ShapeError::LeadingDimension { operand, ld, columns })
            } else {
                index(operand, ld)
            }
        };
        let row = |operand, transpose, plain, transposed| match transpose {
            Transpose::No => (operand, plain),
            Transpose::Yes => (operand, transposed),
        };
        let (a, a_row) = row(Operand::A, transpose[0], k, m);
        let (b, b_row) = row(Operand::B, transpose[1], n, k);
        Ok(Self {
            args: GemmArgs {
                m: index(Operand::A, m)?,
                n: index(Operand::B, n)?,
                k: index(Operand::A, k)?,
                lda: leading(a, lda, a_row)?,
                ldb: leading(b, ldb, b_row)?,
                ldc: leading(Operand::C, ldc, n)?,
            },
            transpose,
            batch: Batch::ONE,
        })
    }

    /// A strided batch of `count` products of this shape: from one product to the next, A, B and C are `strides`
    /// elements apart. A stride of A or B may be any number; with 0 all products share the matrix. The matrices of C
    /// are one after the other, or side by side in the rows of a larger matrix.
    ///
    /// ```
    /// use tilewright_contract::{GemmShape, Operand};
    ///
    /// // 12 products that share B; C of each product is 64 columns of a matrix with 768.
    /// let shape = GemmShape::with_ld(100, 64, 32, 32, 64, 768)?.with_batch(12, [3200, 0, 64])?;
    /// assert_eq!((shape.batch().count, shape.span_elems(Operand::B)), (12, 32 * 64));
    /// assert_eq!(shape.span_elems(Operand::C), 100 * 768);
    /// # Ok::<(), tilewright_contract::ShapeError>(())
    /// ```
    ///
    /// # Errors
    /// [`ShapeError::BatchOverlap`] and [`ShapeError::BatchTooLarge`], with the numbers.
    pub fn with_batch(&self, count: usize, strides: [usize; 3]) -> Result<Self, ShapeError> {
        let operands = [Operand::A, Operand::B, Operand::C];
        for (operand, stride) in operands.into_iter().zip(strides) {
            let before_last = count.saturating_sub(1) as u128 * stride as u128;
            let span = before_last + self.product().span_elems(operand) as u128;
            if count > i32::MAX as usize || span > MAX_SPAN {
                return Err(ShapeError::BatchTooLarge { operand, count, stride });
            }
        }
        let GemmArgs { m, n, ldc, .. } = self.args;
        let [.., stride] = strides;
        if !Batch::is_disjoint(count as u32, stride as u64, [m, n, ldc]) {
            let c = [m, n, ldc].map(|extent| extent as usize);
            return Err(ShapeError::BatchOverlap { count, stride, c });
        }
        let strides = if count > 1 {
            strides.map(|stride| stride as u64)
        } else {
            [0; 3]
        };
        let count = count as u32;
        Ok(Self {
            batch: Batch {
                count,
                strides,
                groups: false,
            },
            ..*self
        })
    }

    /// The rows of A and C divided among `count` groups, each with a B of its own, `stride` elements after the one
    /// before: what a layer of experts computes once the tokens are sorted by expert. Which rows each group has the
    /// launch says ([`GemmParams::group_ends`](crate::GemmParams)); `m` is the number of all.
    ///
    /// ```
    /// use tilewright_contract::{GemmShape, Operand};
    ///
    /// // 8 experts with weights of 32 x 64, for 100 tokens.
    /// let shape = GemmShape::packed(100, 64, 32)?.with_groups(8, 32 * 64)?;
    /// assert_eq!((shape.batch().count, shape.span_elems(Operand::A)), (8, 100 * 32));
    /// assert_eq!(shape.span_elems(Operand::B), 8 * 32 * 64);
    /// let (of_group, from) = shape.group(3, 10, 25);
    /// assert_eq!((of_group.m(), from), (15, [10 * 32, 3 * 32 * 64, 10 * 64]));
    /// # Ok::<(), tilewright_contract::ShapeError>(())
    /// ```
    ///
    /// # Errors
    /// [`ShapeError::GroupsOfColumns`] for a transposed A, [`ShapeError::BatchTooLarge`] with the numbers.
    pub fn with_groups(&self, count: usize, stride: usize) -> Result<Self, ShapeError> {
        if matches!(self.transpose(Operand::A), Transpose::Yes) {
            return Err(ShapeError::GroupsOfColumns);
        }
        let operand = Operand::B;
        let before_last = count.saturating_sub(1) as u128 * stride as u128;
        // Tiles of rows are counted with one more for each group.
        let rows = count as u64 + u64::from(self.args.m);
        if rows > i32::MAX as u64 || before_last + self.product().span_elems(operand) as u128 > MAX_SPAN {
            return Err(ShapeError::BatchTooLarge { operand, count, stride });
        }
        Ok(Self {
            batch: Batch {
                count: count as u32,
                strides: [0, if count > 1 { stride as u64 } else { 0 }, 0],
                groups: true,
            },
            ..*self
        })
    }

    /// The product of group `index`, which has the rows from `start` to before `end`, and where its A, B and C begin,
    /// in elements from the first of each.
    pub fn group(&self, index: u32, start: u32, end: u32) -> (Self, [usize; 3]) {
        let mut product = self.product();
        product.args.m = end - start;
        let from_row = |operand| match self.offset_of_row(operand, start) {
            from if product.span_elems(operand) > 0 => from,
            _ => 0,
        };
        let starts = [
            from_row(Operand::A),
            self.offset(Operand::B, index),
            from_row(Operand::C),
        ];
        (product, starts)
    }

    /// Elements from the first one of an operand to that of a row.
    const fn offset_of_row(&self, operand: Operand, row: u32) -> usize {
        let (_, _, ld) = self.extents(operand);
        row as usize * ld
    }

    /// [`with_batch`](Self::with_batch) with each matrix right after the one before, rows of their leading dimensions
    /// included: `rows * ld` elements apart.
    ///
    /// # Errors
    /// As for [`with_batch`](Self::with_batch).
    pub fn with_packed_batch(&self, count: usize) -> Result<Self, ShapeError> {
        let strides = [Operand::A, Operand::B, Operand::C].map(|operand| {
            let (rows, _, ld) = self.extents(operand);
            rows * ld
        });
        self.with_batch(count, strides)
    }

    /// The products of the batch: [`Batch::ONE`] of a shape that was made without.
    pub const fn batch(&self) -> Batch {
        self.batch
    }

    /// One product of the batch.
    pub const fn product(&self) -> Self {
        Self {
            batch: Batch::ONE,
            ..*self
        }
    }

    /// The same with other distances between the rows of A and of B, in elements as they are stored.
    ///
    /// # Errors
    /// [`ShapeError`] with the operand and the numbers.
    pub fn with_operand_lds(&self, lds: [usize; 2]) -> Result<Self, ShapeError> {
        let [a, b, _] = self.batch.strides.map(|stride| stride as usize);
        self.with_operand_layouts(lds, [a, b])
    }

    /// The same with other distances between the rows of A and of B, and between their matrices of a batch.
    pub(crate) fn with_operand_layouts(&self, [lda, ldb]: [usize; 2], [a, b]: [usize; 2]) -> Result<Self, ShapeError> {
        let lds = [lda, ldb, self.args.ldc as usize];
        let product = Self::with_transposes(self.m(), self.n(), self.k(), self.transpose, lds)?;
        match (self.batch.groups, self.batch.count as usize) {
            (true, count) => product.with_groups(count, b),
            (false, count) => product.with_batch(count, [a, b, self.batch.strides[2] as usize]),
        }
    }

    /// The same C with an empty K, so that A and B have no elements: what alpha 0 leaves of a product, which BLAS
    /// computes without reading them.
    pub const fn without_k(mut self) -> Self {
        self.args.k = 0;
        self
    }

    /// Rows of A and C.
    pub const fn m(&self) -> usize {
        self.args.m as usize
    }

    /// Columns of B and C.
    pub const fn n(&self) -> usize {
        self.args.n as usize
    }

    /// Columns of A, rows of B.
    pub const fn k(&self) -> usize {
        self.args.k as usize
    }

    /// Whether an operand is transposed; C never is.
    pub const fn transpose(&self, operand: Operand) -> Transpose {
        match operand {
            Operand::A => self.transpose[0],
            Operand::B => self.transpose[1],
            Operand::C => Transpose::No,
        }
    }

    /// The majors of A and B.
    pub const fn majors(&self) -> [Major; 2] {
        Major::of_both(self.transpose)
    }

    /// Whether neither A nor B is transposed.
    pub const fn is_plain(&self) -> bool {
        matches!(self.transpose, [Transpose::No, Transpose::No])
    }

    /// (rows, columns, leading dimension) of an operand as it is stored, all in elements.
    pub const fn extents(&self, operand: Operand) -> (usize, usize, usize) {
        let (rows, columns, ld) = self.args.extents(operand);
        match self.transpose(operand) {
            Transpose::No => (rows, columns, ld),
            Transpose::Yes => (columns, rows, ld),
        }
    }

    /// Elements from the first to the last element of an operand, both included: `(rows - 1) * ld + columns`, 0 when
    /// empty; of a batch `(count - 1) * stride` more.
    pub const fn span_elems(&self, operand: Operand) -> usize {
        let (rows, columns, ld) = self.extents(operand);
        match (span_elems(rows, columns, ld), self.batch.count) {
            (0, _) | (_, 0) => 0,
            (span, count) => (count as usize - 1) * self.batch.stride(operand) as usize + span,
        }
    }

    /// Elements from the first one of an operand to that of product `index` of the batch; 0 of an empty operand.
    pub const fn offset(&self, operand: Operand, index: u32) -> usize {
        let (rows, columns, _) = self.extents(operand);
        if rows == 0 || columns == 0 {
            0
        } else {
            index as usize * self.batch.stride(operand) as usize
        }
    }

    /// Where A, B and C of product `index` of the batch start: [`offset`](Self::offset)s.
    pub fn starts(&self, index: u32) -> [usize; 3] {
        [Operand::A, Operand::B, Operand::C].map(|operand| self.offset(operand, index))
    }

    /// Multiplications and additions, `2 m n k` for each product, or for the rows of all groups together.
    pub const fn flops(&self) -> f64 {
        2.0 * self.args.m as f64 * self.args.n as f64 * self.args.k as f64 * self.matrices_of_c() as f64
    }

    /// Matrices of C.
    pub const fn matrices_of_c(&self) -> u32 {
        self.batch.matrices(Operand::C)
    }

    /// The form that the kernels take.
    pub const fn args(&self) -> GemmArgs {
        self.args
    }
}

impl fmt::Display for GemmShape {
    /// Writes `m x n x k`, of a batch `count x (m x n x k)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GemmArgs { m, n, k, .. } = self.args;
        match self.batch {
            Batch {
                groups: true, count, ..
            } => write!(f, "{m} x {n} x {k} in {count} groups"),
            Batch { count: 1, .. } => write!(f, "{m} x {n} x {k}"),
            Batch { count, .. } => write!(f, "{count} x ({m} x {n} x {k})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::ToOwned;
    use std::format;
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_batch_spans_all_of_its_matrices() {
        let shape = GemmShape::with_ld(3, 4, 5, 6, 7, 8).expect("valid");
        let batch = shape.with_batch(10, [2, 0, 30]).expect("valid");
        let spans = [Operand::A, Operand::B, Operand::C].map(|operand| batch.span_elems(operand));
        assert_eq!(spans, [2 * 6 + 5 + 9 * 2, 4 * 7 + 4, 2 * 8 + 4 + 9 * 30]);
        assert_eq!(
            (batch.offset(Operand::C, 9), batch.flops()),
            (270, 10.0 * shape.flops())
        );
        assert_eq!(batch.to_string(), "10 x (3 x 4 x 5)");
        assert_eq!((batch.product(), shape.to_string()), (shape, "3 x 4 x 5".to_owned()));
        let packed = shape.with_packed_batch(10).expect("valid");
        assert_eq!(packed.batch().strides, [18, 35, 24]);
        // One product is one product, whatever its strides.
        assert_eq!(shape.with_batch(1, [9, 9, 9]), Ok(shape));
        assert_eq!(shape.with_batch(0, [0; 3]).expect("empty").span_elems(Operand::A), 0);
        assert_eq!(batch.without_k().span_elems(Operand::A), 0);
    }

    #[test]
    fn groups_share_the_rows_of_one_matrix() {
        let shape = GemmShape::with_ld(9, 4, 5, 6, 7, 8).expect("valid");
        let groups = shape.with_groups(3, 40).expect("valid");
        let spans = [Operand::A, Operand::B, Operand::C].map(|operand| groups.span_elems(operand));
        assert_eq!(spans, [8 * 6 + 5, 2 * 40 + 4 * 7 + 4, 8 * 8 + 4]);
        assert_eq!(groups.flops(), shape.flops());
        assert_eq!(groups.to_string(), "9 x 4 x 5 in 3 groups");
        let (product, from) = groups.group(2, 7, 9);
        assert_eq!((product.m(), product.batch(), from), (2, Batch::ONE, [42, 80, 56]));
        // An empty group starts nowhere.
        let (empty, from) = groups.group(2, 9, 9);
        assert_eq!((empty.m(), from), (0, [0, 80, 0]));
        let transposed = GemmShape::packed_transposed(9, 4, 5, [Transpose::Yes, Transpose::No]).expect("valid");
        let refused =
            [transposed.with_groups(3, 20), shape.with_groups(1 << 31, 0)].map(|shape| shape.expect_err("refused"));
        assert_eq!(
            refused[0].to_string(),
            "A is transposed, and groups are of rows of A as it is stored"
        );
        assert!(
            refused[1].to_string().starts_with("a batch of 2147483648 matrices B"),
            "{}",
            refused[1]
        );
    }

    #[test]
    fn batches_that_overlap_in_c_or_have_no_end_are_refused_with_the_numbers() {
        let shape = GemmShape::with_ld(3, 4, 5, 6, 7, 8).expect("valid");
        let refused = |count, strides| shape.with_batch(count, strides).expect_err("refused").to_string();
        assert_eq!(
            refused(2, [0, 0, 19]),
            "the 2 matrices of C overlap: they are 19 elements apart, each has 3 rows of 4 elements, 8 apart"
        );
        let too_large = "exceeds the largest supported: 2147483647 products, 2^60 elements";
        assert_eq!(
            refused(2, [1 << 60, 0, 20]),
            format!("a batch of 2 matrices A, {} elements apart, {too_large}", 1_u64 << 60)
        );
        assert!(refused(1 << 31, [0, 0, 20]).ends_with(too_large));
        // Two C side by side in rows of 8.
        assert!(shape.with_batch(2, [0, 0, 4]).is_ok());
    }
}
