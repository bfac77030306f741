//! What C should be, and the comparison of single elements and rows with it.

use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;
use tilewright_contract::{Activation, GemmShape, Operand, Precision};

use super::bound::Bound;
use super::sampled::{Sample, VECTORS};
use super::{DEFAULT_SEED, FULL_LIMIT_PRODUCTS, Method, Mismatch, Tally, Verdict, Verify};
use crate::element::{Accumulator, Element};
use crate::error::{Error, Result};
use crate::plain::Plain;
use crate::problem::{Epilogue, Factors, OutputOf, check_bias, check_group_ends, products};
use crate::random;
use crate::reference::{check_lengths, element_product, row_products};

/// Rows of C that are compared by one task.
const ROWS_PER_TASK: usize = 8;

/// An element before its activation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    /// Its value in f64.
    pub(super) value: f64,
    /// The magnitudes of its terms, added up.
    pub(super) magnitude: f64,
    /// What no number on the way to it exceeds, whatever the order.
    reach: f64,
}

/// What C should be: `op(A) · op(B)`, or `activation(alpha · op(A) · op(B) + beta · C + bias)`, of each product of a
/// batch. C has the type of A and B or another one.
pub struct Expected<'a, T: Element, C: OutputOf<T> = T> {
    shape: GemmShape,
    group_ends: Option<&'a [u32]>,
    a: &'a [T],
    b: &'a [T],
    epilogue: Epilogue<&'a [T], T::Accumulator>,
    /// C before, where beta is not 0.
    before: Option<&'a [C]>,
    precision: Precision,
    bound: Bound,
    /// The operands of each product, made by the first check for all that follow: to transpose them takes longer.
    plain: OnceLock<Vec<Plain<'a, T>>>,
}

/// What C of one product should be.
pub(super) struct ExpectedProduct<'a, T: Element, C: OutputOf<T>> {
    pub(super) plain: &'a Plain<'a, T>,
    pub(super) epilogue: Epilogue<&'a [T], T::Accumulator>,
    /// C before, where beta is not 0.
    pub(super) before: Option<&'a [C]>,
    pub(super) bound: Bound,
}

impl<'a, T: Element> Expected<'a, T> {
    /// The product of row-major slices with the leading dimensions of `shape`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a slice shorter than its operand, or a K for which there is no bound (`K u >= 1`:
    /// from 2²⁴ on where sums are taken in f32).
    pub fn product(shape: &GemmShape, a: &'a [T], b: &'a [T]) -> Result<Self> {
        Self::of_groups(shape, None, a, b)
    }

    /// [`product`](Self::product), of groups of rows that end where `group_ends` says, if the shape has some. Rows of
    /// no group are not looked at.
    ///
    /// # Errors
    /// As for [`product`](Self::product), and for ends that are none of this shape.
    pub fn of_groups(shape: &GemmShape, group_ends: Option<&'a [u32]>, a: &'a [T], b: &'a [T]) -> Result<Self> {
        let bound = Bound::new::<T>(shape.k(), Precision::Ieee)?;
        check_lengths(shape, &[(Operand::A, a.len()), (Operand::B, b.len())])?;
        check_group_ends(shape, group_ends)?;
        Ok(Self {
            shape: *shape,
            group_ends,
            a,
            b,
            epilogue: Epilogue::default(),
            before: None,
            precision: Precision::Ieee,
            bound,
            plain: OnceLock::new(),
        })
    }

    /// The same product, computed in this arithmetic: with what it admits besides.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a K without a bound.
    pub fn with_precision(self, precision: Precision) -> Result<Self> {
        let bound = Bound::new::<T>(self.shape.k(), precision)?;
        Ok(Self {
            precision,
            bound,
            ..self
        })
    }

    /// The same product scaled and added to what C holds `before`, which is not read where beta is 0.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a slice shorter than C, a factor that is no finite number, or a K without a
    /// bound.
    pub fn scaled(self, factors: Factors<T::Accumulator>, before: &'a [T]) -> Result<Self> {
        self.with_epilogue(factors.into(), before)
    }

    /// The same product with all that can follow it, and C of the type of `before`, which is not read where beta is 0.
    ///
    /// # Errors
    /// As for [`Expected::scaled`], and for a bias shorter than a row of C.
    pub fn with_epilogue<C: OutputOf<T>>(
        self,
        epilogue: Epilogue<&'a [T], T::Accumulator>,
        before: &'a [C],
    ) -> Result<Expected<'a, T, C>> {
        let Self {
            mut shape,
            group_ends,
            a,
            b,
            precision,
            bound,
            ..
        } = self;
        let [alpha, beta] = epilogue.factors.to_f64();
        if !(alpha.is_finite() && beta.is_finite()) {
            return Err(Error::InvalidArgument(format!(
                "{} must be finite to be checked",
                epilogue.factors
            )));
        }
        check_bias(shape.n(), epilogue.bias.map(<[T]>::len))?;
        if !epilogue.factors.reads_operands() {
            shape = shape.without_k();
        }
        let before = epilogue.factors.reads_c().then_some(before);
        if let Some(before) = before {
            check_lengths(&shape, &[(Operand::C, before.len())])?;
        }
        let bound = match epilogue.factors.is_product() && epilogue.bias.is_none() {
            true => bound,
            false => Bound::scaled::<T>(shape.k(), precision, alpha, 1 + usize::from(epilogue.bias.is_some()))?,
        };
        Ok(Expected {
            shape,
            group_ends,
            a,
            b,
            epilogue,
            before,
            precision,
            bound,
            // The shape may be another one.
            plain: OnceLock::new(),
        })
    }
}

impl<T: Element, C: OutputOf<T>> Expected<'_, T, C> {
    /// Each product of the batch, or of the groups, with its part of `c`; its number where there are several.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a slice shorter than C, and those of `compare`, the first.
    fn each<R: Send>(
        &self,
        c: &[C],
        compare: impl Fn(Option<usize>, ExpectedProduct<'_, T, C>, &[C]) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let Self {
            shape,
            group_ends,
            a,
            b,
            epilogue,
            before,
            bound,
            plain,
            ..
        } = self;
        check_lengths(shape, &[(Operand::C, c.len())])?;
        let is_batch = shape.batch().count > 1;
        let products = || products(shape, *group_ends);
        let plain = plain.get_or_init(|| {
            let plain =
                products().map(|(product, [from_a, from_b, _])| Plain::new(&product, &a[from_a..], &b[from_b..]));
            plain.collect()
        });
        let starts: Vec<usize> = products().map(|(_, [_, _, from_c])| from_c).collect();
        let products = starts
            .into_par_iter()
            .zip(plain)
            .enumerate()
            .map(|(index, (from_c, plain))| {
                let product = ExpectedProduct {
                    plain,
                    epilogue: *epilogue,
                    before: before.map(|before| &before[from_c..]),
                    bound: *bound,
                };
                compare(is_batch.then_some(index), product, &c[from_c..])
            });
        products.collect::<Vec<_>>().into_iter().collect()
    }

    /// Compares every element of `c`; elements that are not elements of C are not looked at. Takes `2 m n k` f64
    /// operations and no memory to speak of, except for a copy of what is transposed, which the first check makes.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a slice shorter than C. A mismatch is no error here: see
    /// [`Verdict::into_result`].
    pub fn full(&self, c: &[C]) -> Result<Verdict> {
        let tallies = self.each(c, |index, product, c| Ok(product.full(c).of_product(index)))?;
        let tally = tallies.into_iter().fold(Tally::default(), Tally::merge);
        tally.verdict::<T>(Method::Full)
    }

    /// Checks `c` in `O(m k + k n + m n)` for each product and compares a few thousand elements.
    ///
    /// 1. **Freivalds' check** (R. Freivalds, "Probabilistic machines can use less running time", IFIP 1977): for
    ///    random vectors x, compare `A (B x)` with `C x`, row by row, in f64. Components of x are between 1/2 and 1
    ///    with random signs, so that no element escapes. A row whose difference exceeds the sum of its elements' bounds
    ///    is proved wrong.
    /// 2. That sum is n times an already pessimistic bound, and a single wrong element can hide below it. So the check
    ///    serves as a search: the rows whose differences are largest, measured by their bounds, are compared **element
    ///    by element**. Rounding errors of a row's elements have random signs and nearly cancel; a defect stands out
    ///    long before it is proved.
    /// 3. Corners, the first and last edges of the usual tiles, and random elements are compared as well.
    ///
    /// An activation is not linear, and leaves nothing for Freivalds' check: then rows at random take the place of the
    /// suspects.
    ///
    /// What passes: a C whose defects are all smaller than the rounding noise of their row's sum, or than their
    /// elements' bounds.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] as [`Expected::full`], and where A, B or what C holds before has an infinity or a
    /// NaN, or numbers so large that f64 sums overflow: one of them would blind the check for the whole matrix.
    pub fn sampled(&self, c: &[C], seed: u64) -> Result<Verdict> {
        let samples = self.each(c, |index, product, c| {
            let stream = u64::MAX - index.unwrap_or(0) as u64;
            let sample = product.sampled(c, random::generator(seed, stream))?;
            Ok(Sample {
                tally: sample.tally.of_product(index),
                ..sample
            })
        })?;
        let Sample { tally, rows } = samples.into_iter().fold(Sample::default(), Sample::merge);
        tally.verdict::<T>(Method::Sampled {
            vectors: if self.is_linear() { VECTORS } else { 0 },
            failing_rows: rows.failing,
            compared_rows: rows.compared,
            elements: self.shape.m() * self.shape.n() * self.shape.matrices_of_c() as usize,
        })
    }

    /// Whether there is no activation.
    fn is_linear(&self) -> bool {
        self.epilogue.activation == Activation::None
    }

    /// [`full`](Self::full) up to [`FULL_LIMIT_PRODUCTS`], beyond it [`sampled`](Self::sampled) with this seed.
    ///
    /// # Errors
    /// Those of the check that is taken.
    pub fn by_size(&self, c: &[C], seed: u64) -> Result<Verdict> {
        let shape = &self.shape;
        let products = shape.m() as u128 * shape.n() as u128 * shape.k() as u128 * u128::from(shape.matrices_of_c());
        match products <= u128::from(FULL_LIMIT_PRODUCTS) {
            true => self.full(c),
            false => self.sampled(c, seed),
        }
    }

    /// Compares as much of `c` as `verify` says: nothing, what [`Expected::sampled`] does, or every element.
    ///
    /// # Errors
    /// [`Error::Mismatch`] where something differs, and those of the check.
    pub fn verify(&self, c: &[C], verify: Verify) -> Result<()> {
        let verdict = match verify {
            Verify::None => return Ok(()),
            Verify::Sample => self.sampled(c, DEFAULT_SEED)?,
            Verify::Full => self.full(c)?,
        };
        verdict.into_result().map(drop)
    }
}

impl<T: Element, C: OutputOf<T>> ExpectedProduct<'_, T, C> {
    /// Compares every element.
    fn full(&self, c: &[C]) -> Tally {
        let rows: Vec<usize> = (0..self.plain.shape.m()).collect();
        rows.par_chunks(ROWS_PER_TASK)
            .map(|rows| self.compare_rows(rows, 0..self.plain.shape.n(), c))
            .reduce(Tally::default, Tally::merge)
    }

    /// The value of an element before its activation and the magnitudes of its terms, from those of the product.
    fn scale(&self, row: usize, column: usize, (value, magnitude): (f64, f64)) -> Sum {
        let [alpha, beta] = self.epilogue.factors.to_f64();
        let added = self.before_at(row, column).map_or(0.0, |before| beta * before);
        let bias = self.bias_at(column).unwrap_or(0.0);
        let scaled = alpha.abs() * magnitude + added.abs() + bias.abs();
        Sum {
            value: alpha * value + added + bias,
            magnitude: scaled,
            reach: magnitude.max(scaled),
        }
    }

    /// The bias of a column, where there is one.
    fn bias_at(&self, column: usize) -> Option<f64> {
        self.epilogue.bias.map(|bias| bias[column].to_f64())
    }

    /// What C holds before, where it counts.
    pub(super) fn before_at(&self, row: usize, column: usize) -> Option<f64> {
        let (_, _, ldc) = self.plain.shape.extents(Operand::C);
        self.before.map(|before| before[row * ldc + column].to_f64())
    }

    /// One element before its activation, and the magnitudes of its terms.
    pub(super) fn element(&self, row: usize, column: usize) -> Sum {
        let Plain { shape, a, b } = self.plain;
        self.scale(row, column, element_product(shape, a, b, row, column))
    }

    /// Compares the given rows, as far as they are in these columns.
    pub(super) fn compare_rows(&self, rows: &[usize], columns: Range<usize>, c: &[C]) -> Tally {
        let Plain { shape, a, b } = self.plain;
        let (_, _, ldc) = shape.extents(Operand::C);
        if columns.is_empty() {
            return Tally::default();
        }
        let products = row_products(shape, a, b, rows, columns.clone());
        let sums = products
            .values
            .chunks_exact(columns.len())
            .zip(products.magnitudes.chunks_exact(columns.len()));
        let mut tally = Tally::default();
        for (&row, (values, magnitudes)) in rows.iter().zip(sums) {
            for (column, (&value, &magnitude)) in columns.clone().zip(values.iter().zip(magnitudes)) {
                let expected = self.scale(row, column, (value, magnitude));
                tally = tally.merge(self.compare_element((row, column), expected, c[row * ldc + column]));
            }
        }
        tally
    }

    /// Compares one element of C with what it should be.
    pub(super) fn compare_element(&self, (row, column): (usize, usize), sum: Sum, got: C) -> Tally {
        let allowed = self
            .bound
            .around::<C>(sum.value, sum.magnitude, self.epilogue.activation);
        let got = got.to_f64();
        // Finite inputs can lead sums to NaN, infinity less infinity. That does not excuse a NaN, but nobody can say
        // then what the element should be.
        let passes = allowed.admits(got) && (!got.is_nan() || self.special_inputs(row, column));
        let in_range = sum.reach <= T::Accumulator::MAX.to_f64();
        if !passes && !in_range && !self.special_inputs(row, column) {
            return Tally {
                beyond_range: 1,
                first_beyond: Some((None, row, column)),
                ..Tally::default()
            };
        }
        let mismatch = Mismatch {
            product: None,
            row,
            column,
            got,
            expected: allowed.value(),
            bound: allowed.bound(),
        };
        Tally {
            compared: 1,
            mismatches: usize::from(!passes),
            first: (!passes).then_some(mismatch),
            max_error_over_bound: if passes {
                allowed.error_over_bound(got)
            } else {
                allowed.error_over_bound(got).max(1.0)
            },
            ..Tally::default()
        }
    }

    /// Whether a row of A, a column of B, the bias or the element of C before is or holds an infinity or a NaN.
    fn special_inputs(&self, row: usize, column: usize) -> bool {
        let Plain { shape, a, b } = self.plain;
        let (_, inner, lda) = shape.extents(Operand::A);
        let (_, _, ldb) = shape.extents(Operand::B);
        self.before_at(row, column).is_some_and(|before| !before.is_finite())
            || self.bias_at(column).is_some_and(|bias| !bias.is_finite())
            || (0..inner).any(|k| !a[row * lda + k].to_f64().is_finite() || !b[k * ldb + column].to_f64().is_finite())
    }
}

#[cfg(test)]
mod tests;
