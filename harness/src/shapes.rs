//! Random shapes: log-uniform extents, the same for a seed on every machine.

use tilewright::Transpose;
use tilewright::random::random_matrix;

use crate::bench::Layout;

/// The seed of the shapes on which the choice is judged.
pub const PICK_SEED: u64 = 2026;

/// The seed of the random shapes that the model is fitted to, besides listed ones.
pub const TRAINING_SEED: u64 = 1;

/// The seed of the random shapes that `tilewright bench` times where it is given none: no other use has seen them.
pub const BENCH_SEED: u64 = 42;

/// The least and the largest extent.
const EXTENTS: [f64; 2] = [16.0, 8192.0];

/// Products of larger shapes take milliseconds each, and any large tile is good for them.
const MOST_PRODUCTS: f64 = (1_u64 << 36) as f64;

/// `count` shapes (m, n, k), each extent log-uniform between 16 and 8192, without those of more than 2^36
/// multiplications.
pub fn log_uniform(seed: u64, count: usize) -> impl Iterator<Item = [usize; 3]> {
    let [least, most] = EXTENTS.map(f64::ln);
    let extent = |uniform: f64| (least + (most - least) * (uniform + 1.0) / 2.0).exp().round() as usize;
    let is_small = |shape: &[usize; 3]| shape.iter().map(|&extent| extent as f64).product::<f64>() <= MOST_PRODUCTS;
    // One shape in 160 is too large. With some seeds the first few are.
    let mut drawn = 2 * count;
    loop {
        let uniform: Vec<f64> = random_matrix(seed, 3 * drawn);
        let shapes = uniform.as_chunks::<3>().0.iter().map(|extents| extents.map(extent));
        let shapes: Vec<_> = shapes.filter(is_small).take(count).collect();
        if shapes.len() == count {
            return shapes.into_iter();
        }
        drawn *= 2;
    }
}

/// The layout of the shape of this number: NN, NT, TN, TT by turns.
pub fn layout(number: usize) -> [Transpose; 2] {
    Layout::ALL[number % Layout::ALL.len()].transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_means_the_same_shapes_for_ever() {
        let first: Vec<_> = log_uniform(PICK_SEED, 400).collect();
        assert_eq!(first[..2], [[2439, 3004, 1341], [56, 31, 65]]);
        assert_eq!(log_uniform(PICK_SEED, 20).collect::<Vec<_>>(), first[..20]);
        let training: BTreeSet<_> = log_uniform(TRAINING_SEED, 400).collect();
        let timed: BTreeSet<_> = log_uniform(BENCH_SEED, 400).collect();
        assert!(
            first.iter().chain(&timed).all(|shape| !training.contains(shape)),
            "judged on other shapes than fitted to"
        );
        assert!(first.iter().all(|shape| !timed.contains(shape)));
    }

    #[test]
    fn a_seed_that_begins_with_large_shapes_gives_as_many() {
        // Of the first two shapes of this seed both are too large.
        let seed = 973;
        let five: Vec<_> = log_uniform(seed, 5).collect();
        assert_eq!(log_uniform(seed, 1).collect::<Vec<_>>(), five[..1]);
        assert_eq!(log_uniform(seed, 0).count(), 0);
    }

    #[test]
    fn every_octave_has_as_many_extents() {
        let shapes: Vec<_> = log_uniform(7, 3000).collect();
        let extents = || shapes.iter().flatten().copied();
        assert!(extents().all(|extent| (16..=8192).contains(&extent)));
        for octave in 4..10 {
            // 9 octaves; large shapes are left out, so that the lower ones have a little more than a ninth.
            let share = extents().filter(|extent| extent.ilog2() == octave).count() as f64 / 9000.0;
            assert!((0.10..0.15).contains(&share), "{octave}: {share}");
        }
    }
}
