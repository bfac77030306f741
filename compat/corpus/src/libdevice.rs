//! `intrinsics`: every function of libdevice by its name.

use crate::tally::Tally;
use cuda_std::intrinsics as nv;
use cuda_std::prelude::*;
use pastey::paste;

/// The one result that a function hands out through its last parameter.
macro_rules! through_pointer {
    ($zero:expr, |$at:ident| $call:expr) => {{
        let mut result = $zero;
        let $at: *mut _ = &mut result;
        let returned = $call;
        (returned, result)
    }};
}

/// Declares, for one type, a kernel that writes each result at each argument, and the same calculation for the host.
macro_rules! calculations {
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
                    *at = $result as $float;
                    at = at.add(1);
                )*
                let _ = at;
            }
        }

        /// What the kernel writes for one argument.
        #[cfg(not(target_arch = "nvptx64"))]
        unsafe fn $host($x: $float) -> [$float; $count] {
            [$($result as $float),*]
        }
    };
}

/// The functions of one type; those of `f32` end in an `f`.
macro_rules! functions_of {
    ($kernel:ident, $host:ident, $count:ident, $float:ident, $($f:ident)?) => {
        paste! {
            calculations! {
                /// Every function of this type that the host can calculate as well, for an argument from 0.1 to 0.9.
                $kernel, $host, $count, $float, |x| [
                    nv::[<acos $($f)?>](x), nv::[<acosh $($f)?>](x + 1.0), nv::[<asin $($f)?>](x),
                    nv::[<asinh $($f)?>](x), nv::[<atan $($f)?>](x), nv::[<atan2 $($f)?>](x, -2.0),
                    nv::[<atanh $($f)?>](x), nv::[<cbrt $($f)?>](x), nv::[<ceil $($f)?>](x * 9.0),
                    nv::[<copysign $($f)?>](x, -1.0), nv::[<cos $($f)?>](x), nv::[<cosh $($f)?>](x),
                    nv::[<cospi $($f)?>](x), nv::[<erf $($f)?>](x), nv::[<erfc $($f)?>](x), nv::[<erfcinv $($f)?>](x),
                    nv::[<erfcx $($f)?>](x), nv::[<erfinv $($f)?>](x), nv::[<exp $($f)?>](x), nv::[<exp10 $($f)?>](x),
                    nv::[<exp2 $($f)?>](x), nv::[<expm1 $($f)?>](x), nv::[<fabs $($f)?>](-x),
                    nv::[<fdim $($f)?>](x, 0.5), nv::[<floor $($f)?>](x * 9.0), nv::[<fma $($f)?>](x, 3.0, 0.5),
                    nv::[<fmax $($f)?>](x, 0.5), nv::[<fmin $($f)?>](x, 0.5), nv::[<fmod $($f)?>](x, 0.25),
                    nv::[<hypot $($f)?>](x, 2.0), nv::[<ilogb $($f)?>](x), nv::[<j0 $($f)?>](x), nv::[<j1 $($f)?>](x),
                    nv::[<jn $($f)?>](3, x), nv::[<ldexp $($f)?>](x, 3), nv::[<lgamma $($f)?>](x),
                    nv::[<llrint $($f)?>](x * 9.0), nv::[<llround $($f)?>](x * 9.0), nv::[<log $($f)?>](x),
                    nv::[<log10 $($f)?>](x), nv::[<log1p $($f)?>](x), nv::[<log2 $($f)?>](x), nv::[<logb $($f)?>](x),
                    nv::[<nearbyint $($f)?>](x * 9.0), nv::[<nextafter $($f)?>](x, 1.0), nv::[<normcdf $($f)?>](x),
                    nv::[<normcdfinv $($f)?>](x), nv::[<pow $($f)?>](x, 2.5), nv::[<powi $($f)?>](x, 5),
                    nv::[<rcbrt $($f)?>](x), nv::[<remainder $($f)?>](x, 0.25), nv::[<rint $($f)?>](x * 9.0),
                    nv::[<round $($f)?>](x * 9.0), nv::[<rsqrt $($f)?>](x), nv::[<scalbn $($f)?>](x, -2),
                    nv::[<sin $($f)?>](x), nv::[<sinh $($f)?>](x), nv::[<sinpi $($f)?>](x), nv::[<sqrt $($f)?>](x),
                    nv::[<tan $($f)?>](x), nv::[<tanh $($f)?>](x), nv::[<tgamma $($f)?>](x),
                    nv::[<trunc $($f)?>](x * -9.0), nv::[<y0 $($f)?>](x), nv::[<y1 $($f)?>](x), nv::[<yn $($f)?>](2, x),
                    nv::[<nan $($f)?>](core::ptr::null_mut()), through_pointer!(0, |at| nv::[<frexp $($f)?>](x, at)).0,
                    through_pointer!(0, |at| nv::[<frexp $($f)?>](x, at)).1,
                    through_pointer!(0.0, |at| nv::[<modf $($f)?>](x * 9.0, at)).1,
                    through_pointer!(0, |at| nv::[<remquo $($f)?>](x, 0.25, at)).1,
                    through_pointer!([0.0; 2], |at| {
                        nv::[<sincos $($f)?>](x, at.cast(), at.cast::<$float>().add(1))
                    }).1[1],
                    through_pointer!([0.0; 2], |at| {
                        nv::[<sincospi $($f)?>](x, at.cast(), at.cast::<$float>().add(1))
                    }).1[0],
                ]
            }
        }
    };
}

functions_of! { libdevice_f64, libdevice_f64_on_host, LIBDEVICE_F64, f64, }
functions_of! { libdevice_f32, libdevice_f32_on_host, LIBDEVICE_F32, f32, f }

/// Writes how many functions of integers and bits gave something unexpected, 0, and how many were tried. One thread.
#[kernel]
pub unsafe fn libdevice_integers(out: *mut u32) {
    let mut tally = Tally::new();
    let mut expect = |as_expected| tally.expect(as_expected);
    let (least, most) = (i32::MIN, i32::MAX);
    expect(nv::abs(-5) == 5 && nv::llabs(-5) == 5);
    expect(nv::max(-1, 2) == 2 && nv::min(-1, 2) == -1 && nv::umax(-1, 2) == -1 && nv::umin(-1, 2) == 2);
    expect(nv::llmax(-1, 2) == 2 && nv::llmin(-1, 2) == -1 && nv::ullmax(-1, 2) == -1 && nv::ullmin(-1, 2) == 2);
    expect(nv::brev(1) == least && nv::brevll(1) == i64::MIN);
    expect(nv::clz(1) == 31 && nv::clzll(1) == 63 && nv::popc(-1) == 32 && nv::popcll(-1) == 64);
    expect(nv::ffs(8) == 4 && nv::ffs(0) == 0 && nv::ffsll(1 << 40) == 41 && nv::ffsll(0) == 0);
    expect(nv::byte_perm(0x3322_1100, 0x7766_5544, 0x7412) == 0x7744_1122);
    expect(nv::hadd(-3, 0) == -2 && nv::rhadd(-3, 0) == -1 && nv::hadd(most, most) == most);
    expect(nv::uhadd(-1, 1) == least && nv::urhadd(-1, 0) == least);
    expect(nv::mul24(-3, 5) == -15 && nv::umul24(0x0100_0003, 5) == 15);
    expect(nv::mulhi(-1, 1) == -1 && nv::umulhi(-1, 2) == 1 && nv::mul64hi(-1, 1) == -1 && nv::umul64hi(-1, 2) == 1);
    expect(nv::sad(-3, 4, 10) == 17 && nv::usad(1, 5, 10) == 14);
    expect(nv::finitef(1.0) != 0 && nv::isfinited(f64::INFINITY) == 0);
    expect(
        nv::isinff(f32::NEG_INFINITY) != 0 && nv::isinfd(1.0) == 0 && nv::isnanf(f32::NAN) != 0 && nv::isnand(1.0) == 0,
    );
    expect(nv::signbitf(-0.0) != 0 && nv::signbitd(0.0) == 0 && nv::saturatef(1.5) == 1.0);
    expect(nv::double_as_longlong(nv::longlong_as_double(77)) == 77 && nv::float_as_int(nv::int_as_float(77)) == 77);
    expect(nv::hiloint2double(nv::double2hiint(0.1), nv::double2loint(0.1)) == 0.1);
    expect(nv::half2float(nv::float2half_rn(0.25)) == 0.25);
    tally.write(out);
}

/// Tries a function in its four directions with arguments whose exact result is between two numbers.
macro_rules! inexact {
    ($tally:ident: $($name:ident($($argument:expr),*);)*) => {
        paste! {$(
            let (down, up) = (nv::[<$name _rd>]($($argument),*), nv::[<$name _ru>]($($argument),*));
            let (nearest, inward) = (nv::[<$name _rn>]($($argument),*), nv::[<$name _rz>]($($argument),*));
            let zero = down - down;
            let towards_zero = if down < zero { up } else { down };
            $tally.expect(down < up && (nearest == down || nearest == up) && inward == towards_zero);
        )*}
    };
}

/// Writes how many functions rounded in the wrong direction, 0, and how many were tried. One thread; `third` is 1/3,
/// from outside so that nothing is known about it.
#[kernel]
pub unsafe fn libdevice_directions(third: f64, out: *mut u32) {
    let mut tally = Tally::new();
    let x = third as f32;
    let odd = (x * 3.0) as i64 * ((1 << 60) + 1);
    inexact! { tally:
        fadd(x, 1000.0); fsub(x, 1000.0); fmul(x, -x); fdiv(x, 7.0); fmaf(x, x, 5.0); frcp(x); fsqrt(x);
        dadd(third, 1000.0); dmul(third, -third); ddiv(third, 11.0); fma(third, third, 5.0); drcp(third); dsqrt(third);
        double2float(third); double2int(-third); double2uint(third); double2ll(-third); double2ull(third);
        float2int(-x); float2uint(x); float2ll(-x); float2ull(x);
        int2float((odd >> 32) as i32 + 1); uint2float((odd >> 32) as i32 + 1);
        ll2float(-odd); ull2float(odd); ll2double(-odd); ull2double(odd);
    }
    tally.expect(nv::int2double_rn(-5) == -5.0 && nv::uint2double_rn(-1) == 4_294_967_295.0);
    tally.expect(nv::frsqrt_rn(x * 0.75) == 2.0);
    tally.write(out);
}

/// Writes how many approximations are off by more than a hundred-thousandth, 0, and how many were tried. One thread;
/// `x` is 0.7.
#[kernel]
pub unsafe fn libdevice_approximations(x: f32, out: *mut u32) {
    let mut tally = Tally::new();
    let mut close = |fast: f32, exact: f32| tally.expect(nv::fabsf(fast - exact) <= 1e-5 * nv::fabsf(exact));
    close(nv::fast_cosf(x), nv::cosf(x));
    close(nv::fast_sinf(x), nv::sinf(x));
    close(nv::fast_tanf(x), nv::tanf(x));
    close(nv::fast_expf(x), nv::expf(x));
    close(nv::fast_exp10f(x), nv::exp10f(x));
    close(nv::fast_fdividef(x, 3.0), x / 3.0);
    close(nv::fast_log10f(x), nv::log10f(x));
    close(nv::fast_log2f(x), nv::log2f(x));
    close(nv::fast_logf(x), nv::logf(x));
    close(nv::fast_powf(x, 2.5), nv::powf(x, 2.5));
    let (mut sine, mut cosine) = (0.0, 0.0);
    nv::fast_sincosf(x, &mut sine, &mut cosine);
    close(sine, nv::sinf(x));
    close(cosine, nv::cosf(x));
    tally.write(out);
}

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case, Data};

    let numbers: Vec<f64> = (0..60).map(|i| 0.1 + 0.8 * f64::from(i) / 59.0).collect();
    let singles: Vec<f32> = numbers.iter().map(|&x| x as f32).collect();
    let of_doubles: Vec<f64> = numbers
        .iter()
        .flat_map(|&x| unsafe { libdevice_f64_on_host(x) })
        .collect();
    let of_singles: Vec<f32> = singles
        .iter()
        .flat_map(|&x| unsafe { libdevice_f32_on_host(x) })
        .collect();
    vec![
        Case::new(
            entry!(libdevice_f64(_, _)),
            2,
            32,
            vec![
                Argument::Slice(Data::F64(numbers)),
                Argument::out_f64(of_doubles, 1e-13),
            ],
        ),
        Case::new(
            entry!(libdevice_f32(_, _)),
            2,
            32,
            vec![Argument::Slice(Data::F32(singles)), Argument::out_f32(of_singles, 2e-6)],
        ),
        Case::new(entry!(libdevice_integers(_)), 1, 1, vec![Argument::out_u32([0, 18])]),
        Case::new(
            entry!(libdevice_directions(_, _)),
            1,
            1,
            vec![
                Argument::Value((1.0f64 / 3.0).to_ne_bytes().to_vec()),
                Argument::out_u32([0, 30]),
            ],
        ),
        Case::new(
            entry!(libdevice_approximations(_, _)),
            1,
            1,
            vec![
                Argument::Value(0.7f32.to_ne_bytes().to_vec()),
                Argument::out_u32([0, 12]),
            ],
        ),
    ]
}
