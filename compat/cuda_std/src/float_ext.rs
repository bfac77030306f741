//! Functions beyond `std`'s: error functions, Bessel functions, angles in multiples of π.

use crate::compiler_support::cuda_std_frem_f64;
use crate::float::hardware;
use crate::{float_ext as wide, trigonometry};
use core::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI, SQRT_2};

mod private {
    /// Keeps implementations to this crate, so that methods can be added.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// More functions of `f32` and `f64`, on GPU and host.
///
/// Most are the `libm` crate's, of the type itself. The sine and cosine of multiples of π are this crate's own, and
/// need no `f64` for an `f32`. What else `libm` lacks is calculated here in `f64` (so it is slow for an `f32` on GPUs
/// with few `f64` units): [`rcbrt`](Self::rcbrt), [`norm_cdf`](Self::norm_cdf),
/// [`scaled_complementary_error_function`](Self::scaled_complementary_error_function) and the two inverse functions.
pub trait FloatExt: Sized + private::Sealed {
    /// The cosine of `self * π`, exact where it is 0 or ±1.
    fn cospi(self) -> Self;
    /// The error function: 2/√π times the integral of exp(-t²) from 0 to the number.
    fn error_function(self) -> Self;
    /// 1 less the [error function](Self::error_function), accurate where that is near 1.
    fn complementary_error_function(self) -> Self;
    /// The x whose complementary error function is the number, which must be between 0 and 2; else NaN.
    fn inv_complementary_error_function(self) -> Self;
    /// exp(x²) times the complementary error function of x, the number.
    fn scaled_complementary_error_function(self) -> Self;
    /// Splits the number into `(m, e)` with `m * 2^e` the number and the magnitude of `m` from 0.5 to below 1. 0,
    /// infinities and NaN come back with an unspecified exponent.
    fn frexp(self) -> (Self, i32);
    /// The exponent e of the form `m * 2^e` with the magnitude of m from 1 to below 2. `i32::MIN` for 0 and NaN,
    /// `i32::MAX` for infinities.
    fn unbiased_exp(self) -> i32;
    /// The Bessel function of the first kind of order 0.
    fn j0(self) -> Self;
    /// The Bessel function of the first kind of order 1.
    fn j1(self) -> Self;
    /// The Bessel function of the first kind of order `order`.
    fn jn(self, order: i32) -> Self;
    /// `self * 2^exp`.
    fn ldexp(self, exp: i32) -> Self;
    /// The natural logarithm of the magnitude of the gamma function.
    fn log_gamma(self) -> Self;
    /// `ln(1 + self)`, accurate near 0.
    fn log1p(self) -> Self;
    /// The probability that a standard normal variable is not above the number.
    fn norm_cdf(self) -> Self;
    /// The x whose [`norm_cdf`](Self::norm_cdf) is the number, which must be between 0 and 1; else NaN.
    fn inv_norm_cdf(self) -> Self;
    /// The reciprocal of the cube root.
    fn rcbrt(self) -> Self;
    /// The number limited to the range from +0 to 1. NaN gives +0.
    fn saturate(self) -> Self;
    /// `self * 2^exp`.
    fn scale_by_n(self, exp: i32) -> Self;
    /// Sine and cosine of `self * π`.
    fn sincospi(self) -> (Self, Self);
    /// The sine of `self * π`, exact where it is 0 or ±1.
    fn sinpi(self) -> Self;
    /// The gamma function.
    fn gamma(self) -> Self;
    /// The Bessel function of the second kind of order 0.
    fn y0(self) -> Self;
    /// The Bessel function of the second kind of order 1.
    fn y1(self) -> Self;
    /// The Bessel function of the second kind of order `order`.
    fn yn(self, order: i32) -> Self;
}

/// Implements the trait for one type: from `libm`'s functions of one argument, of argument and order, and from this
/// module's.
macro_rules! float_ext {
    (
        $float:ident, $angles:ident, $bits:ident, $ilogb:ident, $jn:ident, $yn:ident, $ldexp:ident, $scalbn:ident,
        { $($method:ident = $function:ident;)* }
    ) => {
        impl FloatExt for $float {
            $(
                fn $method(self) -> Self {
                    libm::$function(self)
                }
            )*

            float_ext! { @wide rcbrt = rcbrt; norm_cdf = norm_cdf; inv_norm_cdf = inv_norm_cdf; }
            float_ext! { @wide inv_complementary_error_function = erfcinv; }
            float_ext! { @wide scaled_complementary_error_function = erfcx; }

            fn frexp(self) -> (Self, i32) {
                // Not libm's, which calls itself for subnormal numbers: recursion hides a kernel's need of stack from
                // the compiler.
                const FRACTION_BITS: u32 = $float::MANTISSA_DIGITS - 1;
                const ONE_HALF: i32 = $float::MAX_EXP - 2;
                const EXPONENTS: i32 = 2 * $float::MAX_EXP - 1;
                // A subnormal number becomes normal by as many binary places as the fraction has.
                let (scaled, shift) = match self.is_subnormal() {
                    true => (self / $float::EPSILON, FRACTION_BITS as i32),
                    false => (self, 0),
                };
                let bits = scaled.to_bits();
                let exponent = (bits >> FRACTION_BITS) as i32 & EXPONENTS;
                if exponent == 0 || exponent == EXPONENTS {
                    return (self, 0);
                }
                let fraction = bits ^ ((exponent ^ ONE_HALF) as $bits) << FRACTION_BITS;
                ($float::from_bits(fraction), exponent - ONE_HALF - shift)
            }

            fn unbiased_exp(self) -> i32 {
                libm::$ilogb(self)
            }

            fn jn(self, order: i32) -> Self {
                libm::$jn(order, self)
            }

            fn yn(self, order: i32) -> Self {
                libm::$yn(order, self)
            }

            fn ldexp(self, exp: i32) -> Self {
                libm::$ldexp(self, exp)
            }

            fn scale_by_n(self, exp: i32) -> Self {
                libm::$scalbn(self, exp)
            }

            fn saturate(self) -> Self {
                // In this order, so that NaN and -0 become +0.
                if self > 0.0 { self.min(1.0) } else { 0.0 }
            }

            fn sinpi(self) -> Self {
                $angles::sinpi(self)
            }

            fn cospi(self) -> Self {
                $angles::cospi(self)
            }

            fn sincospi(self) -> (Self, Self) {
                (self.sinpi(), self.cospi())
            }
        }
    };
    (@wide $($method:ident = $function:ident;)*) => {$(
        fn $method(self) -> Self {
            $function(self.into()) as Self
        }
    )*};
}

float_ext! { f64, wide, u64, ilogb, jn, yn, ldexp, scalbn, {
    error_function = erf;
    complementary_error_function = erfc;
    j0 = j0;
    j1 = j1;
    log_gamma = lgamma;
    log1p = log1p;
    gamma = tgamma;
    y0 = y0;
    y1 = y1;
} }

float_ext! { f32, trigonometry, u32, ilogbf, jnf, ynf, ldexpf, scalbnf, {
    error_function = erff;
    complementary_error_function = erfcf;
    j0 = j0f;
    j1 = j1f;
    log_gamma = lgammaf;
    log1p = log1pf;
    gamma = tgammaf;
    y0 = y0f;
    y1 = y1f;
} }

/// Reduces an angle in multiples of π, exactly: the quarter turn it is nearest to (0 to 4), and the rest in radians,
/// -π/4 to π/4.
fn quarter_turns(x: f64) -> (u8, f64) {
    let turns = cuda_std_frem_f64(x.abs(), 2.0);
    let quarters = hardware::f64::round(turns * 2.0);
    // The cast makes 0 of NaN, and the rest stays NaN.
    (quarters as u8, (turns - quarters * 0.5) * PI)
}

pub(crate) fn cospi(x: f64) -> f64 {
    let (quarters, rest) = quarter_turns(x);
    match quarters & 3 {
        0 => libm::cos(rest),
        1 => 0.0 - libm::sin(rest),
        2 => -libm::cos(rest),
        _ => libm::sin(rest) + 0.0,
    }
}

pub(crate) fn sinpi(x: f64) -> f64 {
    let (quarters, rest) = quarter_turns(x);
    let magnitude = match quarters & 3 {
        0 => libm::sin(rest),
        1 => libm::cos(rest),
        2 => -libm::sin(rest),
        _ => -libm::cos(rest),
    };
    if x.is_sign_negative() { -magnitude } else { magnitude }
}

pub(crate) fn rcbrt(x: f64) -> f64 {
    1.0 / libm::cbrt(x)
}

pub(crate) fn norm_cdf(x: f64) -> f64 {
    // erfc's relative error is its argument's, magnified by twice its square. So the argument is kept in two parts, and
    // the second enters through the derivative, -2/√π exp(-t²).
    const FRAC_1_SQRT_2_LOW: f64 = -4.833_646_656_726_457e-17;
    let high = -x * FRAC_1_SQRT_2;
    let low = hardware::f64::mul_add(-x, FRAC_1_SQRT_2, -high) - x * FRAC_1_SQRT_2_LOW;
    let complement = libm::erfc(high);
    let correction = low * FRAC_2_SQRT_PI * libm::exp(-high * high);
    // At infinity `low` is NaN, and erfc is exact.
    if correction.is_finite() {
        0.5 * (complement - correction)
    } else {
        0.5 * complement
    }
}

pub(crate) fn inv_norm_cdf(p: f64) -> f64 {
    -SQRT_2 * erfcinv(2.0 * p)
}

pub(crate) fn erfcx(x: f64) -> f64 {
    // The asymptotic series: below 10 its terms do not become small enough, above 26 erfc underflows.
    if x >= 10.0 {
        let step = -0.5 / (x * x);
        let (mut sum, mut term) = (1.0, 1.0);
        for n in 0..12 {
            term *= f64::from(2 * n + 1) * step;
            sum += term;
        }
        return 0.5 * FRAC_2_SQRT_PI * (sum / x);
    }
    // exp magnifies the rounding of the square, so the square is taken in two parts.
    let square = x * x;
    let rest = hardware::f64::mul_add(x, x, -square);
    let scale = libm::exp(square);
    // At -infinity `rest` is NaN. There, and wherever `scale` overflows, the result is infinite.
    let scale = if scale.is_finite() { scale + scale * rest } else { scale };
    scale * libm::erfc(x)
}

/// The inverse of the complementary error function.
pub(crate) fn erfcinv(y: f64) -> f64 {
    if !(0.0..=2.0).contains(&y) {
        return f64::NAN;
    }
    // The solution for the smaller tail is positive; its mirror image solves the larger one.
    if y <= 1.0 {
        inverse(y, 1.0 - y)
    } else {
        -inverse(2.0 - y, y - 1.0)
    }
}

/// The inverse of the error function.
pub(crate) fn erfinv(x: f64) -> f64 {
    let middle = x.abs();
    match middle <= 1.0 {
        true => inverse(1.0 - middle, middle).copysign(x),
        false => f64::NAN,
    }
}

/// The x from 0 up whose complementary error function is `tail` and whose error function is `middle`, two numbers with
/// the sum 1.
///
/// By Halley's method from the approximation of the normal quantile by Hastings (Abramowitz and Stegun, 26.2.23, error
/// below 4.5e-4).
fn inverse(tail: f64, middle: f64) -> f64 {
    if tail == 0.0 {
        return f64::INFINITY;
    }
    let t = hardware::f64::sqrt(-2.0 * libm::log(0.5 * tail));
    let numerator = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let denominator = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut x = FRAC_1_SQRT_2 * (t - numerator / denominator);
    for _ in 0..3 {
        // In the middle erf is the small one of the two, and so the one that shows how far x is off.
        let error = if tail >= 0.5 {
            middle - libm::erf(x)
        } else {
            libm::erfc(x) - tail
        };
        let step = error / (FRAC_2_SQRT_PI * libm::exp(-x * x));
        x += step / (1.0 - x * step);
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares a function with values calculated to 60 digits (mpmath), in units of 1e-16 of the value.
    fn check(name: &str, function: fn(f64) -> f64, limit: f64, expected: &[(f64, f64)]) {
        for &(x, value) in expected {
            let off = ((function(x) - value) / value / 1e-16).abs();
            std::assert!(
                off <= limit,
                "{name}({x}) is {}, off from {value} by {off}",
                function(x)
            );
        }
    }

    #[test]
    fn functions_of_this_module_are_accurate() {
        check(
            "erfcinv",
            erfcinv,
            20.0,
            &[
                (1e-300, 26.209469960516124),
                (1e-20, 6.601580622355143),
                (0.001, 2.3267537655135246),
                (0.3, 0.7328690779592169),
                (0.499, 0.4780494522745675),
                (0.5, 0.4769362762044699),
                (0.9, 0.08885599049425767),
                (0.999999, 8.862269254784741e-07),
                (1.2, -0.17914345462129164),
                (1.9999, -2.75106390571208),
            ],
        );
        check(
            "erfcx",
            erfcx,
            20.0,
            &[
                (-5.0, 144009798674.66104),
                (-1.0, 5.008980080762283),
                (0.5, 0.6156903441929259),
                (1.0, 0.427583576155807),
                (5.0, 0.11070463773306863),
                (9.5, 0.05906467835256389),
                (10.0, 0.05614099274382259),
                (15.0, 0.03752960638850576),
                (30.0, 0.01879588886141675),
                (100000.0, 5.6418958351954685e-06),
            ],
        );
        check(
            "norm_cdf",
            norm_cdf,
            20.0,
            &[
                (-37.5, 4.605353009581955e-308),
                (-10.3, 3.5230650789264124e-25),
                (-1.0, 0.15865525393145705),
                (0.3, 0.6179114221889527),
                (5.0, 0.9999997133484281),
            ],
        );
    }

    #[test]
    fn limits_and_domains() {
        std::assert_eq!(
            (erfcinv(0.0), erfcinv(2.0), erfcinv(1.0)),
            (f64::INFINITY, -f64::INFINITY, 0.0)
        );
        std::assert!(erfcinv(-0.1).is_nan() && erfcinv(2.1).is_nan() && erfcinv(f64::NAN).is_nan());
        std::assert_eq!(
            (erfcx(f64::INFINITY), erfcx(f64::NEG_INFINITY), erfcx(0.0)),
            (0.0, f64::INFINITY, 1.0)
        );
        std::assert_eq!(
            (norm_cdf(f64::INFINITY), norm_cdf(f64::NEG_INFINITY), norm_cdf(0.0)),
            (1.0, 0.0, 0.5)
        );
        std::assert_eq!(
            (
                f32::NAN.saturate(),
                (-3.0f32).saturate(),
                7.0f32.saturate(),
                0.25f64.saturate()
            ),
            (0.0, 0.0, 1.0, 0.25)
        );
        std::assert_eq!(
            (8.0f32.frexp(), 8.0f64.unbiased_exp(), 0.0f32.unbiased_exp()),
            ((0.5, 4), 3, i32::MIN)
        );
    }

    #[test]
    fn splits_every_kind_of_number() {
        for x in [
            1.0,
            -0.75,
            3e300,
            1e-310,
            f64::MIN_POSITIVE,
            5e-324,
            0.0,
            -0.0,
            f64::INFINITY,
        ] {
            let (ours, libm) = (x.frexp(), libm::frexp(x));
            std::assert!(
                ours == libm || !x.is_finite() && ours.0 == x,
                "{x}: {ours:?} and {libm:?}"
            );
        }
        for x in [1.0, -0.75, 3e38, 1e-40, f32::MIN_POSITIVE, 1e-45, 0.0] {
            std::assert_eq!(x.frexp(), libm::frexpf(x), "{x}");
        }
        std::assert!(f32::NAN.frexp().0.is_nan());
    }

    #[test]
    fn inverses_invert() {
        for p in [1e-12f64, 0.01, 0.3, 0.5, 0.77, 0.999] {
            std::assert!((p.inv_norm_cdf().norm_cdf() / p - 1.0).abs() < 1e-13, "{p}");
            std::assert!((libm::erf(erfinv(-p)) / p + 1.0).abs() < 1e-13, "{p}");
        }
    }

    #[test]
    fn multiples_of_half_turns_are_exact() {
        for (x, sine, cosine) in [
            (0.0f64, 0.0, 1.0),
            (0.5, 1.0, 0.0),
            (1.0, 0.0, -1.0),
            (-1.5, 1.0, 0.0),
            (1e15 + 0.5, 1.0, 0.0),
            (-7.0, 0.0, -1.0),
        ] {
            std::assert_eq!(x.sincospi(), (sine, cosine), "{x}");
        }
        let (sine, cosine) = 0.2f32.sincospi();
        std::assert!((sine - 0.587_785_25).abs() < 1e-7 && (cosine - 0.809_017).abs() < 1e-7);
        std::assert!(f64::INFINITY.sinpi().is_nan());
    }
}
