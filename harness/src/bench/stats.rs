//! Medians and quartiles: what is left of a sample.

use serde::Serialize;

/// The middle of a sample and the middles of its halves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quartiles {
    /// A quarter of the sample lies below.
    pub q1: f64,
    /// Half of it.
    pub median: f64,
    /// Three quarters.
    pub q3: f64,
}

impl Quartiles {
    /// Those of a sample; `None` for an empty one.
    pub fn of(sample: &[f64]) -> Option<Self> {
        let mut sorted = sample.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |q| quantile(&sorted, q);
        Some(Self {
            q1: at(0.25)?,
            median: at(0.5)?,
            q3: at(0.75)?,
        })
    }
}

/// The value below which a fraction `q` of a sorted sample lies, interpolated between neighbours (R. J. Hyndman and Y.
/// Fan, "Sample quantiles in statistical packages", The American Statistician 50, 1996: definition 7). `None` for an
/// empty sample.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let position = sorted.len().checked_sub(1)? as f64 * q.clamp(0.0, 1.0);
    let (below, above) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    Some(below + (above - below) * position.fract())
}

/// The times of a peer over ours, pair by pair; `None` for empty samples.
pub fn ratios(ours: &[f64], peer: &[f64]) -> Option<Quartiles> {
    let ratios: Vec<f64> = ours.iter().zip(peer).map(|(ours, peer)| peer / ours).collect();
    Quartiles::of(&ratios)
}

/// The geometric mean; `None` for an empty sample.
pub fn geometric_mean(sample: &[f64]) -> Option<f64> {
    let logarithms: f64 = sample.iter().map(|value| value.ln()).sum();
    (!sample.is_empty()).then(|| (logarithms / sample.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_known_samples() {
        assert_eq!(Quartiles::of(&[]), None);
        let one = Quartiles::of(&[3.0]).expect("not empty");
        assert_eq!((one.q1, one.median, one.q3), (3.0, 3.0, 3.0));
        // The order does not matter.
        let five = Quartiles::of(&[5.0, 1.0, 4.0, 2.0, 3.0]).expect("not empty");
        assert_eq!((five.q1, five.median, five.q3), (2.0, 3.0, 4.0));
        // R: quantile(c(1, 2, 4, 8)) gives 1.75, 3, 5.
        let four = Quartiles::of(&[8.0, 4.0, 2.0, 1.0]).expect("not empty");
        assert_eq!((four.q1, four.median, four.q3), (1.75, 3.0, 5.0));
    }

    #[test]
    fn quantiles_reach_both_ends_and_no_further() {
        let sorted = [1.0, 2.0, 10.0];
        assert_eq!(quantile(&sorted, 0.0), Some(1.0));
        assert_eq!(quantile(&sorted, 1.0), Some(10.0));
        assert_eq!(quantile(&sorted, 7.0), Some(10.0));
    }

    #[test]
    fn the_geometric_mean_of_a_ratio_and_its_inverse_is_one() {
        assert_eq!(geometric_mean(&[]), None);
        let mean = geometric_mean(&[0.5, 2.0, 4.0, 0.25]).expect("not empty");
        assert!((mean - 1.0).abs() < 1e-15, "{mean}");
    }
}
