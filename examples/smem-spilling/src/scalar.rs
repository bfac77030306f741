//! Element types on the host, and random numbers of them.

use std::fmt::Display;

use cust::memory::DeviceCopy;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::kernels::inverse8::Scalar;

/// An element type of a problem.
pub trait Real: Scalar + DeviceCopy + Display + Into<f64> + Send + Sync {
    /// Bits of the significand, the implicit one included.
    const BITS: u32;

    /// The nearest number of this type.
    fn nearest(value: f64) -> Self;
}

impl Real for f32 {
    const BITS: u32 = f32::MANTISSA_DIGITS;

    fn nearest(value: f64) -> Self {
        value as f32
    }
}

impl Real for f64 {
    const BITS: u32 = f64::MANTISSA_DIGITS;

    fn nearest(value: f64) -> Self {
        value
    }
}

/// The largest relative error of one rounding to nearest.
pub fn unit_roundoff<T: Real>() -> f64 {
    (-f64::from(T::BITS)).exp2()
}

/// `len` random numbers, uniform on the odd multiples of the [`unit_roundoff`] in (-1, 1): none is 0.
pub fn uniform<T: Real>(seed: u64, len: usize) -> Vec<T> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = || {
        // 2i + 1 - 2^b for i in 0..2^b: at most 53 bits and a sign, exact in i64 and in f64.
        let i = (random.next_u64() >> (64 - T::BITS)) as i64;
        T::nearest((2 * i + 1 - (1 << T::BITS)) as f64 * unit_roundoff::<T>())
    };
    (0..len).map(|_| draw()).collect()
}

/// The place of the first number that differs in its bits. All NaNs are equal to one another: what no kernel wrote.
pub fn first_difference<T: Real>(one: &[T], other: &[T]) -> Option<usize> {
    // Widening is exact: bits that differ still do.
    let bits = |value: &T| -> u64 {
        let value: f64 = (*value).into();
        if value.is_nan() { u64::MAX } else { value.to_bits() }
    };
    one.iter().zip(other).position(|(a, b)| bits(a) != bits(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fills_the_open_interval<T: Real>() {
        let numbers: Vec<f64> = uniform::<T>(7, 1 << 14).into_iter().map(T::into).collect();
        assert!(numbers.iter().all(|x| x.abs() < 1.0 && *x != 0.0));
        // Six standard deviations of the mean: sqrt(1/3)/128.
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        assert!(mean.abs() < 0.028, "{mean}");
        let differ = first_difference(&uniform::<T>(8, 3), &uniform::<T>(7, 3));
        assert_eq!(differ, Some(0), "seeds differ");
    }

    #[test]
    fn random_numbers_fill_the_open_interval() {
        fills_the_open_interval::<f32>();
        fills_the_open_interval::<f64>();
    }

    #[test]
    fn one_bit_is_a_difference() {
        assert_eq!(first_difference(&[1.0_f32, f32::NAN], &[1.0, -f32::NAN]), None);
        assert_eq!(first_difference(&[1.0_f64, 0.0], &[1.0, -0.0]), Some(1));
        assert_eq!(first_difference(&[1.0_f32], &[1.0_f32.next_up()]), Some(0));
    }
}
