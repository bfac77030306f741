//! Elements: values of their bits, and the nearest bits of a value.

use float8::{F8E4M3, F8E5M2};
use tilewright_contract::Fp8;

/// The value of an element; exact. Infinity and NaN are themselves.
pub(super) fn element(format: Fp8, bits: u8) -> f64 {
    match format {
        Fp8::E4m3 => F8E4M3::from_bits(bits).to_f64(),
        Fp8::E5m2 => F8E5M2::from_bits(bits).to_f64(),
    }
}

/// The bits of the nearest element, ties to even; beyond the largest that one. `value` is a number.
pub(super) fn nearest(format: Fp8, value: f64) -> u8 {
    let most = f64::from(format.largest());
    let value = value.clamp(-most, most);
    match format {
        Fp8::E4m3 => F8E4M3::from_f64(value).to_bits(),
        Fp8::E5m2 => F8E5M2::from_f64(value).to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every finite element of a format, in order.
    fn elements(format: Fp8) -> Vec<(f64, u8)> {
        let mut all: Vec<_> = (0..=u8::MAX).map(|bits| (element(format, bits), bits)).collect();
        all.retain(|(value, _)| value.is_finite());
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    #[test]
    fn rounding_is_to_nearest_even_between_all_neighbors() {
        for (format, count) in [(Fp8::E4m3, 254), (Fp8::E5m2, 248)] {
            let all = elements(format);
            assert_eq!(all.len(), count);
            for &(value, bits) in &all {
                assert_eq!(nearest(format, value), bits, "{format}: {value}");
                assert!(!format.is_nan(bits));
            }
            for pair in all.windows(2).filter(|pair| pair[0].0 != pair[1].0) {
                let [(low, low_bits), (high, high_bits)] = [pair[0], pair[1]];
                let middle = (low + high) / 2.0;
                let even = if low_bits % 2 == 0 { low } else { high };
                let rounded = |value: f64| element(format, nearest(format, value));
                assert_eq!(rounded(middle), even, "{format}: {low_bits:#x}, {high_bits:#x}");
                assert_eq!(rounded(middle.next_down()), low, "{format}: below {middle}");
                assert_eq!(rounded(middle.next_up()), high, "{format}: above {middle}");
            }
            for most in [1.0, -1.0].map(|sign| sign * f64::from(format.largest())) {
                assert_eq!(element(format, nearest(format, most * 1000.0)), most);
            }
        }
    }

    #[test]
    fn the_instruction_of_the_gpu_rounds_the_same_on_the_host() {
        use kernels_gpu::ptx::convert::f32_to_fp8x2;
        // All exponents, both signs; a step that is prime.
        let values = (0..u32::MAX)
            .step_by(9973)
            .map(f32::from_bits)
            .filter(|value| value.is_finite());
        for value in values {
            for format in Fp8::ALL {
                let [expected, negated] = [value, -value].map(|value| u32::from(nearest(format, f64::from(value))));
                let pair = f32_to_fp8x2(format, [value, -value]);
                assert_eq!(pair, expected | negated << 8, "{format}: {value:e}");
            }
        }
        for format in Fp8::ALL {
            let [infinite, nan] = [f32::INFINITY, f32::NAN].map(|of| f32_to_fp8x2(format, [of; 2]) as u8);
            assert_eq!(element(format, infinite), f64::from(format.largest()));
            assert!(format.is_nan(nan));
        }
    }

    #[test]
    fn the_bits_of_nan_are_those_of_the_contract() {
        for format in Fp8::ALL {
            for bits in 0..=u8::MAX {
                assert_eq!(
                    element(format, bits).is_nan(),
                    format.is_nan(bits),
                    "{format} {bits:#x}"
                );
            }
        }
    }
}
