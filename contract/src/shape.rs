//! The shape of one product and the extents of its operands.

use core::fmt;

use crate::args::GemmArgs;

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
        }
    }
}

impl core::error::Error for ShapeError {}

/// `C (m x n) = A (m x k) · B (k x n)`, row-major, with leading dimensions in elements.
///
/// A value of this type has been checked: every extent fits the kernels' index type, every leading dimension holds a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GemmShape {
    args: GemmArgs,
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
        Ok(Self {
            args: GemmArgs {
                m: index(Operand::A, m)?,
                n: index(Operand::B, n)?,
                k: index(Operand::A, k)?,
                lda: leading(Operand::A, lda, k)?,
                ldb: leading(Operand::B, ldb, n)?,
                ldc: leading(Operand::C, ldc, n)?,
            },
        })
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

    /// (rows, columns, leading dimension) of an operand, all in elements.
    pub const fn extents(&self, operand: Operand) -> (usize, usize, usize) {
        self.args.extents(operand)
    }

    /// Elements from the first to the last element of an operand, both included: `(rows - 1) * ld + columns`, 0 when empty.
    pub const fn span_elems(&self, operand: Operand) -> usize {
        self.args.span_elems(operand)
    }

    /// Multiplications and additions of the product, `2 m n k`.
    pub const fn flops(&self) -> f64 {
        2.0 * self.args.m as f64 * self.args.n as f64 * self.args.k as f64
    }

    /// The form that the kernels take.
    pub const fn args(&self) -> GemmArgs {
        self.args
    }
}

impl fmt::Display for GemmShape {
    /// Writes `m x n x k`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {} x {}", self.args.m, self.args.n, self.args.k)
    }
}
