//! The floating-point methods that `core` lacks, for kernels, which have no `std`.
//!
//! What the GPU has an instruction for (roundings to integers, square root, fused multiply-add) is that instruction,
//! correctly rounded. Sine, cosine and tangent of `f32` are this crate's own, within 2 units in the last place for
//! every angle, without `f64`. The rest comes from the `libm` crate, whose results are within 1 or 2 units in the last
//! place. Its functions of `f32` calculate in `f64` inside, where they need to; that is slow on GPUs with few `f64`
//! units.
//!
//! The same code runs on the host. There `x.sin()` on an `f32` or `f64` is `std`'s own method, and the trait is reached
//! in generic code (`T: GpuFloat`).

use crate::{compiler_support, trigonometry};

/// What this crate's own functions and the traits here have to build on, in `core::f32::math`'s names.
#[cfg(target_arch = "nvptx64")]
pub(crate) mod hardware {
    pub(crate) use core::{f32::math as f32, f64::math as f64};
}

/// On the host the instructions are reached by `std`'s methods.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) mod hardware {
    pub(crate) use core::primitive::{f32, f64};
}

mod private {
    /// Keeps implementations to this crate, so that methods can be added.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `std`'s methods of `f32` and `f64`, with the same names and meanings.
pub trait GpuFloat: Copy + PartialOrd + private::Sealed {
    /// The largest integer not above the number.
    fn floor(self) -> Self;
    /// The smallest integer not below the number.
    fn ceil(self) -> Self;
    /// The nearest integer; from halfway, the one farther from 0.
    fn round(self) -> Self;
    /// The integer part: rounds towards 0.
    fn trunc(self) -> Self;
    /// The fractional part: the number less its integer part.
    fn fract(self) -> Self;
    /// The absolute value.
    fn abs(self) -> Self;
    /// 1 with the number's sign, or NaN for NaN.
    fn signum(self) -> Self;
    /// The number's magnitude with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// `self * a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The quotient as an integer that leaves a remainder not below 0.
    fn div_euclid(self, rhs: Self) -> Self;
    /// The remainder that [`div_euclid`](Self::div_euclid) leaves; by rounding it can be `rhs.abs()` itself.
    fn rem_euclid(self, rhs: Self) -> Self;
    /// The power with an integer exponent.
    fn powi(self, n: i32) -> Self;
    /// The power.
    fn powf(self, n: Self) -> Self;
    /// The square root; NaN for negative numbers except -0.
    fn sqrt(self) -> Self;
    /// e to the power of the number.
    fn exp(self) -> Self;
    /// 2 to the power of the number.
    fn exp2(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// The logarithm to the base `base`.
    fn log(self, base: Self) -> Self;
    /// The logarithm to the base 2.
    fn log2(self) -> Self;
    /// The logarithm to the base 10.
    fn log10(self) -> Self;
    /// The cube root.
    fn cbrt(self) -> Self;
    /// The length of the hypotenuse over legs of length `self` and `other`, without overflow in between.
    fn hypot(self, other: Self) -> Self;
    /// The sine of an angle in radians.
    fn sin(self) -> Self;
    /// The cosine of an angle in radians.
    fn cos(self) -> Self;
    /// The tangent of an angle in radians.
    fn tan(self) -> Self;
    /// The arcsine in radians, -π/2 to π/2.
    fn asin(self) -> Self;
    /// The arccosine in radians, 0 to π.
    fn acos(self) -> Self;
    /// The arctangent in radians, -π/2 to π/2.
    fn atan(self) -> Self;
    /// The angle in radians, -π to π, of the point with ordinate `self` and abscissa `other`.
    fn atan2(self, other: Self) -> Self;
    /// Sine and cosine of an angle in radians.
    fn sin_cos(self) -> (Self, Self);
    /// `exp(self) - 1`, accurate near 0.
    fn exp_m1(self) -> Self;
    /// `ln(1 + self)`, accurate near 0.
    fn ln_1p(self) -> Self;
    /// The hyperbolic sine.
    fn sinh(self) -> Self;
    /// The hyperbolic cosine.
    fn cosh(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The inverse hyperbolic sine.
    fn asinh(self) -> Self;
    /// The inverse hyperbolic cosine.
    fn acosh(self) -> Self;
    /// The inverse hyperbolic tangent.
    fn atanh(self) -> Self;
}

/// Implements the trait for one type. `libm` marks its functions of `f32` by the suffix `f`, so they come as a list of
/// pairs.
macro_rules! gpu_float {
    (
        $float:ident, $frem:ident, $angles:ident { $sin:ident $sin_cos:ident $cos:ident $tan:ident },
        { $($method:ident($($parameter:ident),*) = $function:ident;)* }
    ) => {
        impl GpuFloat for $float {
            gpu_float! { @hardware $float: floor() ceil() round() trunc() sqrt() mul_add(a, b) }

            $(
                #[inline]
                fn $method(self $(, $parameter: Self)*) -> Self {
                    libm::$function(self $(, $parameter)*)
                }
            )*

            // `abs`, `signum` and `copysign` are in `core`: these call the inherent methods.
            #[inline]
            fn abs(self) -> Self {
                self.abs()
            }

            #[inline]
            fn signum(self) -> Self {
                self.signum()
            }

            #[inline]
            fn copysign(self, sign: Self) -> Self {
                self.copysign(sign)
            }

            #[inline]
            fn fract(self) -> Self {
                self - hardware::$float::trunc(self)
            }

            #[inline]
            fn div_euclid(self, rhs: Self) -> Self {
                let quotient = hardware::$float::trunc(self / rhs);
                match compiler_support::$frem(self, rhs) < 0.0 {
                    false => quotient,
                    true if rhs > 0.0 => quotient - 1.0,
                    true => quotient + 1.0,
                }
            }

            #[inline]
            fn rem_euclid(self, rhs: Self) -> Self {
                let remainder = compiler_support::$frem(self, rhs);
                if remainder < 0.0 { remainder + rhs.abs() } else { remainder }
            }

            #[inline]
            fn powi(self, n: i32) -> Self {
                // By squaring, as `std` does it; a negative exponent at the end, by one division.
                let (mut result, mut square, mut rest): (Self, Self, u32) = (1.0, self, n.unsigned_abs());
                while rest != 0 {
                    if rest & 1 == 1 {
                        result *= square;
                    }
                    square *= square;
                    rest >>= 1;
                }
                if n < 0 { 1.0 / result } else { result }
            }

            #[inline]
            fn log(self, base: Self) -> Self {
                GpuFloat::ln(self) / GpuFloat::ln(base)
            }

            #[inline]
            fn sin(self) -> Self {
                $angles::$sin(self)
            }

            #[inline]
            fn cos(self) -> Self {
                $angles::$cos(self)
            }

            #[inline]
            fn tan(self) -> Self {
                $angles::$tan(self)
            }

            #[inline]
            fn sin_cos(self) -> (Self, Self) {
                $angles::$sin_cos(self)
            }
        }
    };
    (@hardware $float:ident: $($method:ident($($parameter:ident),*))*) => {$(
        #[inline]
        fn $method(self $(, $parameter: Self)*) -> Self {
            hardware::$float::$method(self $(, $parameter)*)
        }
    )*};
}

gpu_float! { f64, cuda_std_frem_f64, libm { sin sincos cos tan }, {
    powf(n) = pow;
    exp() = exp;
    exp2() = exp2;
    ln() = log;
    log2() = log2;
    log10() = log10;
    cbrt() = cbrt;
    hypot(other) = hypot;
    asin() = asin;
    acos() = acos;
    atan() = atan;
    atan2(other) = atan2;
    exp_m1() = expm1;
    ln_1p() = log1p;
    sinh() = sinh;
    cosh() = cosh;
    tanh() = tanh;
    asinh() = asinh;
    acosh() = acosh;
    atanh() = atanh;
} }

gpu_float! { f32, cuda_std_frem_f32, trigonometry { sin sin_cos cos tan }, {
    powf(n) = powf;
    exp() = expf;
    exp2() = exp2f;
    ln() = logf;
    log2() = log2f;
    log10() = log10f;
    cbrt() = cbrtf;
    hypot(other) = hypotf;
    asin() = asinf;
    acos() = acosf;
    atan() = atanf;
    atan2(other) = atan2f;
    exp_m1() = expm1f;
    ln_1p() = log1pf;
    sinh() = sinhf;
    cosh() = coshf;
    tanh() = tanhf;
    asinh() = asinhf;
    acosh() = acoshf;
    atanh() = atanhf;
} }

#[cfg(test)]
mod tests {
    use super::GpuFloat;

    /// Compares every method with `std`'s of the same name, at arguments inside their domains.
    macro_rules! agrees_with_std {
        ($float:ident, $tolerance:expr, $($method:ident($($argument:expr),*) at $numbers:expr;)*) => {$(
            for x in $numbers.map(|x: f64| x as $float) {
                let ours = GpuFloat::$method(x $(, $argument)*);
                let std = $float::$method(x $(, $argument)*);
                let close = (ours - std).abs() <= $tolerance * std.abs().max($float::MIN_POSITIVE);
                std::assert!(
                    close || ours == std || ours.is_nan() && std.is_nan(),
                    "{}({x}): {ours} and {std}",
                    stringify!($method)
                );
            }
        )*};
    }

    macro_rules! methods_agree {
        ($float:ident, $tolerance:expr) => {
            agrees_with_std! { $float, 0.0,
                floor() at [-1.5, 2.5, 1e10]; ceil() at [-1.5, 2.5]; round() at [-2.5, 0.5, 0.49];
                trunc() at [-1.5, 2.5]; abs() at [-1.5, 2.0]; signum() at [-0.0, 3.0]; copysign(-1.0) at [2.0];
                sqrt() at [2.0, 0.0, -1.0]; fract() at [-1.25, 7.75]; mul_add(3.0, -1.0) at [0.1, 7.0];
                rem_euclid(3.0) at [-7.5, 7.5, 1e7]; div_euclid(-3.0) at [-7.5, 7.5]; div_euclid(3.0) at [-7.5, 7.5];
                powi(0) at [3.0]; powi(-2) at [4.0];
            }
            agrees_with_std! { $float, $tolerance,
                powi(7) at [1.1, -0.9]; powi(i32::MIN) at [1.0, 2.0]; powf(2.5) at [1.5, 30.0];
                exp() at [-3.0, 0.1, 20.0]; exp2() at [0.5, -9.25]; ln() at [0.1, 7.0]; log(3.0) at [10.0];
                log2() at [8.0, 0.3]; log10() at [1000.0, 0.02]; cbrt() at [-27.0, 2.0]; hypot(4.0) at [3.0, 1e18];
                sin() at [0.5, 100.0, 1e6]; cos() at [0.5, 100.0]; tan() at [0.5, 2.0]; asin() at [0.3, -1.0];
                acos() at [0.3, -0.7]; atan() at [5.0]; atan2(-2.0) at [1.0, -1.0]; exp_m1() at [1e-5, 1.0];
                ln_1p() at [1e-5, 1.0]; sinh() at [0.1, 3.0]; cosh() at [0.1, 3.0]; tanh() at [0.1, 3.0];
                asinh() at [0.1, 30.0]; acosh() at [1.5]; atanh() at [0.1, -0.5];
            }
        };
    }

    #[test]
    fn f64_agrees_with_std() {
        methods_agree!(f64, 1e-14);
        std::assert_eq!(GpuFloat::sin_cos(0.5f64), (0.5f64.sin(), 0.5f64.cos()));
    }

    #[test]
    fn f32_agrees_with_std() {
        methods_agree!(f32, 1e-6);
        std::assert_eq!(GpuFloat::log2(8.0f32), 3.0);
    }
}
