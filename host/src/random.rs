//! Random matrices for tests, verification and benchmarks; the same numbers on every machine and in every release.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use crate::element::Element;

/// Elements drawn from one stream of the generator. Part of what a seed means: another number, other matrices.
const STREAM_ELEMS: usize = 1 << 16;

/// `len` independent elements, uniform on the 2ˢ odd multiples of 2⁻ˢ in (-1, 1), where s is the number of significand
/// bits of `T`. All of them are exact in `T`; none is 0 or ±1. One seed gives nearby numbers in every type.
///
/// The generator is ChaCha with 8 rounds, the seed as the low end of its key, stream `i` for the elements from `i *
/// 65536`, so that streams are drawn in parallel.
pub fn random_matrix<T: Element>(seed: u64, len: usize) -> Vec<T> {
    let bits = T::DTYPE.significand_bits();
    let scale = (-f64::from(bits)).exp2();
    let mut matrix = vec![T::from_f64(0.0); len];
    matrix
        .par_chunks_mut(STREAM_ELEMS)
        .enumerate()
        .for_each(|(stream, elements)| {
            let mut rng = generator(seed, stream as u64);
            for element in elements {
                // 2i + 1 - 2^s for i in 0..2^s: at most 53 bits and a sign, exact in i64 and in f64.
                let i = (rng.next_u64() >> (64 - bits)) as i64;
                *element = T::from_f64((2 * i + 1 - (1 << bits)) as f64 * scale);
            }
        });
    matrix
}

/// A stream of the generator of [`random_matrix`], at its start.
pub(crate) fn generator(seed: u64, stream: u64) -> ChaCha8Rng {
    // Not `seed_from_u64`, whose mixing is the library's own and free to change.
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(stream);
    rng
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn a_seed_means_the_same_numbers_for_ever() {
        let first: Vec<f32> = random_matrix(1, 3);
        // From a ChaCha8 written independently of this library.
        let expected = [-3_976_555.0, -6_881_097.0, 10_007_751.0].map(|odd: f32| odd / (1 << 24) as f32);
        assert_eq!(first, expected);
        // Neither the length nor the stream boundary matters.
        let long: Vec<f32> = random_matrix(1, STREAM_ELEMS + 5);
        assert_eq!(long[..3], expected);
        assert_eq!(random_matrix::<f32>(1, STREAM_ELEMS + 1), long[..STREAM_ELEMS + 1]);
        assert_ne!(long[STREAM_ELEMS..], long[..5], "streams differ");
        assert_ne!(random_matrix::<f32>(2, 3), expected, "seeds differ");
    }

    #[test]
    fn elements_fill_the_open_interval_evenly() {
        fn holds<T: Element>() {
            let len = 1 << 14;
            let values: Vec<f64> = random_matrix::<T>(7, len).into_iter().map(Element::to_f64).collect();
            assert!(values.iter().all(|x| x.abs() < 1.0 && *x != 0.0), "{}", T::DTYPE);
            let mean = values.iter().sum::<f64>() / len as f64;
            let square = values.iter().map(|x| x * x).sum::<f64>() / len as f64;
            // Six standard deviations of the mean (sqrt(1/3)/128) and of the mean square (sqrt(4/45)/128).
            assert!(mean.abs() < 0.028, "{}: mean {mean}", T::DTYPE);
            assert!((square - 1.0 / 3.0).abs() < 0.014, "{}: mean square {square}", T::DTYPE);
        }
        holds::<f32>();
        holds::<f64>();
        holds::<f16>();
        holds::<bf16>();
    }

    #[test]
    fn one_seed_gives_nearby_numbers_in_every_type() {
        let wide: Vec<f64> = random_matrix(3, 1000);
        let narrow: Vec<bf16> = random_matrix(3, 1000);
        assert!(
            wide.iter()
                .zip(&narrow)
                .all(|(w, n)| (w - Element::to_f64(*n)).abs() <= 1.0 / 256.0)
        );
    }
}
