//! Whether a computed C is the product of A and B, up to the rounding that its element type allows.
//!
//! Two ways: [`full`] compares every element with the plain f64 product; [`sampled`] looks for a wrong row with
//! Freivalds' check and compares the suspects and a sample. [`verify`] takes the first where it is affordable.
//!
//! # When an element passes
//!
//! Let v be the f64 product of row i and column j and e the forward error bound of a sum of k products,
//!
//! ```text
//! e = (γ_k(u) + γ_k+1(2⁻⁵³)) (|A| |B|)_ij + k (η(accumulator) + η(f64)),   γ_n(u) = n u / (1 - n u)
//! ```
//!
//! with u the unit roundoff of the accumulator (2⁻²⁴ for f32, f16 and bf16, 2⁻⁵³ for f64), η the smallest positive
//! number of a type: Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, sections 3.1 and 3.5. It
//! holds for every order of the additions and with or without fused multiply-add. Its second term is the error of v
//! itself, the last one that of products that underflow.
//!
//! An element passes when it lies between v - e and v + e, both rounded to the element type. Rounding is monotone, so
//! this admits the roundings of all sums that are within e, and nothing else: it needs no term for a 16-bit result's
//! own rounding, and an infinity passes just where v + e exceeds the element type's range. Where |A| |B| exceeds the
//! accumulator's own range the bound promises nothing, and a sum that overflowed on its way is reported.
//!
//! **NaN never passes for finite inputs.** If the element's row of A or column of B holds an infinity or a NaN, v may
//! be infinite or NaN: then the element must be the same infinity, or a NaN.
//!
//! The bound is a worst case: errors of real sums are nearer `sqrt(k) u`. A defect smaller than e cannot be told from
//! rounding here.

mod bound;
mod sampled;

use std::fmt;

use rayon::prelude::*;
use tilewright_contract::{GemmShape, Operand};

use crate::element::Element;
use crate::error::{Error, Result};
use crate::plain::Plain;
use crate::reference::{check_lengths, row_products};
use bound::Bound;

pub use sampled::sampled;

/// The seed that verification takes where the user names none.
pub const DEFAULT_SEED: u64 = 0x7469_6c65;

/// Products `m n k` up to which [`verify`] compares every element: a few seconds on two cores.
pub const FULL_LIMIT_PRODUCTS: u64 = 1 << 31;

/// Rows of C that are compared by one task.
const ROWS_PER_TASK: usize = 8;

/// What a check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Elements compared one by one.
    pub compared: usize,
    /// Elements that differ by more than their bound. At least so many if `method` is [`Method::Sampled`].
    pub mismatches: usize,
    /// The first of them, by row, then column.
    pub first: Option<Mismatch>,
    /// The largest error of a compared element, in units of its bound; above 1 or infinite where there are mismatches.
    pub max_error_over_bound: f64,
    /// How the elements were chosen.
    pub method: Method,
}

/// An element that differs by more than its bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mismatch {
    /// Its row in C.
    pub row: usize,
    /// Its column in C.
    pub column: usize,
    /// The value in C.
    pub got: f64,
    /// The plain f64 product.
    pub expected: f64,
    /// How far from `expected` an element may be.
    pub bound: f64,
}

/// How a check chose the elements that it compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// All of them.
    Full,
    /// Those of the most suspicious rows, corners, tile edges and random ones.
    Sampled {
        /// Random vectors of Freivalds' check.
        vectors: usize,
        /// Rows that Freivalds' check alone proves wrong.
        failing_rows: usize,
        /// Rows that were compared in full, the failing ones first.
        compared_rows: usize,
        /// Elements of C.
        elements: usize,
    },
}

impl Verdict {
    /// Whether nothing differs.
    pub fn passed(&self) -> bool {
        self.mismatches == 0
    }

    /// The verdict as a `Result`.
    ///
    /// # Errors
    /// [`Error::Mismatch`] when something differs: count, first coordinate, both values.
    pub fn into_result(self) -> Result<Verdict> {
        if self.passed() {
            Ok(self)
        } else {
            Err(Error::Mismatch(Box::new(self)))
        }
    }
}

impl fmt::Display for Verdict {
    /// Writes one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sample = matches!(self.method, Method::Sampled { .. });
        if self.passed() {
            write!(
                f,
                "{} elements agree, largest error {:.3} of its bound",
                self.compared, self.max_error_over_bound
            )?;
        } else {
            let least = if sample { "at least " } else { "" };
            write!(
                f,
                "{least}{} elements differ, {} compared",
                self.mismatches, self.compared
            )?;
        }
        if let Some(Mismatch {
            row,
            column,
            got,
            expected,
            bound,
        }) = self.first
        {
            write!(
                f,
                "; first at row {row}, column {column}: got {got:e}, expected {expected:e} ± {bound:.2e}"
            )?;
        }
        if let Method::Sampled {
            vectors,
            failing_rows,
            elements,
            ..
        } = self.method
        {
            write!(
                f,
                "; sampled from {elements}, Freivalds' check with {vectors} vectors: "
            )?;
            match failing_rows {
                0 => write!(f, "no row fails")?,
                1 => write!(f, "1 row fails")?,
                rows => write!(f, "{rows} rows fail")?,
            }
        }
        Ok(())
    }
}

/// Compares every element of `c` with the plain f64 product of `a` and `b`.
///
/// Row-major slices with the leading dimensions of `shape`; elements of `c` that are not elements of C are not looked
/// at. Takes `2 m n k` f64 operations and no memory to speak of.
///
/// # Errors [`Error::InvalidArgument`] for a slice shorter than its operand, or a K for which there is no bound (`K u
/// >= 1`: from 2²⁴ on where sums are taken in f32). A mismatch is no error here: see [`Verdict::into_result`].
pub fn full<T: Element>(shape: &GemmShape, a: &[T], b: &[T], c: &[T]) -> Result<Verdict> {
    let bound = Bound::new::<T>(shape.k())?;
    check_lengths(
        shape,
        &[(Operand::A, a.len()), (Operand::B, b.len()), (Operand::C, c.len())],
    )?;
    let Plain { shape, a, b } = &Plain::new(shape, a, b);
    let rows: Vec<usize> = (0..shape.m()).collect();
    let tally = rows
        .par_chunks(ROWS_PER_TASK)
        .map(|rows| compare_rows(shape, a, b, c, &bound, rows))
        .reduce(Tally::default, Tally::merge);
    Ok(tally.verdict(Method::Full))
}

/// [`full`] up to [`FULL_LIMIT_PRODUCTS`], beyond it [`sampled`] with the given seed.
///
/// # Errors
/// Those of the check that is taken.
pub fn verify<T: Element>(shape: &GemmShape, a: &[T], b: &[T], c: &[T], seed: u64) -> Result<Verdict> {
    let products = shape.m() as u128 * shape.n() as u128 * shape.k() as u128;
    if products <= u128::from(FULL_LIMIT_PRODUCTS) {
        full(shape, a, b, c)
    } else {
        sampled(shape, a, b, c, seed)
    }
}

/// Counts of compared elements, to be merged in any order.
#[derive(Clone, Debug, Default)]
struct Tally {
    compared: usize,
    mismatches: usize,
    first: Option<Mismatch>,
    max_error_over_bound: f64,
}

impl Tally {
    fn merge(self, other: Self) -> Self {
        let earlier = |x: &Mismatch, y: &Mismatch| (x.row, x.column).cmp(&(y.row, y.column));
        Self {
            compared: self.compared + other.compared,
            mismatches: self.mismatches + other.mismatches,
            first: self.first.into_iter().chain(other.first).min_by(earlier),
            max_error_over_bound: self.max_error_over_bound.max(other.max_error_over_bound),
        }
    }

    fn verdict(self, method: Method) -> Verdict {
        let Self {
            compared,
            mismatches,
            first,
            max_error_over_bound,
        } = self;
        Verdict {
            compared,
            mismatches,
            first,
            max_error_over_bound,
            method,
        }
    }
}

/// Compares the given rows in full.
fn compare_rows<T: Element>(shape: &GemmShape, a: &[T], b: &[T], c: &[T], bound: &Bound, rows: &[usize]) -> Tally {
    let (_, columns, ldc) = shape.extents(Operand::C);
    if columns == 0 {
        return Tally::default();
    }
    let products = row_products(shape, a, b, rows);
    let sums = products
        .values
        .chunks_exact(columns)
        .zip(products.magnitudes.chunks_exact(columns));
    let mut tally = Tally::default();
    for (&row, (values, magnitudes)) in rows.iter().zip(sums) {
        for (column, (&value, &magnitude)) in values.iter().zip(magnitudes).enumerate() {
            let got = c[row * ldc + column];
            tally = tally.merge(compare_element(
                shape,
                a,
                b,
                bound,
                (row, column),
                (value, magnitude),
                got,
            ));
        }
    }
    tally
}

/// Compares one element of C with its value and magnitude.
fn compare_element<T: Element>(
    shape: &GemmShape,
    a: &[T],
    b: &[T],
    bound: &Bound,
    (row, column): (usize, usize),
    (value, magnitude): (f64, f64),
    got: T,
) -> Tally {
    let allowed = bound.around::<T>(value, magnitude);
    let got = got.to_f64();
    // Finite inputs can lead f64 sums to NaN (infinity less infinity, beyond 1e308). That does not excuse a NaN.
    let passes = allowed.admits(got) && (!got.is_nan() || special_inputs(shape, a, b, row, column));
    let mismatch = Mismatch {
        row,
        column,
        got,
        expected: value,
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
    }
}

/// Whether a row of A or a column of B holds an infinity or a NaN.
fn special_inputs<T: Element>(shape: &GemmShape, a: &[T], b: &[T], row: usize, column: usize) -> bool {
    let (_, inner, lda) = shape.extents(Operand::A);
    let (_, _, ldb) = shape.extents(Operand::B);
    (0..inner).any(|k| !a[row * lda + k].to_f64().is_finite() || !b[k * ldb + column].to_f64().is_finite())
}
