//! Elements and scales of the formats: values of their bits, and the nearest bits of a value.

use float8::F8E4M3;
use tilewright_contract::BlockFormat;

/// The magnitudes of e2m1, by their bits.
const E2M1: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

/// The largest magnitude of an element.
pub(super) const fn largest(format: BlockFormat) -> f64 {
    match format {
        BlockFormat::Nvfp4 | BlockFormat::Mxfp4 => 6.0,
        BlockFormat::Mxfp8 => 448.0,
    }
}

/// The largest ue4m3 scale.
pub(super) const LARGEST_UE4M3: f64 = 448.0;

/// The value of an element; exact.
pub(super) fn element(format: BlockFormat, bits: u8) -> f64 {
    match format {
        BlockFormat::Nvfp4 | BlockFormat::Mxfp4 => {
            let magnitude = E2M1[usize::from(bits & 7)];
            if bits & 8 == 0 { magnitude } else { -magnitude }
        }
        BlockFormat::Mxfp8 => F8E4M3::from_bits(bits).to_f64(),
    }
}

/// The bits of the nearest element, ties to even; beyond the largest that one. `value` is a number.
pub(super) fn nearest(format: BlockFormat, value: f64) -> u8 {
    match format {
        BlockFormat::Nvfp4 | BlockFormat::Mxfp4 => {
            let magnitude = value.abs();
            let above = E2M1.iter().position(|&of| of >= magnitude).unwrap_or(7);
            let below = above.saturating_sub(1);
            let middle = (E2M1[above] + E2M1[below]) / 2.0;
            let is_below = magnitude < middle || magnitude == middle && below % 2 == 0;
            let bits = if is_below { below } else { above } as u8;
            if value.is_sign_negative() { bits | 8 } else { bits }
        }
        BlockFormat::Mxfp8 => {
            let most = largest(format);
            F8E4M3::from_f64(value.clamp(-most, most)).to_bits()
        }
    }
}

/// The value of a scale; NaN for the bits that are none. Exact.
pub(super) fn scale(format: BlockFormat, bits: u8) -> f64 {
    match format.scale_is_exponent() {
        true if bits == 0xff => f64::NAN,
        true => f64::exp2(f64::from(bits) - 127.0),
        false => F8E4M3::from_bits(bits & 0x7f).to_f64(),
    }
}

/// Whether these bits are a scale: not NaN, and without a sign.
pub(super) fn is_scale(format: BlockFormat, bits: u8) -> bool {
    match format.scale_is_exponent() {
        true => bits != 0xff,
        false => bits < 0x7f,
    }
}

/// The bits of the scale for a block whose largest magnitude is `largest_of_block` (in units of the matrix's factor).
///
/// NVFP4: the ue4m3 nearest to the quotient by the largest element. The MX formats: the power of two that brings the
/// largest magnitude into the binade of the largest element (OCP MX 1.0, section 6.3); of a block of zeros the
/// smallest.
pub(super) fn scale_for(format: BlockFormat, largest_of_block: f64) -> u8 {
    match format.scale_is_exponent() {
        false => F8E4M3::from_f64((largest_of_block / largest(format)).min(LARGEST_UE4M3)).to_bits(),
        true => {
            let exponent = |value: f64| value.log2().floor();
            let shared = exponent(largest_of_block) - exponent(largest(format));
            // The logarithm of 0 is -inf.
            (shared + 127.0).clamp(0.0, 254.0) as u8
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element of a format, in order, without NaN.
    fn elements(format: BlockFormat) -> Vec<(f64, u8)> {
        let bits = 0..=u8::MAX >> (8 - format.element_bits());
        let mut all: Vec<_> = bits.map(|bits| (element(format, bits), bits)).collect();
        all.retain(|(value, _)| !value.is_nan());
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    #[test]
    fn rounding_is_to_nearest_even_between_all_neighbors() {
        for format in BlockFormat::ALL {
            let all = elements(format);
            for &(value, bits) in &all {
                assert_eq!(nearest(format, value), bits, "{format}: {value}");
            }
            for pair in all.windows(2).filter(|pair| pair[0].0 != pair[1].0) {
                let [(low, low_bits), (high, high_bits)] = [pair[0], pair[1]];
                let middle = (low + high) / 2.0;
                let even = if low_bits % 2 == 0 { low } else { high };
                let rounded = |value: f64| element(format, nearest(format, value));
                assert_eq!(
                    rounded(middle),
                    even,
                    "{format}: between {low_bits:#x} and {high_bits:#x}"
                );
                assert_eq!(rounded(middle.next_down()), low, "{format}");
                assert_eq!(rounded(middle.next_up()), high, "{format}");
            }
            for most in [1.0, -1.0].map(|sign| sign * largest(format)) {
                assert_eq!(element(format, nearest(format, most * 1000.0)), most);
            }
        }
    }

    #[test]
    fn scales_bring_a_block_into_range() {
        for (format, largest_of_block, expected) in [
            (BlockFormat::Nvfp4, 6.0, 1.0),
            (BlockFormat::Nvfp4, 0.0, 0.0),
            (BlockFormat::Nvfp4, 1e9, 448.0),
            (BlockFormat::Mxfp4, 6.0, 1.0),
            (BlockFormat::Mxfp4, 7.9, 1.0),
            (BlockFormat::Mxfp4, 8.0, 2.0),
            (BlockFormat::Mxfp8, 256.0, 1.0),
            (BlockFormat::Mxfp8, 255.0, 0.5),
            (BlockFormat::Mxfp8, 0.0, f64::exp2(-127.0)),
        ] {
            let bits = scale_for(format, largest_of_block);
            assert_eq!(scale(format, bits), expected, "{format}: {largest_of_block}");
            assert!(is_scale(format, bits));
        }
    }
}
