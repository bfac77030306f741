//! The check for products that are too large to compute twice.

use std::collections::BTreeSet;
use std::fmt;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use rayon::prelude::*;
use tilewright_contract::{Activation, Operand};

use super::Tally;
use super::bound::{F64_ROUNDOFF, gamma, smallest_positive, unit_roundoff};
use super::expected::{ExpectedProduct, Sum};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::plain::Plain;
use crate::problem::OutputOf;

/// Random vectors of Freivalds' check. Two defects of one row can cancel in one vector; in two they would have to
/// twice.
pub(super) const VECTORS: usize = 2;

/// Rows compared in full: those whose residuals stand out most.
const SUSPECTS: usize = 8;

/// Rows and columns of C that one task compares: few enough for many tasks, while B is read once for several rows.
const ROWS_PER_TASK: usize = SUSPECTS / 2;
const COLUMNS_PER_TASK: usize = 256;

/// Sums that are added to by turns, so that no addition waits for the one before.
const LANES: usize = 8;

/// Random elements compared besides corners and tile edges.
const RANDOM_ELEMENTS: usize = 256;

/// Tile widths whose first and last edges are compared.
const EDGES: [usize; 4] = [16, 32, 64, 128];

/// What the sample of a product, or of several, says.
#[derive(Default)]
pub(super) struct Sample {
    pub(super) tally: Tally,
    pub(super) rows: Rows,
}

/// Rows of a sample.
#[derive(Clone, Copy, Default)]
pub(super) struct Rows {
    /// Those that Freivalds' check proves wrong.
    pub(super) failing: usize,
    /// Those that were compared in full.
    pub(super) compared: usize,
}

impl Sample {
    pub(super) fn merge(self, other: Self) -> Self {
        Self {
            tally: self.tally.merge(other.tally),
            rows: Rows {
                failing: self.rows.failing + other.rows.failing,
                compared: self.rows.compared + other.rows.compared,
            },
        }
    }
}

impl<T: Element, C: OutputOf<T>> ExpectedProduct<'_, T, C> {
    /// [`Expected::sampled`](super::Expected::sampled) of one product.
    pub(super) fn sampled(&self, c: &[C], mut rng: ChaCha8Rng) -> Result<Sample> {
        let shape = &self.plain.shape;
        let (rows, columns, ldc) = shape.extents(Operand::C);
        let is_linear = self.epilogue.activation == Activation::None;
        let residuals = match is_linear {
            true => self.residuals(c, &mut rng)?,
            // Below 1, which would prove a row wrong.
            false => (0..rows).map(|_| component(&mut rng).abs()).collect(),
        };

        let mut suspects: Vec<usize> = (0..rows).collect();
        suspects.sort_by(|&i, &j| residuals[j].total_cmp(&residuals[i]));
        suspects.truncate(SUSPECTS);
        let failing_rows = residuals.iter().filter(|&&residual| residual > 1.0).count();
        let rows_compared = suspects.len();

        let elements = sample(rows, columns, &mut rng)
            .into_iter()
            .filter(|(row, _)| !suspects.contains(row));
        let tally = elements
            .collect::<Vec<_>>()
            .into_par_iter()
            .map(|at @ (row, column)| self.compare_element(at, self.element(row, column), c[row * ldc + column]))
            .reduce(Tally::default, Tally::merge);
        let columns_of_tasks = (0..columns).into_par_iter().step_by(COLUMNS_PER_TASK);
        let of_suspects = columns_of_tasks
            .flat_map(|first| {
                let of_task = first..columns.min(first + COLUMNS_PER_TASK);
                let rows = suspects.par_chunks(ROWS_PER_TASK);
                rows.map(move |rows| self.compare_rows(rows, of_task.clone(), c))
            })
            .reduce(Tally::default, Tally::merge);
        let mut tally = tally.merge(of_suspects);
        // Each failing row holds a wrong element, compared or not.
        tally.mismatches = tally.mismatches.max(failing_rows);
        Ok(Sample {
            tally,
            rows: Rows {
                failing: failing_rows,
                compared: rows_compared,
            },
        })
    }

    /// For each row of C the difference of `alpha A (B x) + beta C x + bias x`, with C as it was before, and `C x`,
    /// with C as it is now, in units of what its elements' bounds allow, for the worse vector. Infinite where the row
    /// holds a NaN or an infinity.
    fn residuals(&self, c: &[C], rng: &mut ChaCha8Rng) -> Result<Vec<f64>> {
        let Self { plain, bound, .. } = self;
        let Plain { shape, a, b } = *plain;
        let (rows, inner, lda) = shape.extents(Operand::A);
        let (_, columns, ldb) = shape.extents(Operand::B);
        let (_, _, ldc) = shape.extents(Operand::C);
        if rows == 0 || columns == 0 {
            return Ok(vec![0.0; rows]);
        }
        let x: Vec<[f64; VECTORS]> = (0..columns).map(|_| std::array::from_fn(|_| component(rng))).collect();

        // B x, and the row sums of |B|, which are not below |B| |x|.
        let y: Vec<([f64; VECTORS], f64)> = (0..inner)
            .into_par_iter()
            .map(|k| dot(&b[k * ldb..][..columns], &x))
            .collect();
        if y.iter().any(|(_, magnitude)| !magnitude.is_finite()) {
            return Err(unusable(Operand::B));
        }
        let (bx, b_sums): (Vec<_>, Vec<_>) = y.into_iter().unzip();

        let (bias, bias_magnitude) = match self.epilogue.bias {
            Some(bias) => dot(&bias[..columns], &x),
            None => ([0.0; VECTORS], 0.0),
        };
        if !bias_magnitude.is_finite() {
            return Err(unusable("the bias"));
        }

        // The roundings of y, of A y, of C x before and after, of the bias, and those of the bounds themselves: fewer
        // than n + k + 13 each.
        let evaluation = 2.0 * gamma(columns + inner + 13, F64_ROUNDOFF);
        let sums = T::DTYPE.accumulator();
        let rounding = if C::DTYPE == sums { 0.0 } else { unit_roundoff(C::DTYPE) };
        let underflow = bound.absolute
            + if C::DTYPE == sums {
                0.0
            } else {
                smallest_positive(C::DTYPE)
            };
        let [alpha, beta] = self.epilogue.factors.to_f64();
        (0..rows)
            .into_par_iter()
            .map(|row| {
                // With no elements along K, A may have none at all, however far apart its rows are.
                let a_row = if inner == 0 { &[][..] } else { &a[row * lda..][..inner] };
                let (ay, _) = dot(a_row, &bx);
                let [magnitude] = added(a_row.iter().zip(&b_sums).map(|(a, b)| [a.to_f64().abs() * b]));
                if !magnitude.is_finite() {
                    return Err(unusable(Operand::A));
                }
                let (before, before_magnitude) = match self.before {
                    Some(before) => dot(&before[row * ldc..][..columns], &x),
                    None => ([0.0; VECTORS], 0.0),
                };
                if !before_magnitude.is_finite() {
                    return Err(unusable(Operand::C));
                }
                let expected: [f64; VECTORS] = std::array::from_fn(|i| alpha * ay[i] + beta * before[i] + bias[i]);
                let magnitude = alpha.abs() * magnitude + beta.abs() * before_magnitude + bias_magnitude;
                let c_row = &c[row * ldc..][..columns];
                let (mut cx, mut c_sum) = dot(c_row, &x);
                if !c_sum.is_finite() {
                    // A rightful overflow: the sum goes on with the value that it stands for.
                    let mut finite: Vec<f64> = c_row.iter().map(|c| c.to_f64()).collect();
                    for (column, c) in finite.iter_mut().enumerate().filter(|(_, c)| !c.is_finite()) {
                        let Sum { value, magnitude, .. } = self.element(row, column);
                        if !bound.around::<C>(value, magnitude, Activation::None).admits(*c) {
                            return Ok(f64::INFINITY);
                        }
                        *c = value;
                    }
                    (cx, c_sum) = dot(&finite, &x);
                }
                let tolerance = (bound.relative + evaluation) * magnitude
                    + (rounding + evaluation) * c_sum
                    + underflow * columns as f64;
                let differences = expected.iter().zip(cx).map(|(expected, cx)| (expected - cx).abs());
                let difference = differences.fold(0.0, f64::max);
                Ok(if difference == 0.0 { 0.0 } else { difference / tolerance })
            })
            .collect()
    }
}

/// A component of a random vector: a random sign, and a magnitude in [1/2, 1).
fn component(rng: &mut ChaCha8Rng) -> f64 {
    let bits = rng.next_u64();
    let magnitude = 0.5 + (bits >> 12) as f64 * (-53.0_f64).exp2();
    if bits & 1 == 0 { magnitude } else { -magnitude }
}

/// The products of a row with the vectors, and the sum of the row's magnitudes.
fn dot<T: Element>(row: &[T], x: &[[f64; VECTORS]]) -> ([f64; VECTORS], f64) {
    let terms = row.iter().zip(x).map(|(element, x)| {
        let element = element.to_f64();
        [element * x[0], element * x[1], element.abs()]
    });
    let [first, second, magnitude] = added(terms);
    ([first, second], magnitude)
}

/// The sums of several terms of each element.
fn added<const N: usize>(mut terms: impl Iterator<Item = [f64; N]>) -> [f64; N] {
    let mut lanes = [[0.0; N]; LANES];
    loop {
        for lane in &mut lanes {
            let Some(terms) = terms.next() else {
                return std::array::from_fn(|i| lanes.iter().map(|lane| lane[i]).sum());
            };
            lane.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
    }
}

fn unusable(operand: impl fmt::Display) -> Error {
    Error::InvalidArgument(format!(
        "{operand} holds an infinity, a NaN or numbers whose f64 sums overflow, which the sampled check cannot see \
         past: compare in full"
    ))
}

/// Rows and columns of elements of C to compare: corners, tile edges, random ones. Each once.
fn sample(rows: usize, columns: usize, rng: &mut ChaCha8Rng) -> BTreeSet<(usize, usize)> {
    if rows == 0 || columns == 0 {
        return BTreeSet::new();
    }
    let (edge_rows, edge_columns) = (edges(rows), edges(columns));
    let at_edges = edge_rows
        .iter()
        .flat_map(|&row| edge_columns.iter().map(move |&column| (row, column)));
    // The remainder favours small indices by less than 2⁻³², which does not matter here.
    let mut index = |extent: usize| (rng.next_u64() % extent as u64) as usize;
    let random = (0..RANDOM_ELEMENTS).map(|_| (index(rows), index(columns)));
    at_edges.chain(random).collect()
}

/// The first and last index, and those on both sides of the first and of the last edge of each usual tile.
fn edges(extent: usize) -> BTreeSet<usize> {
    let around = |edge: usize| [edge.wrapping_sub(1), edge];
    let tiles = EDGES.into_iter().flat_map(|tile| [tile, (extent - 1) / tile * tile]);
    [0, extent - 1]
        .into_iter()
        .chain(tiles.flat_map(around))
        .filter(|&index| index < extent)
        .collect()
}
