//! Least squares with coefficients that are not negative.

/// Normal equations: a symmetric matrix, by rows, and the right side.
pub struct Normal {
    matrix: Vec<f64>,
    right: Vec<f64>,
}

impl Normal {
    /// Those of no sample, for so many coefficients.
    pub fn new(len: usize) -> Self {
        Self {
            matrix: vec![0.0; len * len],
            right: vec![0.0; len],
        }
    }

    /// Adds a sample: the terms that are not 0, by their numbers, the value that they should add up to, and a weight.
    pub fn add(&mut self, terms: &[(usize, f64)], value: f64, weight: f64) {
        let len = self.right.len();
        for &(row, by) in terms {
            for &(column, term) in terms {
                self.matrix[row * len + column] += weight * by * term;
            }
            self.right[row] += weight * by * value;
        }
    }

    /// The coefficients, none of them negative, with the least weighted squares (C. L. Lawson and R. J. Hanson, Solving
    /// Least Squares Problems, 1974, chapter 23, on the normal equations). `start`: a guess whose positive coefficients
    /// are tried first.
    ///
    /// Every coefficient needs a sample, or a ridge.
    pub fn solve(&self, start: &[f64]) -> Vec<f64> {
        let len = self.right.len();
        // Scaled to a diagonal of ones, so that one tolerance is right for all.
        let scale: Vec<f64> = (0..len).map(|at| self.matrix[at * len + at].sqrt().recip()).collect();
        let at = |row: usize, column: usize| self.matrix[row * len + column] * scale[row] * scale[column];
        let right: Vec<f64> = self
            .right
            .iter()
            .zip(&scale)
            .map(|(right, scale)| right * scale)
            .collect();
        let tolerance = 1e-10 * right.iter().fold(0.0_f64, |most, right| most.max(right.abs()));
        let mut solution: Vec<f64> = start.iter().zip(&scale).map(|(start, scale)| start / scale).collect();
        let mut free: Vec<usize> = (0..len).filter(|&of| solution[of] > 0.0).collect();
        // Each outer step lowers the squares, so this ends; rounding is kept from repeating it for ever.
        for _ in 0..10 * len {
            // Towards the least squares of the free coefficients; those that reach 0 on the way stay there.
            while !free.is_empty() {
                let target = cholesky_solve(&at, &right, &free);
                let step = free
                    .iter()
                    .zip(&target)
                    .filter(|(_, target)| **target <= 0.0)
                    .map(|(&of, target)| (solution[of] / (solution[of] - target), of))
                    .min_by(|a, b| a.0.total_cmp(&b.0));
                let (step, blocked) = step.map_or((1.0, None), |(step, of)| (step, Some(of)));
                for (&of, target) in free.iter().zip(target) {
                    solution[of] += step * (target - solution[of]);
                }
                let Some(blocked) = blocked else { break };
                solution[blocked] = 0.0;
                free.retain(|&of| solution[of] > 0.0);
            }
            let gradient = |of: usize| right[of] - free.iter().map(|&by| at(of, by) * solution[by]).sum::<f64>();
            let steepest = (0..len)
                .filter(|of| !free.contains(of))
                .map(|of| (gradient(of), of))
                .max_by(|a, b| a.0.total_cmp(&b.0));
            match steepest.filter(|(gradient, _)| *gradient > tolerance) {
                Some((_, of)) => free.push(of),
                None => break,
            }
        }
        solution
            .iter()
            .zip(scale)
            .map(|(solution, scale)| solution * scale)
            .collect()
    }
}

/// Solves the equations of the free coefficients.
fn cholesky_solve(at: &impl Fn(usize, usize) -> f64, right: &[f64], free: &[usize]) -> Vec<f64> {
    /// Terms of two kernels may be proportional; this keeps their matrix definite.
    const RIDGE: f64 = 1e-9;
    let len = free.len();
    let mut lower = vec![0.0; len * len];
    let mut solution = vec![0.0; len];
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    for row in 0..len {
        for column in 0..=row {
            let before = dot(&lower[row * len..][..column], &lower[column * len..][..column]);
            let left = at(free[row], free[column]) - before;
            lower[row * len + column] = match column == row {
                true => (left + RIDGE).max(RIDGE).sqrt(),
                false => left / lower[column * len + column],
            };
        }
        let before = dot(&lower[row * len..][..row], &solution);
        solution[row] = (right[free[row]] - before) / lower[row * len + row];
    }
    for row in (0..len).rev() {
        solution[row] /= lower[row * len + row];
        for column in 0..row {
            solution[column] -= lower[row * len + column] * solution[row];
        }
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved(samples: &[([f64; 3], f64)], start: [f64; 3]) -> Vec<f64> {
        let mut normal = Normal::new(3);
        for (terms, value) in samples {
            let terms: Vec<_> = terms.iter().copied().enumerate().collect();
            normal.add(&terms, *value, 1.0);
        }
        normal.solve(&start)
    }

    #[test]
    fn coefficients_are_found_again_from_every_start() {
        let terms = [[1.0, 0.0, 2.0], [1.0, 3.0, 0.0], [1.0, 1.0, 100.0], [0.0, 5.0, 7.0]];
        let of = [4.0, 0.5, 0.02];
        let samples = terms.map(|terms| (terms, terms.iter().zip(of).map(|(term, of)| term * of).sum()));
        for start in [[0.0; 3], [1.0; 3], [0.0, 9.0, 0.0]] {
            for (found, of) in solved(&samples, start).into_iter().zip(of) {
                assert!((found - of).abs() < 1e-5, "{found} for {of}");
            }
        }
    }

    #[test]
    fn a_coefficient_that_would_be_negative_is_none_and_the_others_make_up_for_it() {
        // The best free fit of the first two is (2, -1).
        let samples = [([1.0, 0.0, 0.0], 2.0), ([1.0, 1.0, 0.0], 1.0), ([0.0, 0.0, 1.0], 3.0)];
        for start in [[0.0; 3], [1.0, 1.0, 1.0]] {
            let found = solved(&samples, start);
            for (found, expected) in found.iter().zip([1.5, 0.0, 3.0]) {
                assert!((found - expected).abs() < 1e-6, "{found} for {expected}");
            }
        }
    }
}
