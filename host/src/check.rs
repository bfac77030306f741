//! Whether a computed C is the product of A and B, up to the rounding that its element type allows.
//!
//! Two ways: [`full`] compares every element with the plain f64 product; [`sampled`] looks for a wrong row with
//! Freivalds' check and compares the suspects and a sample. [`verify`] takes the first where it is affordable.
//! [`Expected`] has both for `activation(alpha · A · B + beta · C + bias)` too.
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
//! Scaled, v becomes `alpha v + beta c`, `|A| |B|` becomes `|alpha| |A| |B| + |beta c|`, where c is the element before,
//! and two roundings more are allowed, those of a product and of the last sum; with a bias `|bias|` and one rounding
//! more. An activation is applied to v - e and v + e where it is monotone. GELU is not: there e grows by its slope,
//! 1.13 at most, and by the error of the kernels' own formula.
//!
//! An element passes when it lies between v - e and v + e, both rounded to the element type. Rounding is monotone, so
//! this admits the roundings of all sums that are within e, and nothing else: it needs no term for a 16-bit result's
//! own rounding, and an infinity passes just where v + e exceeds the element type's range. Where |A| |B| exceeds the
//! accumulator's own range, a sum may overflow on its way: an element that does not pass there is neither right nor
//! wrong, and the check ends with an error that says so.
//!
//! **NaN never passes for finite inputs.** If the element's row of A or column of B holds an infinity or a NaN, v may
//! be infinite or NaN: then the element must be the same infinity, or a NaN.
//!
//! The bound is a worst case: errors of real sums are nearer `sqrt(k) u`. A defect smaller than e cannot be told from
//! rounding here.
//!
//! For products of f32 in another [`Precision`](tilewright_contract::Precision) γ has its
//! [further roundings](tilewright_contract::Precision::more_roundings).

mod bound;
mod expected;
mod sampled;

use std::fmt;

use serde::Serialize;
use tilewright_contract::GemmShape;

use crate::element::{Accumulator, Element};
use crate::error::{Error, Result};

pub use expected::Expected;

/// The seed that verification takes where the user names none.
pub const DEFAULT_SEED: u64 = 0x7469_6c65;

/// Products `m n k` up to which [`verify`] compares every element: a few seconds on two cores.
pub const FULL_LIMIT_PRODUCTS: u64 = 1 << 31;

/// How much of the result is compared with the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// Nothing.
    #[default]
    None,
    /// Freivalds' check of the whole and a sample of elements.
    Sample,
    /// Every element.
    Full,
}

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
    /// The product of a batch, or the group of rows, counted from 0; `None` where there is one.
    pub product: Option<usize>,
    /// Its row in C, or in the rows of the group.
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
        /// Random vectors of Freivalds' check; 0 where an activation leaves nothing for it.
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
            product,
            row,
            column,
            got,
            expected,
            bound,
        }) = self.first
        {
            let place = place(product, row, column);
            write!(
                f,
                "; first at {place}: got {got:e}, expected {expected:e} ± {bound:.2e}"
            )?;
        }
        if let Method::Sampled {
            vectors,
            failing_rows,
            elements,
            ..
        } = self.method
        {
            if vectors == 0 {
                return write!(f, "; sampled from {elements}");
            }
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

/// Where an element is, in words.
fn place(product: Option<usize>, row: usize, column: usize) -> String {
    let of_batch = product.map(|product| format!("product {product}, "));
    format!("{}row {row}, column {column}", of_batch.unwrap_or_default())
}

/// Compares every element of `c` with the plain f64 product of `a` and `b`: [`Expected::full`] of the product.
///
/// # Errors
/// As for [`Expected::product`] and [`Expected::full`]. A mismatch is no error here: see [`Verdict::into_result`].
pub fn full<T: Element>(shape: &GemmShape, a: &[T], b: &[T], c: &[T]) -> Result<Verdict> {
    Expected::product(shape, a, b)?.full(c)
}

/// Looks for wrong rows and compares a sample with the f64 product of `a` and `b`: [`Expected::sampled`] of the
/// product.
///
/// # Errors
/// As for [`Expected::product`] and [`Expected::sampled`].
pub fn sampled<T: Element>(shape: &GemmShape, a: &[T], b: &[T], c: &[T], seed: u64) -> Result<Verdict> {
    Expected::product(shape, a, b)?.sampled(c, seed)
}

/// [`full`] up to [`FULL_LIMIT_PRODUCTS`], beyond it [`sampled`] with the given seed: [`Expected::by_size`] of the
/// product.
///
/// # Errors
/// Those of the check that is taken.
pub fn verify<T: Element>(shape: &GemmShape, a: &[T], b: &[T], c: &[T], seed: u64) -> Result<Verdict> {
    Expected::product(shape, a, b)?.by_size(c, seed)
}

/// Counts of compared elements, to be merged in any order.
#[derive(Clone, Debug, Default)]
struct Tally {
    compared: usize,
    mismatches: usize,
    first: Option<Mismatch>,
    max_error_over_bound: f64,
    /// Elements whose sums may leave the range of their type on the way, so that nobody can say what they should be.
    beyond_range: usize,
    /// Product, row and column of the first of them.
    first_beyond: Option<(Option<usize>, usize, usize)>,
}

impl Tally {
    fn merge(self, other: Self) -> Self {
        let earlier = |x: &Mismatch, y: &Mismatch| (x.product, x.row, x.column).cmp(&(y.product, y.row, y.column));
        Self {
            compared: self.compared + other.compared,
            mismatches: self.mismatches + other.mismatches,
            first: self.first.into_iter().chain(other.first).min_by(earlier),
            max_error_over_bound: self.max_error_over_bound.max(other.max_error_over_bound),
            beyond_range: self.beyond_range + other.beyond_range,
            first_beyond: self.first_beyond.into_iter().chain(other.first_beyond).min(),
        }
    }

    /// The same, found in this product of a batch.
    fn of_product(mut self, index: Option<usize>) -> Self {
        if let Some(first) = &mut self.first {
            first.product = index;
        }
        if let Some((product, ..)) = &mut self.first_beyond {
            *product = index;
        }
        self
    }

    /// What has been found with A and B of `T`; an error where nothing is wrong that can be known, but not all can.
    fn verdict<T: Element>(self, method: Method) -> Result<Verdict> {
        let Self {
            compared,
            mismatches,
            first,
            max_error_over_bound,
            beyond_range,
            first_beyond,
        } = self;
        if let (0, Some((product, row, column))) = (mismatches, first_beyond) {
            let sums = T::DTYPE.accumulator();
            return Err(Error::InvalidArgument(format!(
                "the terms of {beyond_range} elements exceed the range of {sums} ({:e}) when their magnitudes are \
                 added up, first at {}: sums may overflow on the way, and what C should be there cannot be said",
                <T::Accumulator as Accumulator>::MAX,
                place(product, row, column)
            )));
        }
        Ok(Verdict {
            compared,
            mismatches,
            first,
            max_error_over_bound,
            method,
        })
    }
}
