//! Crates of numbers: `num-traits`, `num-integer`, `libm`, `half`, `ordered-float`, `glam`, `ryu`, `itoa`.

use glam::{Affine3A, DMat3, DVec3, IVec3, Mat4, Quat, Vec2, Vec3, Vec3A, Vec4};
use half::{bf16, f16};
use num_integer::{Integer, Roots};
use num_traits::{Bounded, CheckedAdd, CheckedMul, Float, FromPrimitive, PrimInt, ToPrimitive, WrappingMul, Zero};
use ordered_float::{NotNan, OrderedFloat};

use crate::support::{bits32, bits64, digest, moderate, pack};

subject! {
    /// `num-traits`: one generic function over integers of several widths.
    fn num_traits_integers(input: &[u64; 4], output: &mut [u64; 8]) {
        fn work<T: PrimInt + FromPrimitive + ToPrimitive + WrappingMul + CheckedAdd + CheckedMul + Bounded>(
            x: u64,
            y: u64,
        ) -> u64 {
            let fold = |x: u64| {
                T::from_u64(x)
                    .or_else(|| T::from_u64(x & 0x7f))
                    .unwrap_or_else(T::max_value)
            };
            let (a, b) = (fold(x), fold(y));
            let sum = a.checked_add(&b).unwrap_or_else(T::min_value);
            let product = a.checked_mul(&b).unwrap_or_else(T::one);
            let power = num_traits::checked_pow(b, 3).unwrap_or_else(T::zero);
            let mixed = a.wrapping_mul(&b).rotate_left(3) ^ sum ^ product.swap_bytes() ^ power;
            mixed.to_u64().unwrap_or(u64::from(mixed.leading_zeros())) ^ u64::from(a.count_ones()) << 50
        }
        let [x, y, ..] = *input;
        *output = [
            work::<u8>(x, y),
            work::<i8>(x, y),
            work::<i16>(x, y),
            work::<u32>(x, y),
            work::<i64>(x, y),
            work::<u128>(x, y),
            num_traits::clamp(input[2], 10, 1 << 50),
            f64::from_u64(input[3]).and_then(|x| x.to_u32()).map_or(5, u64::from),
        ];
    }
}

subject! {
    /// `num-traits`: generic floats, of operations that are exact.
    fn num_traits_floats(input: &[u64; 8], output: &mut [u64; 6]) {
        fn norm<T: Float + Zero>(values: impl Iterator<Item = T>) -> T {
            values.fold(T::zero(), |sum, x| sum + x * x).sqrt()
        }
        let x = input.map(moderate);
        let (mantissa, exponent, sign) = x[0].integer_decode();
        *output = [
            bits64(norm(x.into_iter())),
            bits32(norm(x.iter().map(|x| *x as f32))),
            mantissa ^ (exponent as u64) << 48 ^ sign as u64,
            bits64(Float::floor(x[1]) + Float::fract(x[2])),
            bits64(Float::powi(x[3], (input[4] % 5) as i32)),
            bits32(Float::round(x[5] as f32)),
        ];
    }
}

subject! {
    /// `num-integer`: divisors, floors, roots, extended Euclid.
    fn num_integer(input: &[u64; 4], output: &mut [u64; 8]) {
        let [x, y, z, w] = *input;
        let (a, b) = (x as i64 >> 1, (y as i64 >> 1) | 1);
        let gcd = (a >> 20).extended_gcd(&(b >> 20));
        *output = [
            x.gcd(&y),
            (x >> 33).lcm(&(y >> 33)),
            Integer::div_floor(&a, &b) as u64,
            Integer::mod_floor(&a, &b) as u64,
            gcd.gcd as u64 ^ (gcd.x as u64).rotate_left(20) ^ (gcd.y as u64).rotate_left(40),
            z.sqrt() ^ z.cbrt() << 32,
            z.nth_root(1 + (w % 9) as u32),
            num_integer::binomial(w % 30, z % 30),
        ];
    }
}

subject! {
    /// `libm`: elementary functions, which are software on both sides.
    fn libm_elementary(input: &[u64; 4], output: &mut [u64; 16]) {
        for k in 0..4 {
            let x = moderate(input[k]) / 1000.0;
            output[4 * k..][..4].copy_from_slice(&[
                bits64(libm::sin(x)),
                bits64(libm::exp(x / 100.0)),
                bits64(libm::log(x * x + 0.1)),
                bits64(libm::pow(x * x + 0.5, 0.3)),
            ]);
        }
    }
}

subject! {
    /// `libm` of f32.
    fn libm_elementary_f32(input: &[u64; 4], output: &mut [u64; 20]) {
        for k in 0..4 {
            let x = (moderate(input[k]) / 1000.0) as f32;
            output[5 * k..][..5].copy_from_slice(
                &[
                    libm::cosf(x),
                    libm::tanhf(x),
                    libm::cbrtf(x),
                    libm::atan2f(x, 1.5),
                    libm::log2f(x * x + 0.25),
                ]
                .map(bits32),
            );
        }
    }
}

subject! {
    /// `libm`: special functions and parts of floats.
    fn libm_parts(input: &[u64; 6], output: &mut [u64; 12]) {
        for k in 0..3 {
            let (x, y) = (f64::from_bits(input[k]), moderate(input[3 + k]));
            let (mantissa, exponent) = if x.is_finite() { libm::frexp(x) } else { (y, 0) };
            output[4 * k..][..4].copy_from_slice(&[
                bits64(mantissa) ^ exponent as u64,
                bits64(libm::ldexp(y, (input[k] % 100) as i32 - 50)),
                bits64(libm::hypot(y, 3.0)),
                bits64(libm::fmod(x, y + 0.5)),
            ]);
        }
    }
}

subject! {
    /// `half`: f16 and bf16, conversions with rounding.
    fn half_floats(input: &[u64; 8], output: &mut [u64; 16]) {
        for k in 0..8 {
            let (x, y) = (f32::from_bits(input[k] as u32), moderate(input[k] >> 7) / 64.0);
            let (a, b) = (f16::from_f64(y), f16::from_bits(input[k] as u16));
            let (c, d) = (bf16::from_f32(x), bf16::from_f64(y));
            let sum = a + b;
            output[2 * k] = bits32(sum.to_f32()) ^ bits64(b.to_f64()).rotate_left(9);
            output[2 * k + 1] = bits32(c.to_f32()) ^ bits64((d * d).to_f64()) << 7 ^ u64::from(f16::from_f32(x) < a);
        }
    }
}

subject! {
    /// `ordered-float`: sort and hash of floats with NaN.
    fn ordered_floats(input: &[u64; 24], output: &mut [u64; 26]) {
        use core::hash::{BuildHasher, BuildHasherDefault};
        let mut floats = input.map(|x| OrderedFloat(f64::from_bits(x)));
        floats.sort();
        let largest = input.iter().filter_map(|x| NotNan::new(moderate(*x)).ok()).max();
        output[24] = largest.map_or(1, |x| bits64(*x));
        output[25] = BuildHasherDefault::<crate::support::Fnv>::default().hash_one(floats[3]);
        for (out, x) in output.iter_mut().zip(floats) {
            *out = bits64(x.0);
        }
    }
}

/// A vector of moderate elements.
fn vec3(words: &[u64]) -> Vec3 {
    Vec3::new(
        moderate(words[0]) as f32,
        moderate(words[1]) as f32,
        moderate(words[2]) as f32,
    ) / 1024.0
}

subject! {
    /// `glam`: sums and products of vectors, element by element.
    fn glam_vectors(input: &[u64; 6], output: &mut [u64; 8]) {
        let (a, b) = (vec3(input), vec3(&input[3..]));
        let integers = IVec3::new(input[0] as i32, input[1] as i32, input[2] as i32).wrapping_mul(IVec3::new(3, 5, 7));
        let wide =
            DVec3::new(moderate(input[0]), moderate(input[1]), moderate(input[2])).cross(DVec3::new(1.5, 2.5, 0.1));
        let mask = a.cmplt(b);
        *output = [
            bits32(a.dot(b)),
            bits32(a.cross(b).x),
            bits32((a * 2.0 - b).y),
            bits32(a.length_squared()),
            u64::from(mask.bitmask()) ^ bits32(Vec3::select(mask, a, b).z) << 8,
            bits64(wide.y),
            integers.x as u64 ^ (integers.y as u64) << 20 ^ (integers.z as u64) << 40,
            bits32(Vec2::new(a.x, b.y).perp_dot(Vec2::new(a.z, b.z))),
        ];
    }
}

subject! {
    /// `glam`: matrices and transforms without trigonometry.
    fn glam_matrices(input: &[u64; 16], output: &mut [u64; 20]) {
        let matrix = Mat4::from_cols_array(&input.map(|x| (x as i16) as f32 / 64.0));
        let product = matrix * matrix.transpose();
        let wide = DMat3::from_cols_array(&core::array::from_fn(|k| f64::from(input[k] as i8)));
        for (out, x) in output.iter_mut().zip(product.to_cols_array()) {
            *out = bits32(x);
        }
        output[16] = bits32((matrix * Vec4::new(1.0, 2.0, 3.0, 0.5)).y);
        output[17] = bits64(wide.determinant());
        output[18] = bits32(
            Affine3A::from_mat4(matrix)
                .transform_point3a(Vec3A::new(1.0, 0.5, 0.25))
                .z,
        );
        output[19] = bits32(
            (Quat::from_xyzw(0.5, 0.5, matrix.x_axis.x, 0.5) * Quat::from_xyzw(0.1, matrix.x_axis.y, 0.2, 0.3)).w,
        );
    }
}

subject! {
    stack_bytes: 8 << 10;
    /// `ryu`: shortest text of f64 and f32, and back.
    fn ryu_floats(input: &[u64; 2], output: &mut [u64; 14]) {
        let (x, y) = (f64::from_bits(input[0]), f32::from_bits(input[1] as u32));
        let mut buffer = ryu::Buffer::new();
        let text = buffer.format(x);
        output[12] = text.parse::<f64>().map_or(3, bits64);
        pack(text.as_bytes(), &mut output[..5]);
        pack(ryu::Buffer::new().format(y).as_bytes(), &mut output[5..8]);
        pack(
            ryu::Buffer::new().format(moderate(input[0])).as_bytes(),
            &mut output[8..12],
        );
        output[13] = digest(
            ryu::Buffer::new()
                .format(moderate(input[1]) as f32)
                .bytes()
                .map(u64::from),
        );
    }
}

subject! {
    /// `itoa`: text of integers of every width.
    fn itoa_integers(input: &[u64; 2], output: &mut [u64; 20]) {
        let [x, y] = *input;
        let mut buffer = itoa::Buffer::new();
        pack(
            buffer.format(u128::from(x) << 64 | u128::from(y)).as_bytes(),
            &mut output[..6],
        );
        pack(
            buffer.format((i128::from(x as i64) << 30) - 7).as_bytes(),
            &mut output[6..11],
        );
        pack(buffer.format(x).as_bytes(), &mut output[11..15]);
        pack(buffer.format(y as i32).as_bytes(), &mut output[15..18]);
        output[18] = digest(buffer.format(x as i8).bytes().map(u64::from));
        output[19] = digest(buffer.format(y as u16).bytes().map(u64::from));
    }
}
