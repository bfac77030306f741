//! The product on the CPU, in f64, and whether another one is right.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::kernels::Extents;
use crate::kernels::register_tile::WIDTH;
use crate::scalar::unit_roundoff;

/// Up to so many multiplications every element is compared.
const FULL: u64 = 1 << 28;

/// Rows that are compared of a larger product: those that stand out most, and as many at random.
const ROWS: usize = 8;

/// Extents whose leading dimensions are `padding` elements longer than their rows.
pub fn extents(m: u32, n: u32, k: u32, padding: u32) -> Extents {
    Extents {
        m,
        n,
        k,
        lda: k + padding,
        ldb: n + padding,
        ldc: n + 2 * padding,
    }
}

/// CTAs of a launch.
///
/// # Errors
/// [`Error::InvalidArgument`] for an extent or a number of CTAs beyond `i32::MAX`, or a leading dimension shorter than
/// its row.
pub fn ctas(extents: &Extents) -> Result<u32> {
    let Extents { m, n, k, lda, ldb, ldc } = *extents;
    let tiles = u64::from(m.div_ceil(WIDTH)) * u64::from(n.div_ceil(WIDTH));
    let most = i32::MAX as u32;
    let in_range = [m, n, k, lda, ldb, ldc].iter().all(|extent| *extent <= most);
    match u32::try_from(tiles) {
        Ok(tiles) if tiles <= most && in_range && lda >= k && ldb >= n && ldc >= n => Ok(tiles),
        _ => Err(Error::InvalidArgument(format!(
            "{extents:?} is no product that a grid covers"
        ))),
    }
}

/// Compares `c` with the product of `a` and `b`; returns the largest error in units of its bound.
///
/// The bound of an element is `γ_k(u) Σ |a||b|` with `γ_k(u) = k u / (1 - k u)` and the unit roundoff u of f32 (Higham,
/// "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 3.1), plus what the reference in f64 and products
/// that underflow may add.
///
/// Of a large product, rows are compared: eight at random, and the eight whose sums with random signs differ most from
/// the reference's (R. Freivalds, "Probabilistic machines can use less running time", IFIP 1977). Rounding errors of a
/// row nearly cancel in such a sum; one wrong element stands out.
///
/// # Errors
/// [`Error::Wrong`] with the first element that is beyond its bound; [`Error::InvalidArgument`] for a slice shorter
/// than its matrix.
pub fn check(extents: &Extents, a: &[f32], b: &[f32], c: &[f32]) -> Result<f64> {
    for ((name, matrix), needed) in [("A", a), ("B", b), ("C", c)].into_iter().zip(extents.span_elems()) {
        if matrix.len() < needed {
            let len = matrix.len();
            return Err(Error::InvalidArgument(format!(
                "{name} holds {len} elements, {extents:?} need {needed}"
            )));
        }
    }
    let Extents { m, n, k, .. } = *extents;
    let multiplications = u64::from(m) * u64::from(n) * u64::from(k);
    let rows: Vec<usize> = match multiplications <= FULL {
        true => (0..m as usize).collect(),
        false => suspects(extents, a, b, c),
    };
    let errors = rows.par_iter().map(|&row| check_row(extents, a, b, c, row));
    errors.try_reduce(|| 0.0, |one, other| Ok(one.max(other)))
}

/// A row of a matrix; of an empty one nothing is stored.
fn row_of(matrix: &[f32], row: usize, ld: u32, len: usize) -> &[f32] {
    match len {
        0 => &[],
        _ => &matrix[row * ld as usize..][..len],
    }
}

/// Compares a row of C; returns its largest error in units of the bound.
fn check_row(extents: &Extents, a: &[f32], b: &[f32], c: &[f32], row: usize) -> Result<f64> {
    let (n, k) = (extents.n as usize, extents.k as usize);
    // Values, and the magnitudes of their terms added up.
    let mut sums = vec![[0.0_f64; 2]; n];
    for (step, &of_a) in row_of(a, row, extents.lda, k).iter().enumerate() {
        for (sum, &of_b) in sums.iter_mut().zip(row_of(b, step, extents.ldb, n)) {
            let term = f64::from(of_a) * f64::from(of_b);
            *sum = [sum[0] + term, sum[1] + term.abs()];
        }
    }
    let gamma = |roundoff: f64| k as f64 * roundoff / (1.0 - k as f64 * roundoff);
    let relative = gamma(unit_roundoff::<f32>()) + 2.0 * gamma(unit_roundoff::<f64>());
    let underflow = k as f64 * f64::from(f32::from_bits(1));
    let mut worst = 0.0_f64;
    for (column, (&got, [expected, magnitude])) in row_of(c, row, extents.ldc, n).iter().zip(sums).enumerate() {
        let bound = relative * magnitude + underflow;
        let error = (f64::from(got) - expected).abs();
        // A NaN is not within the bound either.
        if error > bound || error.is_nan() {
            return Err(Error::Wrong(format!(
                "element ({row}, {column}) is {got}, not {expected} within {bound:.1e}"
            )));
        }
        worst = worst.max(if error == 0.0 { 0.0 } else { error / bound });
    }
    Ok(worst)
}

/// The rows of a large product that are compared.
fn suspects(extents: &Extents, a: &[f32], b: &[f32], c: &[f32]) -> Vec<usize> {
    let [m, n, k] = [extents.m, extents.n, extents.k].map(|extent| extent as usize);
    let mut random = ChaCha8Rng::seed_from_u64(u64::MAX);
    let signs: Vec<f64> = (0..n)
        .map(|_| if random.next_u32() % 2 == 0 { 1.0 } else { -1.0 })
        .collect();
    let dot = |row: &[f32], x: &[f64]| -> f64 { row.iter().zip(x).map(|(of, x)| f64::from(*of) * x).sum() };
    let of_b: Vec<f64> = (0..k)
        .into_par_iter()
        .map(|row| dot(row_of(b, row, extents.ldb, n), &signs))
        .collect();
    let differences: Vec<f64> = (0..m)
        .into_par_iter()
        .map(|row| {
            let expected = dot(row_of(a, row, extents.lda, k), &of_b);
            let difference = (expected - dot(row_of(c, row, extents.ldc, n), &signs)).abs();
            // The first to be looked at.
            if difference.is_nan() { f64::INFINITY } else { difference }
        })
        .collect();
    let mut rows: Vec<usize> = (0..m).collect();
    rows.sort_by(|&i, &j| differences[j].total_cmp(&differences[i]));
    rows.truncate(ROWS);
    rows.extend((0..ROWS).map(|_| (random.next_u64() % m as u64) as usize));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::uniform;

    /// A product in f32, summed in order.
    fn product(extents: &Extents, a: &[f32], b: &[f32]) -> Vec<f32> {
        let mut c = vec![f32::NAN; extents.span_elems()[2]];
        for row in 0..extents.m {
            for column in 0..extents.n {
                c[(row * extents.ldc + column) as usize] = (0..extents.k)
                    .map(|k| a[(row * extents.lda + k) as usize] * b[(k * extents.ldb + column) as usize])
                    .sum();
            }
        }
        c
    }

    #[test]
    fn a_right_product_passes_and_one_wrong_element_does_not() {
        let extents = extents(57, 33, 40, 3);
        let [of_a, of_b, _] = extents.span_elems();
        let (a, b) = (uniform(1, of_a), uniform(2, of_b));
        let mut c = product(&extents, &a, &b);
        let error = check(&extents, &a, &b, &c).expect("right");
        assert!(error > 0.0 && error < 0.5, "{error}");
        let at = (9 * extents.ldc + 7) as usize;
        for wrong in [c[at] + 0.01, f32::NAN, f32::INFINITY] {
            let right = std::mem::replace(&mut c[at], wrong);
            let said = check(&extents, &a, &b, &c).expect_err("wrong").to_string();
            assert!(said.starts_with("element (9, 7) is "), "{said}");
            // Of a large product its row would be among those that are compared.
            assert_eq!(suspects(&extents, &a, &b, &c)[0], 9);
            c[at] = right;
        }
    }

    #[test]
    fn what_no_grid_covers_is_refused() {
        assert_eq!(ctas(&extents(129, 128, 1, 0)).expect("small"), 2);
        assert_eq!(ctas(&extents(0, 128, 1, 0)).expect("small"), 0);
        for wrong in [
            extents(1 << 31, 1, 1, 0),
            extents((1 << 31) - 1, (1 << 31) - 1, 1, 0),
            Extents {
                lda: 1,
                ..extents(2, 2, 2, 0)
            },
        ] {
            assert!(matches!(ctas(&wrong), Err(Error::InvalidArgument(_))), "{wrong:?}");
        }
        assert!(matches!(
            check(&extents(2, 2, 2, 0), &[0.0; 3], &[0.0; 4], &[0.0; 4]),
            Err(Error::InvalidArgument(_))
        ));
    }
}
