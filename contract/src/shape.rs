//! The shape of a product and the extents of its operands.

mod batches;

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
        self.with_operand_layouts(self.transpose, lds, [a, b])
    }

    /// The same with A and B stored in another way: transposed or not, with other distances between their rows, and
    /// between their matrices of a batch.
    pub(crate) fn with_operand_layouts(
        &self,
        transpose: [Transpose; 2],
        [lda, ldb]: [usize; 2],
        [a, b]: [usize; 2],
    ) -> Result<Self, ShapeError> {
        let lds = [lda, ldb, self.args.ldc as usize];
        let product = Self::with_transposes(self.m(), self.n(), self.k(), transpose, lds)?;
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
