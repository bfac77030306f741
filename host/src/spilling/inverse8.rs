//! Many 8 x 8 matrices on the CPU: which to invert, their inverses, and whether others' are right.

use std::fmt;

use rayon::prelude::*;
use tilewright_contract::Inverse8;

use crate::element::Element;
use crate::error::{Error, Result};
use crate::random::random_matrix;

const SIDE: usize = Inverse8::SIDE as usize;

/// One matrix, row by row.
type Matrix = [[f64; SIDE]; SIDE];

/// `count` random matrices, interleaved, strictly diagonally dominant by rows: every element in (-1, 1), but those of
/// the diagonal in [7, 8].
///
/// A kernel without pivoting is stable for them.
pub fn dominant<T: Element>(seed: u64, count: u32) -> Vec<T> {
    let mut matrices: Vec<T> = random_matrix(seed, Inverse8::elems(count));
    // The elements (i, i) of all matrices stand together, every SIDE + 1 runs.
    if count > 0 {
        for diagonal in matrices.chunks_mut(count as usize).step_by(SIDE + 1) {
            diagonal
                .par_iter_mut()
                .for_each(|element| *element = T::from_f64(7.0 + element.to_f64().abs()));
        }
    }
    matrices
}

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Matrices compared.
    pub count: u32,
    /// Matrices that are farther from the inverse than rounding explains, or not numbers.
    pub wrong: u32,
    /// The matrix with the largest error.
    pub worst: u32,
    /// Its largest error, in units of what rounding explains: right up to 1.
    pub error: f64,
}

impl Verdict {
    /// Whether every matrix is the inverse.
    pub fn passed(&self) -> bool {
        self.wrong == 0
    }

    /// This verdict if it passed.
    ///
    /// # Errors
    /// [`Error::WrongInverse`] with the verdict.
    pub fn into_result(self) -> Result<Self> {
        if self.passed() {
            Ok(self)
        } else {
            Err(Error::WrongInverse(self))
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} inverses are wrong; the worst is matrix {}, with {:.3} times the error that rounding explains",
            self.wrong, self.count, self.worst, self.error
        )
    }
}

/// Compares with the inverses by elimination in f64 with partial pivoting.
///
/// The bound, for every element of an inverse X of A: `4 n κ u max|X|` with n = 8, the condition number `κ = ‖A‖∞ ‖X‖∞`
/// and u the unit roundoff of the element type. Its form is that of Gauss-Jordan's forward error (Higham, "Accuracy and
/// Stability of Numerical Algorithms", 2nd ed., section 14.4); its constant is what rounding does, not the much larger
/// one that is proved: errors of random matrices stay below a quarter of it.
///
/// # Errors
/// [`Error::InvalidArgument`] for a slice shorter than `count` matrices, or too many of them.
pub fn check<T: Element>(count: u32, from: &[T], to: &[T]) -> Result<Verdict> {
    refuse_lengths(count, from.len(), to.len())?;
    let good = Verdict {
        count,
        wrong: 0,
        worst: 0,
        error: 0.0,
    };
    let verdict = (0..count)
        .into_par_iter()
        .map(|t| {
            let error = error_of(&matrix(from, t, count), &matrix(to, t, count), unit_roundoff::<T>());
            Verdict {
                wrong: u32::from(error > 1.0),
                worst: t,
                error,
                ..good
            }
        })
        .reduce(
            || good,
            |a, b| {
                let worst = if b.error > a.error { b } else { a };
                Verdict {
                    wrong: a.wrong + b.wrong,
                    ..worst
                }
            },
        );
    Ok(verdict)
}

/// The inverses of `count` interleaved matrices, in f64 by elimination with partial pivoting; interleaved likewise. NaN
/// where a matrix has none.
///
/// # Errors
/// As for [`check`].
pub fn inverses<T: Element>(count: u32, from: &[T]) -> Result<Vec<f64>> {
    refuse_lengths(count, from.len(), from.len())?;
    let mut inverses = vec![0.0; Inverse8::elems(count)];
    for t in 0..count {
        let inverse = invert(&matrix(from, t, count));
        for (i, row) in inverse.iter().enumerate() {
            for (j, &element) in row.iter().enumerate() {
                inverses[Inverse8::index(i as u32, j as u32, t, count)] = element;
            }
        }
    }
    Ok(inverses)
}

/// Refuses slices that are shorter than `count` matrices, all in elements, and more matrices than 32 bits count
/// elements of.
pub(super) fn refuse_lengths(count: u32, from: usize, to: usize) -> Result<()> {
    if count > Inverse8::MAX_COUNT {
        return Err(Error::InvalidArgument(format!(
            "{count} matrices of 8 x 8, at most {} can be counted in 32 bits",
            Inverse8::MAX_COUNT
        )));
    }
    let needed = Inverse8::elems(count);
    match [("from", from), ("to", to)].into_iter().find(|(_, len)| *len < needed) {
        Some((name, len)) => Err(Error::InvalidArgument(format!(
            "`{name}` holds {len} elements, {count} matrices of 8 x 8 need {needed}"
        ))),
        None => Ok(()),
    }
}

fn unit_roundoff<T: Element>() -> f64 {
    (-f64::from(T::DTYPE.significand_bits())).exp2()
}

/// Matrix `t` of `count`.
fn matrix<T: Element>(matrices: &[T], t: u32, count: u32) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| matrices[Inverse8::index(i as u32, j as u32, t, count)].to_f64()))
}

/// The largest error of `computed` as an inverse of `a`, in units of what rounding explains. Infinite where something
/// is not a number.
fn error_of(a: &Matrix, computed: &Matrix, u: f64) -> f64 {
    let inverse = invert(a);
    let condition = norm(a) * norm(&inverse);
    let largest = inverse
        .iter()
        .flatten()
        .fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let bound = 4.0 * SIDE as f64 * condition * u * largest;
    let elements = inverse.iter().flatten().zip(computed.iter().flatten());
    elements.fold(0.0, |worst: f64, (x, y)| {
        let error = (x - y).abs() / bound;
        // max() would pass over a NaN.
        if error.is_nan() {
            f64::INFINITY
        } else {
            worst.max(error)
        }
    })
}

/// The largest sum of magnitudes of a row.
fn norm(m: &Matrix) -> f64 {
    let sums = m.iter().map(|row| row.iter().map(|x| x.abs()).sum());
    sums.fold(0.0, f64::max)
}

/// Gauss-Jordan with partial pivoting on `[A | I]`. NaN and infinities where A is singular.
fn invert(a: &Matrix) -> Matrix {
    let (mut left, mut right) = (*a, [[0.0; SIDE]; SIDE]);
    for (i, row) in right.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    for k in 0..SIDE {
        let pivot = (k..SIDE).max_by(|&i, &j| left[i][k].abs().total_cmp(&left[j][k].abs()));
        let pivot = pivot.unwrap_or(k);
        left.swap(k, pivot);
        right.swap(k, pivot);
        let scale = left[k][k];
        for element in left[k].iter_mut().chain(&mut right[k]) {
            *element /= scale;
        }
        let (row, of_identity) = (left[k], right[k]);
        for i in (0..SIDE).filter(|&i| i != k) {
            let factor = left[i][k];
            for j in 0..SIDE {
                left[i][j] -= factor * row[j];
                right[i][j] -= factor * of_identity[j];
            }
        }
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest element of `A X - I`.
    fn identity_error(a: &Matrix, x: &Matrix) -> f64 {
        let mut worst = 0.0_f64;
        for (i, row) in a.iter().enumerate() {
            for j in 0..SIDE {
                let product: f64 = row.iter().zip(x).map(|(element, other)| element * other[j]).sum();
                worst = worst.max((product - f64::from(u8::from(i == j))).abs());
            }
        }
        worst
    }

    #[test]
    fn the_reference_inverts_what_needs_pivots() {
        let matrices: Vec<f64> = random_matrix(5, Inverse8::elems(100));
        let inverses = inverses(100, &matrices).expect("long enough");
        for t in 0..100 {
            let (a, x) = (matrix(&matrices, t, 100), matrix(&inverses, t, 100));
            assert!(identity_error(&a, &x) < 1e-11 * norm(&a) * norm(&x), "matrix {t}");
        }
        // A zero in the first pivot's place.
        let mut swap = [[0.0; SIDE]; SIDE];
        for (i, row) in swap.iter_mut().enumerate() {
            row[i ^ 1] = 1.0;
        }
        assert_eq!(invert(&swap), swap);
    }

    #[test]
    fn dominant_matrices_are() {
        let matrices = dominant::<f32>(3, 50);
        for t in 0..50 {
            let m = matrix(&matrices, t, 50);
            for (i, row) in m.iter().enumerate() {
                let others: f64 = row.iter().map(|x| x.abs()).sum::<f64>() - row[i];
                assert!(
                    others < row[i] && (7.0..=8.0).contains(&row[i]),
                    "row {i} of matrix {t}"
                );
            }
        }
        assert!(dominant::<f64>(3, 0).is_empty());
    }

    #[test]
    fn rounded_inverses_pass_and_wrong_ones_do_not() {
        let count = 40;
        let matrices = dominant::<f32>(7, count);
        let mut rounded: Vec<f32> = inverses(count, &matrices)
            .expect("long enough")
            .into_iter()
            .map(|x| x as f32)
            .collect();
        let verdict = check(count, &matrices, &rounded).expect("long enough");
        assert!(verdict.passed() && verdict.error < 0.1, "{verdict}");
        let element = Inverse8::index(3, 4, 17, count);
        for wrong in [rounded[element] + 1e-5, f32::NAN, f32::INFINITY] {
            let right = std::mem::replace(&mut rounded[element], wrong);
            let verdict = check(count, &matrices, &rounded).expect("long enough");
            assert_eq!((verdict.wrong, verdict.worst), (1, 17), "{wrong}: {verdict}");
            assert!(verdict.into_result().is_err());
            rounded[element] = right;
        }
    }

    #[test]
    fn short_slices_and_too_many_matrices_are_refused_with_both_numbers() {
        let error = check(2, &[0.0_f32; 128], &[0.0; 127])
            .expect_err("one short")
            .to_string();
        assert_eq!(error, "`to` holds 127 elements, 2 matrices of 8 x 8 need 128");
        let error = refuse_lengths(u32::MAX, 0, 0).expect_err("too many").to_string();
        assert!(error.contains("4294967295") && error.contains("33554431"), "{error}");
    }
}
