//! Which of candle's layouts are products that tilewright computes without a copy.

use candle_core::{DType, Error, Layout, Result, Shape};
use tilewright::{GemmShape, Transpose};

use crate::op::NAME;

/// A batch of products, `C[i] (m x n) = A[i] (m x k) · B[i] (k x n)`, on two layouts.
#[derive(Debug)]
pub(crate) struct BatchedGemm {
    /// One of the products.
    pub(crate) shape: GemmShape,
    /// Elements from the start of the storage to A and B, for each product.
    pub(crate) offsets: Vec<[usize; 2]>,
    /// The shape of the result, which is contiguous.
    pub(crate) output: Shape,
}

impl BatchedGemm {
    /// The products of two tensors: the last two dimensions are multiplied, those before them are equal.
    ///
    /// # Errors
    /// candle's own: for dimensions or types that do not go together, and for strides that [`Matrices::of`] does not
    /// take.
    pub(crate) fn of(a: (&Layout, DType), b: (&Layout, DType)) -> Result<Self> {
        let ((a, a_dtype), (b, b_dtype)) = (a, b);
        if a_dtype != b_dtype {
            let (lhs, rhs) = (a_dtype, b_dtype);
            return Err(Error::DTypeMismatchBinaryOp { lhs, rhs, op: NAME }.bt());
        }
        let mismatch = || {
            let (lhs, rhs) = (a.shape().clone(), b.shape().clone());
            Error::ShapeMismatchBinaryOp { lhs, rhs, op: NAME }.bt()
        };
        let (Some((batch, &[m, k])), Some((b_batch, &[b_k, n]))) =
            (a.dims().split_last_chunk(), b.dims().split_last_chunk())
        else {
            return Err(mismatch());
        };
        if batch != b_batch || k != b_k {
            return Err(mismatch());
        }
        let strides = || Error::RequiresContiguous { op: NAME }.bt();
        let [a, b] = [
            Matrices::of(a).ok_or_else(strides)?,
            Matrices::of(b).ok_or_else(strides)?,
        ];
        let shape = GemmShape::with_transposes(m, n, k, [a.transpose, b.transpose], [a.ld, b.ld, n]);
        Ok(Self {
            shape: shape.map_err(Error::wrap)?,
            offsets: a.offsets.into_iter().zip(b.offsets).map(<[usize; 2]>::from).collect(),
            output: Shape::from(batch).extend(&[m, n]),
        })
    }
}

/// A tensor as a batch of matrices that a product can read in place.
#[derive(Debug, PartialEq, Eq)]
pub struct Matrices {
    /// Whether columns are contiguous.
    pub transpose: Transpose,
    /// The leading dimension, in elements: from one row to the next, or from one column.
    pub ld: usize,
    /// Elements from the start of the storage to each matrix.
    pub offsets: Vec<usize>,
}

impl Matrices {
    /// The matrices of the last two dimensions. `None` where neither rows nor columns are contiguous, and where they
    /// overlap, as those of a broadcast tensor do. The dimensions before them may have any strides.
    pub fn of(layout: &Layout) -> Option<Self> {
        let (batch, &[rows, columns]) = layout.dims().split_last_chunk()?;
        let (batch_strides, &[row_stride, column_stride]) = layout.stride().split_last_chunk()?;
        // The stride of a dimension of one element says nothing.
        let ld = |lines: usize, line_stride: usize, len: usize, stride: usize| match lines > 1 {
            _ if len > 1 && stride != 1 => None,
            false => Some(len),
            true => (line_stride >= len).then_some(line_stride),
        };
        let (transpose, ld) = match ld(rows, row_stride, columns, column_stride) {
            Some(ld) => (Transpose::No, ld),
            None => (Transpose::Yes, ld(columns, column_stride, rows, row_stride)?),
        };
        let mut offsets = vec![layout.start_offset()];
        for (&len, &stride) in batch.iter().zip(batch_strides) {
            offsets = offsets
                .iter()
                .flat_map(|first| (0..len).map(move |at| first + at * stride))
                .collect();
        }
        Some(Self { transpose, ld, offsets })
    }

    /// Whether every matrix starts at a multiple of so many elements.
    pub(crate) fn start_at_multiples_of(&self, elems: usize) -> bool {
        self.offsets.iter().all(|offset| offset.is_multiple_of(elems))
    }
}
