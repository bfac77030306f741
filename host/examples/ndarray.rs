//! Products of `ndarray` matrices: views go in without a copy, the result is an `Array2`.
//!
//! ```text
//! cargo run --release -p tilewright --example ndarray
//! ```
//!
//! A row-major matrix is what BLAS calls not transposed, a column-major one, such as the transpose of a row-major
//! matrix, is transposed. Views with other strides are copied first.

use std::borrow::Cow;
use std::error::Error;

use ndarray::{Array2, ArrayView2, ErrorKind, ShapeError, s};
use tilewright::{Element, Gemm, GemmShape, Options, OutputOf, Transpose, product};

/// A matrix as the library takes it: its elements, and whether its columns are contiguous.
struct Operand<'a, T: Clone> {
    elements: Cow<'a, [T]>,
    transpose: Transpose,
}

impl<'a, T: Element> Operand<'a, T> {
    fn of(matrix: ArrayView2<'a, T>) -> Self {
        let (elements, transpose) = match (matrix.to_slice(), matrix.reversed_axes().to_slice()) {
            (Some(rows), _) => (Cow::Borrowed(rows), Transpose::No),
            (None, Some(columns)) => (Cow::Borrowed(columns), Transpose::Yes),
            (None, None) => (Cow::Owned(matrix.iter().copied().collect()), Transpose::No),
        };
        Self { elements, transpose }
    }
}

/// `a` (m x k) times `b` (k x n), with elements of the type of theirs or `f32`, on the GPU if there is one.
///
/// # Errors
/// As for [`product`]; [`ShapeError`] if the inner extents differ.
fn dot<T: Element, C: OutputOf<T>>(a: ArrayView2<'_, T>, b: ArrayView2<'_, T>) -> Result<Array2<C>, Box<dyn Error>> {
    let ((m, k), (inner, n)) = (a.dim(), b.dim());
    if k != inner {
        return Err(ShapeError::from_kind(ErrorKind::IncompatibleShape).into());
    }
    let (a, b) = (Operand::of(a), Operand::of(b));
    let shape = GemmShape::packed_transposed(m, n, k, [a.transpose, b.transpose])?;
    let product = product(&Gemm::new(shape), &a.elements, &b.elements, None, &Options::default())?;
    Ok(Array2::from_shape_vec((m, n), product.c)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let a = Array2::from_shape_fn((150, 70), |(row, column)| ((3 * row + column) % 7) as f32 - 3.0);
    let b = Array2::from_shape_fn((70, 90), |(row, column)| ((row + 5 * column) % 9) as f32 - 4.0);
    let b_transposed = b.t().to_owned();
    let cases = [
        ("row-major", a.view(), b.view()),
        ("transposed, no copy", a.view(), b_transposed.t()),
        ("columns 30 to 60, copied", a.view(), b.slice(s![.., 30..60])),
        ("every other row, copied", a.slice(s![..;2, ..]), b.view()),
        ("reversed, copied", a.slice(s![..;-1, ..]), b.view()),
    ];
    for (what, a, b) in cases {
        let c: Array2<f32> = dot(a, b)?;
        // Sums of small integers are exact.
        if c != a.dot(&b) {
            return Err(format!("{what}: the product differs from ndarray's").into());
        }
        println!("{what}: {:?} times {:?}, equal to ndarray's product", a.dim(), b.dim());
    }
    Ok(())
}
