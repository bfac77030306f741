//! `GpuFloat`, `FloatExt`, and the re-exported `half` and `vek`.

use cuda_std::prelude::*;
use cuda_std::vek::{Mat2, Vec3};
use cuda_std::{bf16, half, FloatExt, GpuFloat};

/// Declares, for one type, a kernel that writes each method's result at each argument, and the same calculation for the
/// host.
macro_rules! methods {
    ($(#[$doc:meta])* $kernel:ident, $host:ident, $count:ident, $float:ident, |$x:ident| [$($result:expr),* $(,)?]) => {
        /// The results for each argument.
        pub const $count: usize = [$(stringify!($result)),*].len();

        $(#[$doc])*
        #[kernel]
        pub unsafe fn $kernel(input: &[$float], out: *mut $float) {
            let i = thread::index_1d() as usize;
            if i < input.len() {
                let $x = input[i];
                let mut at = out.add(i * $count);
                $(
                    *at = $result;
                    at = at.add(1);
                )*
                let _ = at;
            }
        }

        /// What the kernel writes for one argument.
        pub fn $host($x: $float) -> [$float; $count] {
            [$($result),*]
        }
    };
}

macro_rules! gpu_float_methods {
    ($kernel:ident, $host:ident, $count:ident, $float:ident) => {
        methods! {
            /// Every method of [`GpuFloat`], for an argument from 0.1 to 0.9.
            $kernel, $host, $count, $float, |x| [
                GpuFloat::floor(x * 9.0), GpuFloat::ceil(x * 9.0), GpuFloat::round(x * 9.0), GpuFloat::trunc(x * -9.0),
                GpuFloat::fract(x * 8.0), GpuFloat::abs(-x), GpuFloat::signum(-x), GpuFloat::copysign(x, -0.0),
                GpuFloat::mul_add(x, 3.0, 0.5), GpuFloat::div_euclid(x * -9.0, 2.0),
                GpuFloat::rem_euclid(x * -8.0, 3.0), GpuFloat::powi(x, 5), GpuFloat::powi(x, -3),
                GpuFloat::powf(x, 2.5), GpuFloat::sqrt(x), GpuFloat::exp(x), GpuFloat::exp2(x), GpuFloat::ln(x),
                GpuFloat::log(x, 3.0), GpuFloat::log10(x), GpuFloat::cbrt(x), GpuFloat::hypot(x, 2.0), GpuFloat::sin(x),
                GpuFloat::cos(x), GpuFloat::tan(x), GpuFloat::asin(x), GpuFloat::acos(x), GpuFloat::atan(x),
                GpuFloat::atan2(x, -2.0), GpuFloat::sin_cos(x).0, GpuFloat::sin_cos(x * 100.0).1, GpuFloat::exp_m1(x),
                GpuFloat::ln_1p(x), GpuFloat::sinh(x), GpuFloat::cosh(x), GpuFloat::tanh(x), GpuFloat::asinh(x),
                GpuFloat::acosh(x + 1.0), GpuFloat::atanh(x),
                // The published one is the logarithm to the base 10.
                GpuFloat::log2(x),
            ]
        }
    };
}

gpu_float_methods! { gpu_float_f32, gpu_float_f32_on_host, GPU_FLOAT_F32, f32 }
gpu_float_methods! { gpu_float_f64, gpu_float_f64_on_host, GPU_FLOAT_F64, f64 }

macro_rules! float_ext_methods {
    ($kernel:ident, $host:ident, $count:ident, $float:ident) => {
        methods! {
            /// Every method of [`FloatExt`], for an argument from 0.1 to 0.9.
            $kernel, $host, $count, $float, |x| [
                x.cospi(), x.error_function(), x.complementary_error_function(), x.inv_complementary_error_function(),
                x.scaled_complementary_error_function(), x.frexp().0, x.frexp().1 as $float, x.unbiased_exp() as $float,
                x.j0(), x.j1(), x.jn(3), x.ldexp(3), x.log_gamma(), x.log1p(), x.norm_cdf(), x.inv_norm_cdf(),
                x.rcbrt(), (x * 2.0).saturate(), x.scale_by_n(-2), x.sincospi().0, x.sincospi().1, x.sinpi(),
                FloatExt::gamma(x), x.y0(), x.y1(), x.yn(2),
            ]
        }
    };
}

float_ext_methods! { float_ext_f32, float_ext_f32_on_host, FLOAT_EXT_F32, f32 }
float_ext_methods! { float_ext_f64, float_ext_f64_on_host, FLOAT_EXT_F64, f64 }

/// Sine, cosine and tangent of angles of any size.
#[kernel]
pub unsafe fn angles(input: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < input.len() {
        let (sine, cosine) = GpuFloat::sin_cos(input[i]);
        let results = [sine, cosine, GpuFloat::tan(input[i])];
        for (j, result) in results.iter().enumerate() {
            *out.add(3 * i + j) = *result;
        }
    }
}

macro_rules! half_operators {
    ($kernel:ident, $float:ident) => {
        /// Sum, difference, product and quotient of each two neighbors in one of the 16-bit types, as bits, and then
        /// which of `<`, `<=`, `==` hold, in the low bits. The numbers are the low halves of the words.
        #[kernel]
        pub unsafe fn $kernel(input: &[u32], out: *mut u32) {
            let i = thread::index_1d() as usize;
            if i + 1 < input.len() {
                for (j, result) in half_operators(
                    $float::from_bits(input[i] as u16),
                    $float::from_bits(input[i + 1] as u16),
                    $float::to_bits,
                )
                .iter()
                .enumerate()
                {
                    *out.add(5 * i + j) = *result;
                }
            }
        }
    };
}

half_operators! { f16_operators, f16 }
half_operators! { bf16_operators, bf16 }

fn half_operators<T>(a: T, b: T, to_bits: fn(T) -> u16) -> [u32; 5]
where
    T: Copy
        + PartialOrd
        + core::ops::Add<Output = T>
        + core::ops::Sub<Output = T>
        + core::ops::Mul<Output = T>
        + core::ops::Div<Output = T>,
{
    let comparisons = u32::from(a < b) << 2 | u32::from(a <= b) << 1 | u32::from(a == b);
    // The bits of a NaN are the hardware's.
    let bits = |x: T| {
        if x.partial_cmp(&x).is_none() {
            0x7fff
        } else {
            u32::from(to_bits(x))
        }
    };
    [bits(a + b), bits(a - b), bits(a * b), bits(a / b), comparisons]
}

/// Doubles each number in half precision and in bfloat16: reads the bits of both, packed two to a word.
#[kernel]
pub unsafe fn half_precision(packed: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    if i < packed.len() {
        let a = f16::from_bits(packed[i] as u16);
        let b = bf16::from_bits((packed[i] >> 16) as u16);
        let (a, b) = (
            half::f16::from_f32(a.to_f32() * 2.0),
            half::bf16::from_f32(b.to_f32() * 2.0),
        );
        *out.add(i) = u32::from(a.to_bits()) | u32::from(b.to_bits()) << 16;
    }
}

/// Writes the dot product, the length, and the components of the cross product of `a` and `b`, and then a rotated
/// vector.
#[kernel]
pub unsafe fn vectors(a: Vec3<f32>, b: Vec3<f32>, out: *mut f32) {
    let cross = a.cross(b);
    let turned = Mat2::new(0.0, -1.0, 1.0, 0.0) * a.xy();
    let results = [
        a.dot(b),
        (a - b).magnitude(),
        cross.x,
        cross.y,
        cross.z,
        turned.x,
        turned.y,
    ];
    for (i, result) in results.iter().enumerate() {
        *out.add(i) = *result;
    }
}

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case, Data};

    let numbers: Vec<f64> = (0..60).map(|i| 0.1 + 0.8 * f64::from(i) / 59.0).collect();
    let singles: Vec<f32> = numbers.iter().map(|&x| x as f32).collect();
    let over_singles = |kernel, results: Vec<f32>| {
        let input = Argument::Slice(Data::F32(singles.clone()));
        Case::new(kernel, 2, 32, vec![input, Argument::out_f32(results, 2e-6)])
    };
    let over_doubles = |kernel, results: Vec<f64>| {
        let input = Argument::Slice(Data::F64(numbers.clone()));
        Case::new(kernel, 2, 32, vec![input, Argument::out_f64(results, 1e-13)])
    };
    // Around the end of the fast reduction, and the nearest ones to multiples of a quarter turn.
    let large = [
        4.712_389f32,
        -252.898_21,
        -65_535.996,
        65_536.0,
        1e6,
        21_999_385_000.0,
        -7.729_179e28,
        f32::MAX,
    ];
    // Ties, subnormal numbers and overflows of one or the other type; no sum or quotient is NaN, whose bits may differ.
    let halves = [
        1.0f32, 1.0009766, -3.0, 0.1, 6e-8, -6e-8, 65504.0, 65504.0, 1e-39, 3e38, -2.0, 1e-5, 1e-5, 0.33,
    ];
    let over_halves = |kernel, input: [u16; 14], results: fn(u16, u16) -> [u32; 5]| {
        let results: Vec<u32> = input.windows(2).flat_map(|pair| results(pair[0], pair[1])).collect();
        let input = Argument::Slice(Data::U32(input.map(u32::from).to_vec()));
        Case::new(kernel, 1, 32, vec![input, Argument::out_u32(results)])
    };
    let pairs = [(1.0f32, -0.5f32), (0.25, 3.0), (-100.0, 1e-3), (0.1, 1e30)];
    let pack = |factor: f32| {
        pairs.map(|(a, b)| {
            let (a, b) = (half::f16::from_f32(a), half::bf16::from_f32(b));
            let (a, b) = (
                half::f16::from_f32(a.to_f32() * factor),
                half::bf16::from_f32(b.to_f32() * factor),
            );
            u32::from(a.to_bits()) | u32::from(b.to_bits()) << 16
        })
    };
    let vector = |x: f32, y: f32, z: f32| Argument::Value([x, y, z].iter().flat_map(|c| c.to_ne_bytes()).collect());
    vec![
        over_singles(
            entry!(gpu_float_f32(_, _)),
            singles.iter().flat_map(|&x| gpu_float_f32_on_host(x)).collect(),
        ),
        over_doubles(
            entry!(gpu_float_f64(_, _)),
            numbers.iter().flat_map(|&x| gpu_float_f64_on_host(x)).collect(),
        ),
        over_singles(
            entry!(float_ext_f32(_, _)),
            singles.iter().flat_map(|&x| float_ext_f32_on_host(x)).collect(),
        ),
        over_doubles(
            entry!(float_ext_f64(_, _)),
            numbers.iter().flat_map(|&x| float_ext_f64_on_host(x)).collect(),
        ),
        Case::new(
            entry!(angles(_, _)),
            1,
            32,
            vec![
                Argument::Slice(Data::F32(large.to_vec())),
                Argument::out_f32(large.iter().flat_map(|&x| [x.sin(), x.cos(), x.tan()]), 3e-7),
            ],
        ),
        over_halves(
            entry!(f16_operators(_, _)),
            halves.map(|x| half::f16::from_f32(x).to_bits()),
            |a, b| half_operators(f16::from_bits(a), f16::from_bits(b), f16::to_bits),
        ),
        over_halves(
            entry!(bf16_operators(_, _)),
            halves.map(|x| half::bf16::from_f32(x).to_bits()),
            |a, b| half_operators(bf16::from_bits(a), bf16::from_bits(b), bf16::to_bits),
        ),
        Case::new(
            entry!(half_precision(_, _)),
            1,
            4,
            vec![
                Argument::Slice(Data::U32(pack(1.0).to_vec())),
                Argument::out_u32(pack(2.0)),
            ],
        ),
        Case::new(
            entry!(vectors(_, _, _)),
            1,
            1,
            vec![
                vector(1.0, 2.0, 3.0),
                vector(3.0, 2.0, -1.0),
                Argument::out_f32([4.0, 20.0f32.sqrt(), -8.0, 10.0, -4.0, -2.0, 1.0], 1e-6),
            ],
        ),
    ]
}
