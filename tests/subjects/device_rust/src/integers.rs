//! Integers of every width.

use crate::support::digest;

fn wide(input: &[u64], at: usize) -> u128 {
    u128::from(input[at]) << 64 | u128::from(input[at + 1])
}

fn store(x: u128, output: &mut [u64]) {
    output[0] = (x >> 64) as u64;
    output[1] = x as u64;
}

/// The same operations on one type: results as words.
macro_rules! operations {
    ($name:ident, $type:ty) => {
        subject! {
            /// Wrapping, checked, saturating and overflowing arithmetic, rotations, counts, division.
            fn $name(input: &[u64; 4], output: &mut [u64; 20]) {
                let [x, y] = [input[0] as $type ^ (input[2] as $type).rotate_left(3), input[1] as $type];
                let shift = input[3] as u32;
                let option = |x: Option<$type>| x.map_or(77, |x| x as u64);
                let pair = |(x, overflow): ($type, bool)| x as u64 ^ u64::from(overflow) << 63;
                *output = [
                    x.wrapping_add(y) as u64,
                    x.wrapping_mul(y) as u64,
                    option(x.checked_sub(y)),
                    option(x.checked_mul(y)),
                    option(x.checked_div(y)),
                    option(x.checked_rem(y)),
                    option(x.checked_shl(shift % 160)),
                    x.saturating_add(y) as u64,
                    x.saturating_sub(y) as u64,
                    x.saturating_mul(y) as u64,
                    pair(x.overflowing_add(y)),
                    pair(x.overflowing_sub(y)),
                    pair(x.overflowing_mul(y)),
                    x.rotate_left(shift % 64) as u64 ^ x.rotate_right(shift % 7) as u64,
                    u64::from(x.leading_zeros()) << 32
                        | u64::from(x.trailing_zeros()) << 16
                        | u64::from(x.count_ones()),
                    x.swap_bytes() as u64 ^ y.reverse_bits() as u64,
                    option(x.checked_rem_euclid(y)) ^ option(x.checked_div_euclid(y)).rotate_left(11),
                    x.wrapping_pow(shift % 37) as u64 ^ option(x.checked_pow(shift % 5)),
                    x.wrapping_shl(shift) as u64 ^ x.wrapping_shr(shift) as u64,
                    option(x.checked_ilog2().map(|x| x as $type))
                        ^ option(x.checked_ilog10().map(|x| x as $type)) << 16,
                ];
            }
        }
    };
}

operations!(operations_u8, u8);
operations!(operations_i8, i8);
operations!(operations_u16, u16);
operations!(operations_i16, i16);
operations!(operations_u32, u32);
operations!(operations_i32, i32);
operations!(operations_u64, u64);
operations!(operations_i64, i64);
operations!(operations_u128, u128);
operations!(operations_i128, i128);

subject! {
    /// Full-width product and quotient of 128 bits.
    fn u128_mul_div(input: &[u64; 4], output: &mut [u64; 8]) {
        let (x, y) = (wide(input, 0), wide(input, 2));
        store(x.wrapping_mul(y), &mut output[0..]);
        store(x / y.max(1), &mut output[2..]);
        store(x % y.max(1), &mut output[4..]);
        store(x / u128::from(input[3].max(1)), &mut output[6..]);
    }
}

subject! {
    /// Signed quotients of 128 bits, by small and by large divisors.
    fn i128_div(input: &[u64; 4], output: &mut [u64; 8]) {
        let (x, y) = (wide(input, 0) as i128, wide(input, 2) as i128);
        let y = if y == 0 { -3 } else { y };
        store(x.wrapping_div(y) as u128, &mut output[0..]);
        store(x.wrapping_rem(y) as u128, &mut output[2..]);
        store(
            x.wrapping_rem_euclid(i128::from(input[3] as i8) | 1) as u128,
            &mut output[4..],
        );
        store((x / 1_000_000_007) as u128, &mut output[6..]);
    }
}

subject! {
    /// Shifts of 128 bits across the halves.
    fn u128_shifts(input: &[u64; 3], output: &mut [u64; 8]) {
        let x = wide(input, 0);
        let n = (input[2] % 128) as u32;
        store(x << n, &mut output[0..]);
        store(x >> n, &mut output[2..]);
        store((x as i128 >> n) as u128, &mut output[4..]);
        store(x.rotate_left(n) ^ x.reverse_bits(), &mut output[6..]);
    }
}

subject! {
    /// Integer square roots of every width.
    fn isqrt(input: &[u64; 2], output: &mut [u64; 6]) {
        let [x, y] = *input;
        *output = [
            u64::from((x as u8).isqrt()),
            u64::from((x as u16).isqrt()),
            u64::from((x as u32).isqrt()),
            x.isqrt(),
            (y as i64).checked_isqrt().map_or(u64::MAX, |root| root as u64),
            (u128::from(x) << 64 | u128::from(y)).isqrt() as u64,
        ];
    }
}

subject! {
    /// Logarithms to several bases.
    fn ilog(input: &[u64; 3], output: &mut [u64; 5]) {
        let x = input[0].max(1);
        *output = [
            u64::from(x.ilog2()),
            u64::from(x.ilog10()),
            u64::from(x.ilog(2 + input[1] % 20)),
            u64::from((u128::from(x) * u128::from(input[2].max(1))).ilog10()),
            u64::from((x as u32).max(1).ilog(3)),
        ];
    }
}

subject! {
    /// Sums and products of 256 bits by carries.
    fn carries(input: &[u64; 8], output: &mut [u64; 12]) {
        let (a, b) = input.split_at(4);
        let (mut carry, mut borrow) = (false, false);
        for i in 0..4 {
            let (sum, c1) = a[i].overflowing_add(b[i]);
            let (sum, c2) = sum.overflowing_add(u64::from(carry));
            carry = c1 | c2;
            output[i] = sum;
            let (difference, b1) = a[i].overflowing_sub(b[i]);
            let (difference, b2) = difference.overflowing_sub(u64::from(borrow));
            borrow = b1 | b2;
            output[4 + i] = difference;
        }
        let mut high = 0;
        for i in 0..4 {
            let product = u128::from(a[i]) * u128::from(b[0]) + u128::from(high);
            output[8 + i] = product as u64;
            high = (product >> 64) as u64;
        }
        output[0] ^= u64::from(carry);
        output[4] ^= u64::from(borrow);
    }
}

subject! {
    /// Arithmetic across signedness and distances.
    fn mixed_signs(input: &[u64; 4], output: &mut [u64; 8]) {
        let (x, y) = (input[0], input[1] as i64);
        *output = [
            x.wrapping_add_signed(y),
            x.checked_add_signed(y).unwrap_or(5),
            x.saturating_add_signed(y),
            (y.wrapping_add_unsigned(x)) as u64,
            x.abs_diff(input[2]),
            y.abs_diff(input[3] as i64),
            y.unsigned_abs() ^ y.signum() as u64,
            (input[2] as i8).abs_diff(input[3] as i8).into(),
        ];
    }
}

subject! {
    /// Conversions between widths, with and without a check.
    fn conversions(input: &[u64; 4], output: &mut [u64; 10]) {
        let x = input[0];
        let signed = input[1] as i64;
        *output = [
            u8::try_from(x).map_or(256, u64::from),
            u16::try_from(signed).map_or(70_000, u64::from),
            i8::try_from(signed).map_or(300, |x| x as u64),
            i32::try_from(x).map_or(9, |x| x as u64),
            u32::try_from(i128::from(signed) * i128::from(x)).map_or(8, u64::from),
            x as u8 as i8 as i64 as u64,
            x as i16 as i128 as u64,
            (signed as i128 >> 3) as u64,
            signed as u128 as u64 ^ (signed as u128 >> 64) as u64,
            u64::from_str_radix("7f", 16 + (x % 3) as u32).unwrap_or(3) ^ x,
        ];
    }
}

subject! {
    /// Multiples, powers of two, midpoints, ceiling quotients.
    fn rounding(input: &[u64; 4], output: &mut [u64; 9]) {
        let [x, y, a, b] = *input;
        let d = y.max(1);
        *output = [
            x.div_ceil(d),
            x.checked_next_multiple_of(d).unwrap_or(1),
            x.checked_next_power_of_two().unwrap_or(0),
            u64::from(x.is_power_of_two()) | u64::from(x.is_multiple_of(y)) << 1,
            x.midpoint(y),
            (a as i32).midpoint(b as i32) as u64,
            (a as i64).wrapping_div_euclid(b as i64 | 1) as u64,
            (a as i64).wrapping_rem_euclid(b as i64 | 1) as u64,
            (a as i8).wrapping_div(b as i8 | 1) as u64,
        ];
    }
}

subject! {
    /// Greatest common divisors and modular powers.
    fn number_theory(input: &[u64; 3], output: &mut [u64; 4]) {
        fn gcd(a: u64, b: u64) -> u64 {
            if b == 0 { a } else { gcd(b, a % b) }
        }
        let modulus = input[2].max(2);
        let (mut base, mut exponent, mut power) = (input[0] % modulus, input[1], 1u64);
        while exponent > 0 {
            if exponent & 1 == 1 {
                power = (u128::from(power) * u128::from(base) % u128::from(modulus)) as u64;
            }
            base = (u128::from(base) * u128::from(base) % u128::from(modulus)) as u64;
            exponent >>= 1;
        }
        let prime = 1_000_000_007u64;
        *output = [
            gcd(input[0], input[1]),
            power,
            input[0] % prime * (input[1] % prime) % prime,
            modulus,
        ];
    }
}

subject! {
    /// Division by constants, which becomes multiplication.
    fn constant_divisors(input: &[u64; 2], output: &mut [u64; 10]) {
        let x = input[0];
        let y = input[1] as i64;
        *output = [
            x / 7,
            x % 10,
            x / 1_000_000_007,
            (x as u32 / 7).into(),
            (x as u8 % 3).into(),
            (y / -5) as u64,
            (y % 12) as u64,
            (y as i32 / 641) as u64,
            (y as i16 % -100) as u64,
            y.div_euclid(1 << 7) as u64,
        ];
    }
}

subject! {
    /// Bit tricks: lowest bit, Gray code, Morton code, parity, popcount by hand, bit permutation.
    fn bit_tricks(input: &[u64; 2], output: &mut [u64; 8]) {
        let [x, y] = *input;
        let spread = |x: u64| {
            let mut x = x & 0xffff_ffff;
            for (shift, mask) in [
                (16, 0x0000_ffff_0000_ffff),
                (8, 0x00ff_00ff_00ff_00ff),
                (4, 0x0f0f_0f0f_0f0f_0f0f),
            ] {
                x = (x | x << shift) & mask;
            }
            x = (x | x << 2) & 0x3333_3333_3333_3333;
            (x | x << 1) & 0x5555_5555_5555_5555
        };
        let mut gray = x ^ x >> 1;
        output[0] = gray;
        for shift in [1, 2, 4, 8, 16, 32] {
            gray ^= gray >> shift;
        }
        output[1] = gray ^ y;
        output[2] = spread(x) | spread(y) << 1;
        output[3] = x & x.wrapping_neg();
        output[4] = u64::from((x ^ y).count_ones() & 1);
        let mut count = x;
        let mut steps = 0u64;
        while count != 0 {
            count &= count.wrapping_sub(1);
            steps += 1;
        }
        output[5] = steps;
        output[6] = (x & y) + ((x ^ y) >> 1);
        output[7] = (0..64).fold(0, |bits, i| bits | (x >> i & 1) << (i * 37 + y % 64) % 64);
    }
}

subject! {
    /// CRC and xorshift in loops over bits.
    fn shift_registers(input: &[u64; 4], output: &mut [u64; 4]) {
        *output = input.map(|x| {
            let mut crc = !0u32;
            for byte in x.to_le_bytes() {
                crc ^= u32::from(byte);
                for _ in 0..8 {
                    crc = crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
                }
            }
            let mut state = x | 1;
            for _ in 0..10 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
            }
            digest([u64::from(crc), state])
        });
    }
}
