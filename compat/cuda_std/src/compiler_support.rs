//! Operations that LLVM's NVPTX back end cannot compile, or compiles inexactly: `cuda_builder` replaces them by calls
//! of these functions.
//!
//! - The remainder of floats (`frem`): the back end calculates `x - trunc(x / y) * y`, which is wrong where the
//!   quotient has more bits than a mantissa.
//! - Casts between floats and 128-bit integers: the back end has no library to call for them.
//!
//! All are calculated in integers. They are visible under these names in device code; on the host they are ordinary
//! functions.

/// Declares the remainder of one type of floats: C's `fmod`, exact.
///
/// A finite number is a mantissa times a power of two. The dividend's mantissa is shifted left by the difference of the
/// exponents, as many bits at once as a `u64` has room for, and after each shift the remainder by the divisor's
/// mantissa is taken: 40 bits a step for `f32`, 11 for `f64`.
macro_rules! remainder {
    ($name:ident, $float:ident, $bits:ident) => {
        #[doc = concat!("The remainder of two `", stringify!($float), "`, with the sign of the dividend.")]
        #[cfg_attr(target_arch = "nvptx64", unsafe(no_mangle))]
        pub extern "C" fn $name(dividend: $float, divisor: $float) -> $float {
            const FRACTION_BITS: u32 = $float::MANTISSA_DIGITS - 1;
            const IMPLICIT: $bits = 1 << FRACTION_BITS;
            const SIGN: $bits = 1 << ($bits::BITS - 1);
            const ROOM: u32 = u64::BITS - $float::MANTISSA_DIGITS;
            /// Mantissa and exponent; subnormal numbers have the exponent of the smallest normal ones.
            fn parts(magnitude: $bits) -> (u64, u32) {
                match (magnitude >> FRACTION_BITS) as u32 {
                    0 => (magnitude.into(), 1),
                    exponent => ((magnitude & (IMPLICIT - 1) | IMPLICIT).into(), exponent),
                }
            }

            let (sign, x, y) = (
                dividend.to_bits() & SIGN,
                dividend.to_bits() & !SIGN,
                divisor.to_bits() & !SIGN,
            );
            let infinity = $float::INFINITY.to_bits();
            if x >= infinity || y > infinity || y == 0 {
                return $float::NAN;
            }
            if x < y {
                return dividend;
            }
            let ((mut rest, x_exponent), (modulus, exponent)) = (parts(x), parts(y));
            let mut shift = x_exponent - exponent;
            rest %= modulus;
            while shift > 0 && rest != 0 {
                let step = shift.min(ROOM);
                rest = (rest << step) % modulus;
                shift -= step;
            }
            if rest == 0 {
                return $float::from_bits(sign);
            }
            // Normalize to the mantissa's width, or to the smallest exponent.
            let missing = rest.leading_zeros().saturating_sub(ROOM).min(exponent - 1);
            let (mantissa, exponent) = ((rest << missing) as $bits, exponent - missing);
            // The implicit bit, where there is one, makes up the 1 that the exponent lacks.
            $float::from_bits(sign | (((exponent - 1) as $bits) << FRACTION_BITS) + mantissa)
        }
    };
}

remainder! { cuda_std_frem_f32, f32, u32 }
remainder! { cuda_std_frem_f64, f64, u64 }

/// Declares the casts between one type of floats and 128-bit integers, with the results of `as`.
macro_rules! casts {
    ($float:ident, $bits:ident, $to_u128:ident, $to_i128:ident, $from_u128:ident, $from_i128:ident) => {
        #[doc = concat!("`", stringify!($float), "` to `u128`: towards 0, saturating; 0 of NaN.")]
        #[cfg_attr(target_arch = "nvptx64", unsafe(no_mangle))]
        pub extern "C" fn $to_u128(x: $float) -> u128 {
            const FRACTION_BITS: u32 = $float::MANTISSA_DIGITS - 1;
            const ONE: $bits = (1.0 as $float).to_bits();
            const INFINITY: $bits = $float::INFINITY.to_bits();
            let bits = x.to_bits();
            // A negative number has the highest bit set.
            if !(ONE..=INFINITY).contains(&bits) {
                return 0;
            }
            let power = ((bits - ONE) >> FRACTION_BITS) as u32;
            if power >= u128::BITS {
                return u128::MAX;
            }
            let mantissa = u128::from(bits & ((1 << FRACTION_BITS) - 1) | 1 << FRACTION_BITS);
            match power.checked_sub(FRACTION_BITS) {
                Some(left) => mantissa << left,
                None => mantissa >> (FRACTION_BITS - power),
            }
        }

        #[doc = concat!("`", stringify!($float), "` to `i128`: towards 0, saturating; 0 of NaN.")]
        #[cfg_attr(target_arch = "nvptx64", unsafe(no_mangle))]
        pub extern "C" fn $to_i128(x: $float) -> i128 {
            let magnitude = $to_u128(x.abs());
            match (x.is_sign_negative(), i128::try_from(magnitude)) {
                (false, Ok(magnitude)) => magnitude,
                (true, Ok(magnitude)) => -magnitude,
                (false, Err(_)) => i128::MAX,
                (true, Err(_)) => i128::MIN,
            }
        }

        #[doc = concat!("`u128` to `", stringify!($float), "`: to the nearest, from halfway to the even one.")]
        #[cfg_attr(target_arch = "nvptx64", unsafe(no_mangle))]
        pub extern "C" fn $from_u128(x: u128) -> $float {
            const FRACTION_BITS: u32 = $float::MANTISSA_DIGITS - 1;
            const ONE: $bits = (1.0 as $float).to_bits();
            if x == 0 {
                return 0.0;
            }
            let zeros = x.leading_zeros();
            let normalized = x << zeros;
            let mantissa = (normalized >> (u128::BITS - $float::MANTISSA_DIGITS)) as $bits;
            let rest = normalized << $float::MANTISSA_DIGITS;
            let half = 1 << (u128::BITS - 1);
            let round_up = $bits::from(rest > half || rest == half && mantissa & 1 == 1);
            let exponent = ((u128::BITS - 1 - zeros) as $bits) << FRACTION_BITS;
            // A mantissa that overflows carries into the exponent, as far as infinity.
            $float::from_bits(ONE + exponent + (mantissa & !(1 << FRACTION_BITS)) + round_up)
        }

        #[doc = concat!("`i128` to `", stringify!($float), "`: to the nearest, from halfway to the even one.")]
        #[cfg_attr(target_arch = "nvptx64", unsafe(no_mangle))]
        pub extern "C" fn $from_i128(x: i128) -> $float {
            let magnitude = $from_u128(x.unsigned_abs());
            if x < 0 { -magnitude } else { magnitude }
        }
    };
}

casts! { f32, u32, cuda_std_f32_to_u128, cuda_std_f32_to_i128, cuda_std_u128_to_f32, cuda_std_i128_to_f32 }
casts! { f64, u64, cuda_std_f64_to_u128, cuda_std_f64_to_i128, cuda_std_u128_to_f64, cuda_std_i128_to_f64 }

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator of random bits (SplitMix64), so that a failure repeats.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = self.0;
            bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            bits ^ bits >> 31
        }

        /// A 128-bit integer of random width.
        fn wide(&mut self) -> u128 {
            let bits = u128::from(self.next()) << 64 | u128::from(self.next());
            bits >> (self.next() % 128)
        }
    }

    /// Both zeros, the ends of each range, and numbers at which integers saturate; each with its neighbors and with
    /// both signs.
    macro_rules! special {
        ($float:ident) => {{
            let numbers = [
                0.0,
                $float::MIN_POSITIVE,
                0.5,
                1.0,
                1.5,
                3.0,
                0.1,
                100.0,
                1e10,
                (1u64 << 24) as $float,
                (1u64 << 53) as $float,
                (1u128 << 127) as $float,
                u128::MAX as $float,
                $float::MAX,
                $float::INFINITY,
                $float::NAN,
            ];
            let neighbors = numbers
                .into_iter()
                .flat_map(|x: $float| [x.next_down(), x, x.next_up()]);
            neighbors.flat_map(|x| [x, -x]).collect::<Vec<$float>>()
        }};
    }

    macro_rules! remainders_are_exact {
        ($float:ident, $bits:ident, $frem:ident) => {{
            let check = |x: $float, y: $float| {
                let (ours, host) = ($frem(x, y), x % y);
                let same = ours.to_bits() == host.to_bits() || ours.is_nan() && host.is_nan();
                std::assert!(same, "{x:e} % {y:e} is {host:e}, not {ours:e}");
            };
            let special = special!($float);
            for &x in &special {
                special.iter().for_each(|&y| check(x, y));
            }
            let mut random = Random(1);
            for _ in 0..200_000 {
                let [x, y] = [(); 2].map(|()| random.next() as $bits);
                check($float::from_bits(x), $float::from_bits(y));
                // Near exponents and a common power of two.
                let near = y.wrapping_add((x % 64) << ($float::MANTISSA_DIGITS - 1));
                check($float::from_bits(near ^ (x >> 40 % $bits::BITS)), $float::from_bits(y));
                check($float::from_bits(near), $float::from_bits(y & !0xfff));
                // Subnormal divisors, and dividends.
                check($float::from_bits(x), $float::from_bits(y >> (x % 22 + 9)));
                check($float::from_bits(x >> 9), $float::from_bits(y >> (x % 22 + 9)));
            }
        }};
    }

    #[test]
    fn remainders_are_the_hosts() {
        std::assert_eq!(cuda_std_frem_f32(100.0, 0.1), 0.09999851);
        std::assert_eq!(cuda_std_frem_f32(1e10, 3.0), 1.0);
        remainders_are_exact!(f32, u32, cuda_std_frem_f32);
        remainders_are_exact!(f64, u64, cuda_std_frem_f64);
    }

    macro_rules! casts_agree_with_as {
        ($float:ident, $bits:ident, $to_u128:ident, $to_i128:ident, $from_u128:ident, $from_i128:ident) => {{
            let to = |x: $float| {
                std::assert_eq!($to_u128(x), x as u128, "{x:e}");
                std::assert_eq!($to_i128(x), x as i128, "{x:e}");
            };
            let from = |x: u128| {
                std::assert_eq!($from_u128(x).to_bits(), (x as $float).to_bits(), "{x}");
                std::assert_eq!($from_i128(x as i128).to_bits(), (x as i128 as $float).to_bits(), "{x}");
            };
            special!($float).into_iter().for_each(to);
            for power in 0..128 {
                let x = 1u128 << power;
                [
                    x,
                    x - 1,
                    x + 1,
                    !x,
                    x | x >> 24,
                    x | x >> 25,
                    x | x >> 53,
                    x | x >> 54,
                    u128::MAX - x,
                ]
                .into_iter()
                .for_each(from);
                to(x as $float);
            }
            from(0);
            from(u128::MAX);
            let mut random = Random(2);
            for _ in 0..200_000 {
                to($float::from_bits(random.next() as $bits));
                to(random.wide() as $float * 1.3);
                let wide = random.wide();
                from(wide);
                // Halfway, and one beside it, at either type's width.
                for digits in [24, 53] {
                    let below = 127u32.saturating_sub(wide.leading_zeros()).saturating_sub(digits);
                    let half = (wide >> below | 1) << below;
                    [half, half - 1, half.wrapping_add(1)].into_iter().for_each(from);
                }
            }
        }};
    }

    #[test]
    fn casts_are_the_hosts() {
        casts_agree_with_as!(
            f32,
            u32,
            cuda_std_f32_to_u128,
            cuda_std_f32_to_i128,
            cuda_std_u128_to_f32,
            cuda_std_i128_to_f32
        );
        casts_agree_with_as!(
            f64,
            u64,
            cuda_std_f64_to_u128,
            cuda_std_f64_to_i128,
            cuda_std_u128_to_f64,
            cuda_std_i128_to_f64
        );
    }
}
