//! Floating point of the operations that IEEE 754 fixes to the last bit.

use core::num::FpCategory;

use crate::support::{bits32, bits64, moderate};

/// Any float, NaN and infinities included.
fn any(x: u64) -> f64 {
    f64::from_bits(x)
}

fn any32(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

subject! {
    /// Sum, difference, product and quotient of f64.
    fn f64_arithmetic(input: &[u64; 8], output: &mut [u64; 32]) {
        for k in 0..8 {
            let (x, y) = (
                any(input[k]),
                if k % 2 == 0 {
                    any(input[7 - k])
                } else {
                    moderate(input[7 - k])
                },
            );
            output[4 * k..][..4].copy_from_slice(&[x + y, x - y, x * y, x / y].map(bits64));
        }
    }
}

subject! {
    /// Sum, difference, product and quotient of f32, subnormal numbers included.
    fn f32_arithmetic(input: &[u64; 8], output: &mut [u64; 40]) {
        for k in 0..8 {
            let (x, y) = (any32(input[k]), any32(input[7 - k] >> 32));
            let tiny = f32::from_bits(input[k] as u32 & 0x80ff_ffff);
            output[5 * k..][..5].copy_from_slice(&[x + y, x - y, x * y, x / y, tiny * 0.3].map(bits32));
        }
    }
}

subject! {
    /// A polynomial and a dot product, which must not be contracted.
    fn no_contraction(input: &[u64; 16], output: &mut [u64; 4]) {
        let x = input.map(moderate);
        let y = x.map(|x| x as f32);
        let horner = x.iter().fold(0.0, |sum, c| sum * 0.37 + c);
        let dot = x[..8].iter().zip(&x[8..]).fold(0.0, |sum, (a, b)| sum + a * b);
        let horner32 = y.iter().fold(0.0f32, |sum, c| sum * 0.37 + c);
        let determinant = y[0] * y[1] - y[2] * y[3];
        *output = [bits64(horner), bits64(dot), bits32(horner32), bits32(determinant)];
    }
}

subject! {
    /// Comparisons, which are false of NaN, and the total order.
    fn float_comparisons(input: &[u64; 16], output: &mut [u64; 15]) {
        for (out, pair) in output.iter_mut().zip(input.windows(2)) {
            let (x, y) = (any(pair[0]), any(pair[1]));
            let (p, q) = (any32(pair[0]), any32(pair[1]));
            let flags = [
                x < y,
                x <= y,
                x == y,
                x != y,
                !(x > y),
                p < q,
                p >= q,
                p == q,
                x.is_nan(),
                q.is_finite(),
            ];
            *out = flags.iter().fold(0, |bits, flag| bits << 1 | u64::from(*flag))
                | (x.total_cmp(&y) as i8 as u8 as u64) << 16
                | (p.total_cmp(&q) as i8 as u8 as u64) << 24;
        }
    }
}

subject! {
    /// Classes, signs, and parts of the representation.
    fn float_classes(input: &[u64; 8], output: &mut [u64; 16]) {
        let class = |class| match class {
            FpCategory::Nan => 1,
            FpCategory::Infinite => 2,
            FpCategory::Zero => 3,
            FpCategory::Subnormal => 4,
            FpCategory::Normal => 5,
        };
        for k in 0..8 {
            let mask = [
                u64::MAX,
                0x800f_ffff_ffff_ffff,
                0x8000_0000_0000_0000,
                0xfff0_0000_0000_0000,
            ][input[k] as usize % 4];
            let x = any(input[k] & mask);
            let y = any32(input[k] >> 32 & mask);
            output[2 * k] = class(x.classify())
                | u64::from(x.is_sign_negative()) << 4
                | u64::from(y.is_normal()) << 5
                | class(y.classify()) << 8;
            output[2 * k + 1] = bits64(x.abs()) ^ bits32(y.copysign(-1.0)) ^ bits64(x.signum()) << 1;
        }
    }
}

subject! {
    /// Saturating conversions of floats to integers of every width.
    fn float_to_int(input: &[u64; 4], output: &mut [u64; 40]) {
        for k in 0..4 {
            let x = if k % 2 == 0 { any(input[k]) } else { moderate(input[k]) };
            let y = x as f32;
            output[10 * k..][..10].copy_from_slice(&[
                x as u8 as u64,
                x as i8 as u64,
                x as u16 as u64,
                y as i16 as u64,
                x as u32 as u64,
                x as i32 as u64,
                y as u32 as u64,
                y as i32 as u64,
                x as u64,
                x as i64 as u64,
            ]);
            output[10 * k] ^= y as u64 ^ (y as i64 as u64).rotate_left(32);
        }
    }
}

subject! {
    /// Conversions of integers of every width to floats.
    fn int_to_float(input: &[u64; 4], output: &mut [u64; 40]) {
        for k in 0..4 {
            let x = input[k];
            output[10 * k..][..10].copy_from_slice(&[
                bits64(x as f64),
                bits64(x as i64 as f64),
                bits32(x as f32),
                bits32(x as i64 as f32),
                bits32(x as u32 as f32),
                bits32(x as i32 as f32),
                bits64(f64::from(x as u32)),
                bits64(f64::from(x as i32)),
                bits32(f32::from(x as i16)) ^ bits32(f32::from(x as u8)) << 32,
                bits64(f64::from(x as i8)),
            ]);
        }
    }
}

subject! {
    /// Conversions between 128-bit integers and floats.
    fn float_u128(input: &[u64; 4], output: &mut [u64; 16]) {
        for k in 0..2 {
            let x = u128::from(input[2 * k]) << 64 | u128::from(input[2 * k + 1]);
            let y = any(input[2 * k]);
            let small = moderate(input[2 * k]);
            let (wide, signed) = (y as u128, (small * small * small * 1e6) as i128);
            output[8 * k..][..8].copy_from_slice(&[
                bits64(x as f64),
                bits64(x as i128 as f64),
                bits32((x >> 3) as f32),
                bits32((x as i128 >> 5) as f32),
                (wide >> 64) as u64,
                wide as u64,
                signed as u64,
                any32(input[2 * k]) as i128 as u64,
            ]);
        }
    }
}

subject! {
    /// Narrowing to f32 and widening to f64, ties included.
    fn narrow_widen(input: &[u64; 8], output: &mut [u64; 16]) {
        for k in 0..8 {
            let x = any(input[k]);
            let tie = any(input[k] & !0x1fff_ffff | 0x1000_0000);
            output[2 * k] = bits32(x as f32) ^ bits32(tie as f32) << 32;
            output[2 * k + 1] = bits64(f64::from(any32(input[k])));
        }
    }
}

subject! {
    /// Remainders of f64, of quotients both small and huge.
    fn f64_remainder(input: &[u64; 8], output: &mut [u64; 16]) {
        for k in 0..8 {
            let (x, y) = (any(input[k]), moderate(input[7 - k]));
            output[2 * k] = bits64(moderate(input[k]) % (y + 0.1));
            output[2 * k + 1] = bits64(x % any(input[7 - k] ^ 1 << 60));
        }
    }
}

subject! {
    /// Remainders of f32, of quotients both small and huge.
    fn f32_remainder(input: &[u64; 8], output: &mut [u64; 24]) {
        for k in 0..8 {
            let (x, y) = (any32(input[k]), moderate(input[7 - k]) as f32);
            output[3 * k..][..3]
                .copy_from_slice(&[x % any32(input[7 - k]), 1e10 % y, (moderate(input[k]) as f32) % 0.1].map(bits32));
        }
    }
}

subject! {
    /// Fused multiply-add, which rounds once, and square roots.
    fn fused_and_sqrt(input: &[u64; 9], output: &mut [u64; 12]) {
        for k in 0..3 {
            let [x, y, z] = [
                any(input[3 * k]),
                moderate(input[3 * k + 1]),
                moderate(input[3 * k + 2]),
            ];
            output[4 * k..][..4].copy_from_slice(&[
                bits64(libm::fma(x, y, z)),
                bits32(libm::fmaf(x as f32, y as f32, z as f32)),
                bits64(libm::sqrt(x)),
                bits32(libm::sqrtf(y as f32)),
            ]);
        }
    }
}

subject! {
    /// Neighbors of floats.
    fn next_up_down(input: &[u64; 8], output: &mut [u64; 32]) {
        for k in 0..8 {
            let (x, y) = (any(input[k]), any32(input[k]));
            output[4 * k..][..4].copy_from_slice(&[
                bits64(x.next_up()),
                bits64(x.next_down()),
                bits32(y.next_up()),
                bits32(y.next_down()),
            ]);
        }
    }
}

subject! {
    /// Minimum, maximum and clamp of numbers without zeros of both signs.
    fn min_max_clamp(input: &[u64; 8], output: &mut [u64; 24]) {
        let positive = |x: f64| x * x + 0.5;
        for k in 0..8 {
            let (x, y) = (positive(moderate(input[k])), positive(moderate(input[7 - k])));
            let nan = if input[k] % 3 == 0 { f64::NAN } else { x };
            output[3 * k..][..3].copy_from_slice(&[
                bits64(x.min(y)) ^ bits64(nan.max(y)).rotate_left(1),
                bits64(x.clamp(2.0, 1e6)),
                bits32((x as f32).max(y as f32)) ^ bits32((nan as f32).min(y as f32)) << 32,
            ]);
        }
    }
}

subject! {
    /// Rounding to integers in four ways.
    fn round_floor_ceil_trunc(input: &[u64; 8], output: &mut [u64; 48]) {
        for k in 0..8 {
            let x = if k % 2 == 0 {
                moderate(input[k]) / 8.0
            } else {
                any(input[k])
            };
            let y = x as f32;
            output[6 * k..][..6].copy_from_slice(&[
                bits64(libm::floor(x)),
                bits64(libm::ceil(x)),
                bits64(libm::trunc(x)),
                bits64(libm::round(x)),
                bits32(libm::floorf(y)) ^ bits32(libm::ceilf(y)) << 32,
                bits32(libm::truncf(y)) ^ bits32(libm::roundf(y)) << 32,
            ]);
        }
    }
}

subject! {
    /// Euclidean remainder from `%`, and midpoints.
    fn float_euclid(input: &[u64; 8], output: &mut [u64; 16]) {
        for k in 0..8 {
            let (x, y) = (moderate(input[k]), moderate(input[7 - k]) + 0.25);
            let remainder = x % y;
            let remainder = if remainder < 0.0 {
                remainder + y.abs()
            } else {
                remainder
            };
            output[2 * k] = bits64(remainder);
            output[2 * k + 1] = bits64(x.midpoint(y)) ^ bits32((x as f32).recip()) ^ bits64(x.to_degrees()) << 1;
        }
    }
}

subject! {
    /// Sums in an order that is fixed: Kahan's, and of long series.
    fn kahan_sum(input: &[u64; 32], output: &mut [u64; 3]) {
        let (mut sum, mut carry, mut plain) = (0.0f32, 0.0f32, 0.0f32);
        for x in input {
            let x = moderate(*x) as f32 / 3.0;
            plain += x;
            let y = x - carry;
            let next = sum + y;
            carry = (next - sum) - y;
            sum = next;
        }
        *output = [bits32(sum), bits32(carry), bits32(plain)];
    }
}

subject! {
    /// Newton's iterations and a logistic map: chaos shows every lost bit.
    fn iterations(input: &[u64; 4], output: &mut [u64; 8]) {
        for k in 0..4 {
            let start = moderate(input[k]).abs() + 0.5;
            let mut root = start;
            for _ in 0..20 {
                root = 0.5 * (root + start / root);
            }
            let mut chaos = 1.0 / (1.0 + start);
            for _ in 0..100 {
                chaos = 3.9 * chaos * (1.0 - chaos);
            }
            output[2 * k] = bits64(root);
            output[2 * k + 1] = bits64(chaos) ^ bits32(chaos as f32 * 0.1);
        }
    }
}
