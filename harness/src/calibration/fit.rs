//! A robust fit of nonnegative coefficients to times.

use super::nonnegative::Normal;

/// A measured launch.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The terms that are not 0, by the numbers of their coefficients.
    pub terms: Vec<(usize, f64)>,
    /// Microseconds.
    pub us: f64,
    /// How much it matters.
    pub weight: f64,
}

/// Coefficients that are known before a sample is seen, and how much they count against all samples of each.
#[derive(Clone, Copy, Debug)]
pub struct Prior<'p> {
    /// The coefficients.
    pub coefficients: &'p [f64],
    /// Their share of the weight of the samples.
    pub strength: f64,
}

/// Logarithm of a ratio above which a sample counts as an outlier: launches of one kernel differ by less.
const OUTLIER: f64 = 0.05;

/// Steps of the fit; after half as many the coefficients have their digits.
const STEPS: usize = 10;

/// Coefficients, none of them negative, with the least weighted squares of logarithms of estimate over time; outliers
/// count by their distance, not its square. Each step solves the problem that is linear about the estimates before.
pub fn fit(samples: &[Sample], prior: Prior<'_>) -> Vec<f64> {
    let len = prior.coefficients.len();
    let mut ridge = vec![1e-9; len];
    for sample in samples {
        for &(at, term) in &sample.terms {
            ridge[at] += prior.strength * sample.weight * (term / sample.us).powi(2);
        }
    }
    let mut found = prior.coefficients.to_vec();
    for step in 0..STEPS {
        let mut normal = Normal::new(len);
        for Sample { terms, us, weight } in samples {
            // At first the times stand for their estimates.
            let estimate = match step {
                0 => *us,
                _ => terms
                    .iter()
                    .map(|(at, term)| term * found[*at])
                    .sum::<f64>()
                    .max(0.02 * us),
            };
            let off = (estimate / us).ln();
            let weight = weight / (1.0 + (off / OUTLIER).powi(2)).sqrt() / estimate.powi(2);
            normal.add(terms, estimate * (1.0 - off.clamp(-1.0, 0.9)), weight);
        }
        for (at, (before, ridge)) in prior.coefficients.iter().zip(&ridge).enumerate() {
            normal.add(&[(at, 1.0)], *before, *ridge);
        }
        found = normal.solve(&found);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Launches of 2 us and 3 more for each unit of work, the last of them disturbed.
    fn samples(disturbed: f64) -> Vec<Sample> {
        let of = |work: f64| Sample {
            terms: vec![(0, 1.0), (1, work)],
            us: 2.0 + 3.0 * work,
            weight: 1.0,
        };
        let mut samples: Vec<_> = (0..20).map(|work| of(f64::from(work))).collect();
        samples[19].us *= disturbed;
        samples
    }

    const NOTHING: Prior<'_> = Prior {
        coefficients: &[0.0; 2],
        strength: 1e-9,
    };

    #[test]
    fn a_model_is_found_again_in_spite_of_an_outlier() {
        for disturbed in [1.0, 5.0, 0.2] {
            let found = fit(&samples(disturbed), NOTHING);
            let is_near = |found: f64, of: f64| (found / of - 1.0).abs() < 0.02;
            assert!(
                is_near(found[0], 2.0) && is_near(found[1], 3.0),
                "{disturbed}: {found:?}"
            );
        }
    }

    #[test]
    fn a_prior_counts_as_much_as_it_is_strong() {
        let with = |strength| {
            let prior = Prior {
                coefficients: &[2.0, 6.0],
                strength,
            };
            fit(&samples(1.0), prior)[1]
        };
        assert!((with(1e-9) - 3.0).abs() < 1e-3);
        assert!((with(1e9) - 6.0).abs() < 1e-3);
        assert!((3.1..5.9).contains(&with(0.1)), "{}", with(0.1));
    }
}
