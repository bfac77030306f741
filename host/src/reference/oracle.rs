//! The plain product in f64: slow, without tiles, and simple enough to be believed.

use std::ops::Range;

use rayon::prelude::*;
use tilewright_contract::{GemmShape, Operand};

use super::check_lengths;
use crate::element::Element;
use crate::error::Result;
use crate::plain::Plain;
use crate::problem::{check_group_ends, products};

/// Rows of C that share one pass over B, which is what a row costs most.
const ROWS_PER_PASS: usize = 8;

/// `C = A · B` in f64: each element one sum, in the order of k. Returns m x n values, packed, row-major, for each
/// product of a batch.
///
/// Products of elements of up to 24 significand bits are exact in f64. The error of a sum is at most `k 2⁻⁵³ / (1 - k
/// 2⁻⁵³)` of the sum of its terms' magnitudes (Higham, "Accuracy and Stability of Numerical Algorithms", 3.1).
///
/// # Errors
/// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a slice shorter than its operand, and for groups of
/// rows.
pub fn oracle<T: Element>(shape: &GemmShape, a: &[T], b: &[T]) -> Result<Vec<f64>> {
    check_lengths(shape, &[(Operand::A, a.len()), (Operand::B, b.len())])?;
    check_group_ends(shape, None)?;
    let (rows, columns, _) = shape.extents(Operand::C);
    let mut values = vec![0.0; shape.batch().count as usize * rows * columns];
    if values.is_empty() {
        return Ok(values);
    }
    let all_rows: Vec<usize> = (0..rows).collect();
    for (values, (product, [from_a, from_b, _])) in values.chunks_mut(rows * columns).zip(products(shape, None)) {
        let Plain { shape, a, b } = &Plain::new(&product, &a[from_a..], &b[from_b..]);
        values
            .par_chunks_mut(ROWS_PER_PASS * columns)
            .zip(all_rows.par_chunks(ROWS_PER_PASS))
            .for_each(|(values, rows)| {
                values.copy_from_slice(&row_products(shape, a, b, rows, 0..columns).values);
            });
    }
    Ok(values)
}

/// Some rows of `A · B` and of `|A| · |B|`.
pub(crate) struct Products {
    /// `A · B`, one packed row of values after the other.
    pub(crate) values: Vec<f64>,
    /// `|A| · |B|`, likewise: what the error of `values` is measured by.
    pub(crate) magnitudes: Vec<f64>,
}

/// The given rows of `A · B` and `|A| · |B|` in f64, as far as they are in these columns, in the order of k. The
/// slices hold their operands.
pub(crate) fn row_products<T: Element>(
    shape: &GemmShape,
    a: &[T],
    b: &[T],
    rows: &[usize],
    columns: Range<usize>,
) -> Products {
    let (_, inner, lda) = shape.extents(Operand::A);
    let (_, _, ldb) = shape.extents(Operand::B);
    let width = columns.len();
    let mut values = vec![0.0; rows.len() * width];
    let mut magnitudes = values.clone();
    if width > 0 {
        let mut b_row = vec![0.0; width];
        for k in 0..inner {
            b_row
                .iter_mut()
                .zip(&b[k * ldb + columns.start..])
                .for_each(|(wide, b)| *wide = b.to_f64());
            let sums = values.chunks_exact_mut(width).zip(magnitudes.chunks_exact_mut(width));
            for (&row, (values, magnitudes)) in rows.iter().zip(sums) {
                let a = a[row * lda + k].to_f64();
                for ((value, magnitude), b) in values.iter_mut().zip(magnitudes).zip(&b_row) {
                    let product = a * b;
                    *value += product;
                    *magnitude += product.abs();
                }
            }
        }
    }
    Products { values, magnitudes }
}

/// One element of `A · B` and of `|A| · |B|`; the same numbers as those of [`row_products`].
pub(crate) fn element_product<T: Element>(
    shape: &GemmShape,
    a: &[T],
    b: &[T],
    row: usize,
    column: usize,
) -> (f64, f64) {
    let (_, inner, lda) = shape.extents(Operand::A);
    let (_, _, ldb) = shape.extents(Operand::B);
    (0..inner).fold((0.0, 0.0), |(value, magnitude), k| {
        let product = a[row * lda + k].to_f64() * b[k * ldb + column].to_f64();
        (value + product, magnitude + product.abs())
    })
}
