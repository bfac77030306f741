//! The product on the CPU.

use rayon::prelude::*;

use super::{ScaledGemm, ScaledMatrix};
use crate::element::Element;
use crate::problem::activate;

/// An element of C.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Exact {
    /// Its value.
    pub value: f64,
    /// What its rounding errors are relative to: the sum of all that is added, each without its sign.
    pub magnitude: f64,
}

/// C in f64, row by row: elements times scales are exact, their products are exact, sums are rounded to f64, and so is
/// what follows. `before` is what C holds before, which beta 0 does not read.
///
/// # Panics
/// If `before` is not m x n elements, or the bias is shorter than n.
pub fn reference<M: ScaledMatrix, E: Element<Accumulator = f32>>(
    gemm: &ScaledGemm<'_, M, E>,
    before: Option<&[f64]>,
) -> Vec<f64> {
    exact(gemm, before).into_iter().map(|element| element.value).collect()
}

/// The same with the magnitude of each.
pub(super) fn exact<M: ScaledMatrix, E: Element<Accumulator = f32>>(
    gemm: &ScaledGemm<'_, M, E>,
    before: Option<&[f64]>,
) -> Vec<Exact> {
    let [m, n, _] = gemm.extents();
    let (alpha, beta) = (f64::from(gemm.alpha()), f64::from(gemm.epilogue.factors.beta));
    let before = before.filter(|_| beta != 0.0);
    assert!(
        before.is_none_or(|before| before.len() == m * n),
        "C holds m x n elements"
    );
    let columns: Vec<_> = (0..n).into_par_iter().map(|column| gemm.b.row(column)).collect();
    let mut c = vec![Exact::default(); m * n];
    c.par_chunks_mut(n.max(1)).enumerate().for_each(|(row, to)| {
        let of_a = gemm.a.row(row);
        for (column, (to, of_b)) in to.iter_mut().zip(&columns).enumerate() {
            let (mut sum, mut magnitude) = (0.0, 0.0);
            for product in of_a.iter().zip(of_b).map(|(a, b)| a * b) {
                sum += product;
                magnitude += product.abs();
            }
            let source = before.map_or(0.0, |before| beta * before[row * n + column]);
            let bias = gemm.epilogue.bias.map_or(0.0, |bias| bias[column].to_f64());
            let x = alpha * sum + source + bias;
            *to = Exact {
                value: activate(gemm.epilogue.activation, x),
                magnitude: alpha.abs() * magnitude + source.abs() + bias.abs(),
            };
        }
    });
    c
}
