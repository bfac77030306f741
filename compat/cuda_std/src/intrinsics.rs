//! The functions of NVIDIA's libdevice by name, without libdevice.
//!
//! The published crate declares the functions of that bitcode file, of which a kernel calls some by their bare names
//! (`__nv_sinpi` is `sinpi`, and with an `f` at the end it takes an `f32`). Here they are calculated: by instructions
//! of the GPU where there are some, else by the `libm` crate and [`FloatExt`]. Results differ from libdevice's in the
//! last bits. [`GpuFloat`] and `FloatExt` are the better way to most of them.
//!
//! Suffixes name how a result is rounded: `_rn` to the nearest number, `_rz` towards 0, `_rd` down, `_ru` up. The
//! functions that start with `fast_` are the GPU's approximations, and accurate on the host. Unsigned integers are
//! passed in signed types, as there.
//!
//! All functions are unsafe because the published declarations are; only those that take pointers ask for something.
//! The meaning of each is in the libdevice user's guide, <https://docs.nvidia.com/cuda/libdevice-users-guide/>.

// The names are libdevice's, and what each means is there.
#![allow(clippy::missing_safety_doc)]

mod directed;
#[cfg(not(target_arch = "nvptx64"))]
mod rounded;

pub use directed::*;

use crate::{FloatExt, GpuFloat, compiler_support};

/// Declares functions by their calculation.
macro_rules! functions {
    ($($name:ident($($parameter:ident: $type:ty),*) $(-> $result:ty)? = $calculation:expr;)*) => {$(
        #[doc = concat!("`__nv_", stringify!($name), "` of libdevice.")]
        #[inline]
        pub unsafe fn $name($($parameter: $type),*) $(-> $result)? {
            $calculation
        }
    )*};
}

/// Declares functions of one number for `f64` and, with an `f` at the end, for `f32`: by methods.
macro_rules! methods {
    ($($name:ident $name_f32:ident = $trait:ident::$method:ident($($parameter:ident: $type:ty),*);)*) => {
        functions! {$(
            $name(x: f64 $(, $parameter: $type)*) -> f64 = $trait::$method(x $(, $parameter)*);
            $name_f32(x: f32 $(, $parameter: $type)*) -> f32 = $trait::$method(x $(, $parameter)*);
        )*}
    };
}

methods! {
    acos acosf = GpuFloat::acos();
    acosh acoshf = GpuFloat::acosh();
    asin asinf = GpuFloat::asin();
    asinh asinhf = GpuFloat::asinh();
    atan atanf = GpuFloat::atan();
    atanh atanhf = GpuFloat::atanh();
    cbrt cbrtf = GpuFloat::cbrt();
    ceil ceilf = GpuFloat::ceil();
    cos cosf = GpuFloat::cos();
    cosh coshf = GpuFloat::cosh();
    cospi cospif = FloatExt::cospi();
    erf erff = FloatExt::error_function();
    erfc erfcf = FloatExt::complementary_error_function();
    erfcinv erfcinvf = FloatExt::inv_complementary_error_function();
    erfcx erfcxf = FloatExt::scaled_complementary_error_function();
    exp expf = GpuFloat::exp();
    exp2 exp2f = GpuFloat::exp2();
    expm1 expm1f = GpuFloat::exp_m1();
    fabs fabsf = GpuFloat::abs();
    floor floorf = GpuFloat::floor();
    j0 j0f = FloatExt::j0();
    j1 j1f = FloatExt::j1();
    ldexp ldexpf = FloatExt::ldexp(exponent: i32);
    lgamma lgammaf = FloatExt::log_gamma();
    log logf = GpuFloat::ln();
    log10 log10f = GpuFloat::log10();
    log1p log1pf = GpuFloat::ln_1p();
    log2 log2f = GpuFloat::log2();
    normcdf normcdff = FloatExt::norm_cdf();
    normcdfinv normcdfinvf = FloatExt::inv_norm_cdf();
    powi powif = GpuFloat::powi(n: i32);
    rcbrt rcbrtf = FloatExt::rcbrt();
    round roundf = GpuFloat::round();
    scalbn scalbnf = FloatExt::scale_by_n(exponent: i32);
    sin sinf = GpuFloat::sin();
    sinh sinhf = GpuFloat::sinh();
    sinpi sinpif = FloatExt::sinpi();
    sqrt sqrtf = GpuFloat::sqrt();
    tan tanf = GpuFloat::tan();
    tanh tanhf = GpuFloat::tanh();
    tgamma tgammaf = FloatExt::gamma();
    trunc truncf = GpuFloat::trunc();
    y0 y0f = FloatExt::y0();
    y1 y1f = FloatExt::y1();
}

functions! {
    atan2(y: f64, x: f64) -> f64 = libm::atan2(y, x);
    atan2f(y: f32, x: f32) -> f32 = libm::atan2f(y, x);
    copysign(x: f64, y: f64) -> f64 = x.copysign(y);
    copysignf(x: f32, y: f32) -> f32 = x.copysign(y);
    erfinv(x: f64) -> f64 = crate::float_ext::erfinv(x);
    erfinvf(x: f32) -> f32 = crate::float_ext::erfinv(x.into()) as f32;
    exp10(x: f64) -> f64 = libm::exp10(x);
    exp10f(x: f32) -> f32 = libm::exp10f(x);
    fdim(x: f64, y: f64) -> f64 = libm::fdim(x, y);
    fdimf(x: f32, y: f32) -> f32 = libm::fdimf(x, y);
    fma(x: f64, y: f64, z: f64) -> f64 = GpuFloat::mul_add(x, y, z);
    fmaf(x: f32, y: f32, z: f32) -> f32 = GpuFloat::mul_add(x, y, z);
    fmax(x: f64, y: f64) -> f64 = x.max(y);
    fmaxf(x: f32, y: f32) -> f32 = x.max(y);
    fmin(x: f64, y: f64) -> f64 = x.min(y);
    fminf(x: f32, y: f32) -> f32 = x.min(y);
    fmod(x: f64, y: f64) -> f64 = compiler_support::cuda_std_frem_f64(x, y);
    fmodf(x: f32, y: f32) -> f32 = compiler_support::cuda_std_frem_f32(x, y);
    hypot(x: f64, y: f64) -> f64 = libm::hypot(x, y);
    hypotf(x: f32, y: f32) -> f32 = libm::hypotf(x, y);
    ilogb(x: f64) -> i32 = libm::ilogb(x);
    ilogbf(x: f32) -> i32 = libm::ilogbf(x);
    jn(n: i32, x: f64) -> f64 = libm::jn(n, x);
    jnf(n: i32, x: f32) -> f32 = libm::jnf(n, x);
    llrint(x: f64) -> i64 = libm::rint(x) as i64;
    llrintf(x: f32) -> i64 = libm::rintf(x) as i64;
    llround(x: f64) -> i64 = libm::round(x) as i64;
    llroundf(x: f32) -> i64 = libm::roundf(x) as i64;
    logb(x: f64) -> f64 = exponent(x);
    logbf(x: f32) -> f32 = exponent(x.into()) as f32;
    nearbyint(x: f64) -> f64 = libm::rint(x);
    nearbyintf(x: f32) -> f32 = libm::rintf(x);
    nextafter(x: f64, y: f64) -> f64 = libm::nextafter(x, y);
    nextafterf(x: f32, y: f32) -> f32 = libm::nextafterf(x, y);
    pow(x: f64, y: f64) -> f64 = libm::pow(x, y);
    powf(x: f32, y: f32) -> f32 = libm::powf(x, y);
    remainder(x: f64, y: f64) -> f64 = libm::remainder(x, y);
    remainderf(x: f32, y: f32) -> f32 = libm::remainderf(x, y);
    rint(x: f64) -> f64 = libm::rint(x);
    rintf(x: f32) -> f32 = libm::rintf(x);
    rsqrt(x: f64) -> f64 = 1.0 / GpuFloat::sqrt(x);
    rsqrtf(x: f32) -> f32 = 1.0 / GpuFloat::sqrt(x);
    saturatef(x: f32) -> f32 = x.saturate();
    yn(n: i32, x: f64) -> f64 = libm::yn(n, x);
    ynf(n: i32, x: f32) -> f32 = libm::ynf(n, x);

    finitef(x: f32) -> i32 = x.is_finite() as i32;
    isfinited(x: f64) -> i32 = x.is_finite() as i32;
    isinfd(x: f64) -> i32 = x.is_infinite() as i32;
    isinff(x: f32) -> i32 = x.is_infinite() as i32;
    isnand(x: f64) -> i32 = x.is_nan() as i32;
    isnanf(x: f32) -> i32 = x.is_nan() as i32;
    signbitd(x: f64) -> i32 = x.is_sign_negative() as i32;
    signbitf(x: f32) -> i32 = x.is_sign_negative() as i32;

    double_as_longlong(x: f64) -> i64 = x.to_bits() as i64;
    longlong_as_double(x: i64) -> f64 = f64::from_bits(x as u64);
    float_as_int(x: f32) -> i32 = x.to_bits() as i32;
    int_as_float(x: i32) -> f32 = f32::from_bits(x as u32);
    double2hiint(x: f64) -> i32 = (x.to_bits() >> 32) as i32;
    double2loint(x: f64) -> i32 = x.to_bits() as i32;
    hiloint2double(high: i32, low: i32) -> f64 = f64::from_bits(u64::from(high as u32) << 32 | u64::from(low as u32));
    float2half_rn(x: f32) -> i16 = crate::f16::from_f32(x).to_bits() as i16;
    half2float(x: i16) -> f32 = crate::f16::from_bits(x as u16).to_f32();

    abs(x: i32) -> i32 = x.wrapping_abs();
    llabs(x: i64) -> i64 = x.wrapping_abs();
    max(x: i32, y: i32) -> i32 = x.max(y);
    min(x: i32, y: i32) -> i32 = x.min(y);
    llmax(x: i64, y: i64) -> i64 = x.max(y);
    llmin(x: i64, y: i64) -> i64 = x.min(y);
    umax(x: i32, y: i32) -> i32 = (x as u32).max(y as u32) as i32;
    umin(x: i32, y: i32) -> i32 = (x as u32).min(y as u32) as i32;
    ullmax(x: i64, y: i64) -> i64 = (x as u64).max(y as u64) as i64;
    ullmin(x: i64, y: i64) -> i64 = (x as u64).min(y as u64) as i64;
    brev(x: i32) -> i32 = x.reverse_bits();
    brevll(x: i64) -> i64 = x.reverse_bits();
    clz(x: i32) -> i32 = x.leading_zeros() as i32;
    clzll(x: i64) -> i32 = x.leading_zeros() as i32;
    popc(x: i32) -> i32 = x.count_ones() as i32;
    popcll(x: i64) -> i32 = x.count_ones() as i32;
    ffs(x: i32) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    ffsll(x: i64) -> i32 = if x == 0 { 0 } else { x.trailing_zeros() as i32 + 1 };
    byte_perm(x: i32, y: i32, selector: i32) -> i32 = permute_bytes(x as u32, y as u32, selector as u32) as i32;
    hadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y)) >> 1) as i32;
    rhadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y) + 1) >> 1) as i32;
    uhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32)) >> 1) as i32;
    urhadd(x: i32, y: i32) -> i32 = ((u64::from(x as u32) + u64::from(y as u32) + 1) >> 1) as i32;
    mul24(x: i32, y: i32) -> i32 = (x << 8 >> 8).wrapping_mul(y << 8 >> 8);
    umul24(x: i32, y: i32) -> i32 = (x & 0xff_ffff).wrapping_mul(y & 0xff_ffff);
    mulhi(x: i32, y: i32) -> i32 = ((i64::from(x) * i64::from(y)) >> 32) as i32;
    umulhi(x: i32, y: i32) -> i32 = ((u64::from(x as u32) * u64::from(y as u32)) >> 32) as i32;
    mul64hi(x: i64, y: i64) -> i64 = ((i128::from(x) * i128::from(y)) >> 64) as i64;
    umul64hi(x: i64, y: i64) -> i64 = ((u128::from(x as u64) * u128::from(y as u64)) >> 64) as i64;
    sad(x: i32, y: i32, z: i32) -> i32 = (x.abs_diff(y) as i32).wrapping_add(z);
    usad(x: i32, y: i32, z: i32) -> i32 = ((x as u32).abs_diff(y as u32) as i32).wrapping_add(z);
}

/// The unbiased exponent as a number: -infinity of 0, infinity of infinities, NaN of NaN.
fn exponent(x: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x.is_finite() {
        libm::ilogb(x).into()
    } else {
        x * x
    }
}

/// Picks four of the eight bytes of `y` and `x` (`x` the low ones), by the low three bits of each of the selector's
/// four low hexadecimal digits.
fn permute_bytes(x: u32, y: u32, selector: u32) -> u32 {
    let bytes = u64::from(y) << 32 | u64::from(x);
    let pick = |digit: u32| (bytes >> ((selector >> (4 * digit) & 7) * 8)) as u32 & 0xff;
    pick(0) | pick(1) << 8 | pick(2) << 16 | pick(3) << 24
}

/// Functions with results through pointers.
macro_rules! through_pointers {
    ($(
        $frexp:ident $modf:ident $remquo:ident $sincos:ident $sincospi:ident $nan:ident: $float:ident;
    )*) => {$(
        /// The fraction of `x`, whose exponent it writes (`__nv_frexp` of libdevice, or its `f32` form).
        ///
        /// # Safety
        ///
        /// `exponent` must be valid for a write.
        #[inline]
        pub unsafe fn $frexp(x: $float, exponent: *mut i32) -> $float {
            let (fraction, power) = x.frexp();
            // SAFETY: as the caller promises.
            unsafe { exponent.write(power) };
            fraction
        }

        /// The fractional part of `x`, whose integer part it writes (`__nv_modf` of libdevice, or its `f32` form).
        ///
        /// # Safety
        ///
        /// `integer` must be valid for a write.
        #[inline]
        pub unsafe fn $modf(x: $float, integer: *mut $float) -> $float {
            let (fractional, whole) = libm::$modf(x);
            // SAFETY: as the caller promises.
            unsafe { integer.write(whole) };
            fractional
        }

        /// The remainder of `x / y`, of whose quotient it writes sign and low bits (`__nv_remquo` of libdevice, or its
        /// `f32` form).
        ///
        /// # Safety
        ///
        /// `quotient` must be valid for a write.
        #[inline]
        pub unsafe fn $remquo(x: $float, y: $float, quotient: *mut i32) -> $float {
            let (remainder, bits) = libm::$remquo(x, y);
            // SAFETY: as the caller promises.
            unsafe { quotient.write(bits) };
            remainder
        }

        /// Writes sine and cosine of `x` (`__nv_sincos` of libdevice, or its `f32` form).
        ///
        /// # Safety
        ///
        /// Both pointers must be valid for a write.
        #[inline]
        pub unsafe fn $sincos(x: $float, sine: *mut $float, cosine: *mut $float) {
            let (s, c) = GpuFloat::sin_cos(x);
            // SAFETY: as the caller promises.
            unsafe {
                sine.write(s);
                cosine.write(c);
            }
        }

        /// Writes sine and cosine of `x * π` (`__nv_sincospi` of libdevice, or its `f32` form).
        ///
        /// # Safety
        ///
        /// Both pointers must be valid for a write.
        #[inline]
        pub unsafe fn $sincospi(x: $float, sine: *mut $float, cosine: *mut $float) {
            let (s, c) = x.sincospi();
            // SAFETY: as the caller promises.
            unsafe {
                sine.write(s);
                cosine.write(c);
            }
        }

        /// A NaN (`__nv_nan` of libdevice, or its `f32` form). The tag, which would say which of many, is not read.
        ///
        /// # Safety
        ///
        /// None is needed: the function is unsafe as the published one is.
        #[inline]
        pub unsafe fn $nan(_tag: *mut i8) -> $float {
            $float::NAN
        }
    )*};
}

through_pointers! {
    frexp modf remquo sincos sincospi nan: f64;
    frexpf modff remquof sincosf sincospif nanf: f32;
}
