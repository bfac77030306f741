//! Many 8 x 8 matrices on the CPU: which to invert, their inverses, and whether others' are right.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::kernels::inverse8::{MAX_COUNT, SIDE, elems, index};
use crate::scalar::{Real, uniform, unit_roundoff};

/// One matrix, row by row.
type Matrix = [[f64; SIDE]; SIDE];

/// `count` random matrices, interleaved, strictly diagonally dominant by rows: every element in (-1, 1), those of the
/// diagonal in [7, 8]. The kernels, which do not pivot, are stable for them.
pub fn dominant<T: Real>(seed: u64, count: u32) -> Vec<T> {
    let mut matrices: Vec<T> = uniform(seed, elems(count));
    // The elements (i, i) of all matrices stand together, every SIDE + 1 runs.
    for diagonal in matrices.chunks_mut(count.max(1) as usize).step_by(SIDE + 1) {
        for element in diagonal {
            let value: f64 = (*element).into();
            *element = T::nearest(7.0 + value.abs());
        }
    }
    matrices
}

/// Compares `to` with the inverses of `from`, by elimination in f64 with partial pivoting; returns the largest error in
/// units of its bound.
///
/// The bound, for every element of an inverse X of A: `4 n κ u max|X|` with n = 8, the condition number `κ = ‖A‖∞ ‖X‖∞`
/// and u the unit roundoff of the element type. Its form is that of Gauss-Jordan's forward error (Higham, "Accuracy and
/// Stability of Numerical Algorithms", 2nd ed., section 14.4); its constant is what rounding does, not the much larger
/// one that is proved: errors of random matrices stay below a quarter of it.
///
/// # Errors
/// [`Error::Wrong`] with the worst matrix where one is beyond its bound or not a number; [`Error::InvalidArgument`] as
/// for [`check_lengths`].
pub fn check<T: Real>(count: u32, from: &[T], to: &[T]) -> Result<f64> {
    check_lengths(count, from.len(), to.len())?;
    let error_of = |t| error_over_bound(&matrix(from, t, count), &matrix(to, t, count), unit_roundoff::<T>());
    // Matrices that are wrong, the largest error, and the matrix that has it.
    let worse = |one: (u32, f64, u32), other: (u32, f64, u32)| {
        let worst = if other.1 > one.1 { other } else { one };
        (one.0 + other.0, worst.1, worst.2)
    };
    let (wrong, error, worst) = (0..count)
        .into_par_iter()
        .map(|t| {
            let error = error_of(t);
            (u32::from(error > 1.0), error, t)
        })
        .reduce(|| (0, 0.0, 0), worse);
    match wrong {
        0 => Ok(error),
        _ => Err(Error::Wrong(format!(
            "{wrong} of {count} inverses are wrong; the worst is matrix {worst}, with {error:.3} times the error that \
             rounding explains"
        ))),
    }
}

/// Refuses slices shorter than `count` matrices, in elements, and more matrices than [`MAX_COUNT`].
///
/// # Errors
/// [`Error::InvalidArgument`] with both numbers.
pub fn check_lengths(count: u32, from: usize, to: usize) -> Result<()> {
    if count > MAX_COUNT {
        return Err(Error::InvalidArgument(format!(
            "{count} matrices of 8 x 8, at most {MAX_COUNT} have elements that 31 bits count"
        )));
    }
    let needed = elems(count);
    match [("from", from), ("to", to)].into_iter().find(|(_, len)| *len < needed) {
        Some((name, len)) => Err(Error::InvalidArgument(format!(
            "`{name}` holds {len} elements, {count} matrices of 8 x 8 need {needed}"
        ))),
        None => Ok(()),
    }
}

/// Matrix `t` of `count`.
fn matrix<T: Real>(matrices: &[T], t: u32, count: u32) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| matrices[index(i as u32, j as u32, t, count)].into()))
}

/// The largest error of `computed` as an inverse of `a`, in units of the bound for the unit roundoff `u`. Infinite
/// where something is not a number.
fn error_over_bound(a: &Matrix, computed: &Matrix, u: f64) -> f64 {
    let inverse = invert(a);
    let largest = inverse
        .as_flattened()
        .iter()
        .fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let bound = 4.0 * SIDE as f64 * norm(a) * norm(&inverse) * u * largest;
    let elements = inverse.as_flattened().iter().zip(computed.as_flattened());
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
        let matrices: Vec<f64> = uniform(5, elems(100));
        for t in 0..100 {
            let a = matrix(&matrices, t, 100);
            let x = invert(&a);
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
            for (i, row) in matrix(&matrices, t, 50).iter().enumerate() {
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
        let mut rounded = vec![0.0_f32; elems(count)];
        for t in 0..count {
            for (i, row) in invert(&matrix(&matrices, t, count)).iter().enumerate() {
                for (j, &x) in row.iter().enumerate() {
                    rounded[index(i as u32, j as u32, t, count)] = x as f32;
                }
            }
        }
        assert!(check(count, &matrices, &rounded).expect("right") < 0.1);
        let element = index(3, 4, 17, count);
        for wrong in [rounded[element] + 1e-5, f32::NAN, f32::INFINITY] {
            let right = std::mem::replace(&mut rounded[element], wrong);
            let said = check(count, &matrices, &rounded).expect_err("wrong").to_string();
            assert!(
                said.starts_with("1 of 40 inverses are wrong; the worst is matrix 17,"),
                "{said}"
            );
            rounded[element] = right;
        }
    }

    #[test]
    fn short_slices_and_too_many_matrices_are_refused_with_both_numbers() {
        let error = check(2, &[0.0_f32; 128], &[0.0; 127])
            .expect_err("one short")
            .to_string();
        assert_eq!(error, "`to` holds 127 elements, 2 matrices of 8 x 8 need 128");
        let error = check_lengths(u32::MAX, 0, 0).expect_err("too many").to_string();
        assert!(error.contains("4294967295") && error.contains("33554431"), "{error}");
    }
}
