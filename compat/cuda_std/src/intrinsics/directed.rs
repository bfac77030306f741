//! What the GPU has an instruction for and Rust has not: arithmetic and conversions rounded in a given direction (PTX
//! 9.7.3 `add`, `mul`, `fma`, `div`, `rcp`, `sqrt`; PTX 9.7.9.22 `cvt`), and approximations (PTX 9.7.3 `sin`, `cos`,
//! `ex2`, `lg2`).
//!
//! On the host the first are exact to the bit, and in place of an approximation stands the accurate function.

#[cfg(not(target_arch = "nvptx64"))]
use super::rounded::{self, Round};
use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use pastey::paste;

/// One function that is one instruction; what is calculated on the host stands last.
macro_rules! instruction {
    (
        $name:ident($($parameter:ident: $type:ident in $reg:ident),*) -> $result:ident in $out:ident,
        $($instruction:literal),* => $host:expr
    ) => {
        #[doc = concat!("`__nv_", stringify!($name), "` of libdevice: the instruction `", $($instruction,)* "`.")]
        #[gpu_only(sim = { $host })]
        #[inline(always)]
        pub unsafe fn $name($($parameter: $type),*) -> $result {
            let result;
            // SAFETY: the instruction calculates with registers alone.
            unsafe {
                asm!(
                    concat!($($instruction,)* " {result}" $(, ", {", stringify!($parameter), "}")*, ";"),
                    result = out($out) result,
                    $($parameter = in($reg) $parameter,)*
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            result
        }
    };
}

/// Functions in all four directions: the name without its end, the instruction before and after the direction, and the
/// function of [`rounded`] that is it.
macro_rules! directed {
    ($(
        $name:ident($($parameter:ident: $type:ident in $reg:ident),*) -> $result:ident in $out:ident,
        $before:literal, $after:literal = $host:ident;
    )*) => {
        paste! {$(
            directed!(@one [<$name _rn>]($($parameter: $type in $reg),*) -> $result in $out,
                $before "rn" $after = $host Nearest);
            directed!(@one [<$name _rz>]($($parameter: $type in $reg),*) -> $result in $out,
                $before "rz" $after = $host TowardZero);
            directed!(@one [<$name _rd>]($($parameter: $type in $reg),*) -> $result in $out,
                $before "rm" $after = $host Down);
            directed!(@one [<$name _ru>]($($parameter: $type in $reg),*) -> $result in $out,
                $before "rp" $after = $host Up);
        )*}
    };
    (
        @one $name:ident($($parameter:ident: $type:ident in $reg:ident),*) -> $result:ident in $out:ident,
        $before:literal $direction:literal $after:literal = $host:ident $round:ident
    ) => {
        instruction!(
            $name($($parameter: $type in $reg),*) -> $result in $out,
            $before, $direction, $after => rounded::$host($($parameter,)* Round::$round)
        );
    };
}

directed! {
    fadd(x: f32 in reg32, y: f32 in reg32) -> f32 in reg32, "add.", ".f32" = add;
    fsub(x: f32 in reg32, y: f32 in reg32) -> f32 in reg32, "sub.", ".f32" = sub;
    fmul(x: f32 in reg32, y: f32 in reg32) -> f32 in reg32, "mul.", ".f32" = mul;
    fdiv(x: f32 in reg32, y: f32 in reg32) -> f32 in reg32, "div.", ".f32" = div;
    fmaf(x: f32 in reg32, y: f32 in reg32, z: f32 in reg32) -> f32 in reg32, "fma.", ".f32" = mul_add;
    frcp(x: f32 in reg32) -> f32 in reg32, "rcp.", ".f32" = recip;
    fsqrt(x: f32 in reg32) -> f32 in reg32, "sqrt.", ".f32" = sqrt;
    dadd(x: f64 in reg64, y: f64 in reg64) -> f64 in reg64, "add.", ".f64" = add;
    dmul(x: f64 in reg64, y: f64 in reg64) -> f64 in reg64, "mul.", ".f64" = mul;
    ddiv(x: f64 in reg64, y: f64 in reg64) -> f64 in reg64, "div.", ".f64" = div;
    fma(x: f64 in reg64, y: f64 in reg64, z: f64 in reg64) -> f64 in reg64, "fma.", ".f64" = mul_add;
    drcp(x: f64 in reg64) -> f64 in reg64, "rcp.", ".f64" = recip;
    dsqrt(x: f64 in reg64) -> f64 in reg64, "sqrt.", ".f64" = sqrt;

    double2float(x: f64 in reg64) -> f32 in reg32, "cvt.", ".f32.f64" = narrow;
    double2int(x: f64 in reg64) -> i32 in reg32, "cvt.", "i.s32.f64" = to_i32;
    double2uint(x: f64 in reg64) -> i32 in reg32, "cvt.", "i.u32.f64" = to_u32;
    double2ll(x: f64 in reg64) -> i64 in reg64, "cvt.", "i.s64.f64" = to_i64;
    double2ull(x: f64 in reg64) -> i64 in reg64, "cvt.", "i.u64.f64" = to_u64;
    float2int(x: f32 in reg32) -> i32 in reg32, "cvt.", "i.s32.f32" = to_i32;
    float2uint(x: f32 in reg32) -> i32 in reg32, "cvt.", "i.u32.f32" = to_u32;
    float2ll(x: f32 in reg32) -> i64 in reg64, "cvt.", "i.s64.f32" = to_i64;
    float2ull(x: f32 in reg32) -> i64 in reg64, "cvt.", "i.u64.f32" = to_u64;
    int2float(x: i32 in reg32) -> f32 in reg32, "cvt.", ".f32.s32" = from_i32;
    uint2float(x: i32 in reg32) -> f32 in reg32, "cvt.", ".f32.u32" = from_u32;
    ll2float(x: i64 in reg64) -> f32 in reg32, "cvt.", ".f32.s64" = from_i64;
    ull2float(x: i64 in reg64) -> f32 in reg32, "cvt.", ".f32.u64" = from_u64;
    ll2double(x: i64 in reg64) -> f64 in reg64, "cvt.", ".f64.s64" = from_i64;
    ull2double(x: i64 in reg64) -> f64 in reg64, "cvt.", ".f64.u64" = from_u64;
}

// Every 32-bit integer is an f64, so these have one direction.
instruction!(int2double_rn(x: i32 in reg32) -> f64 in reg64, "cvt.rn.f64.s32" => x.into());
instruction!(uint2double_rn(x: i32 in reg32) -> f64 in reg64, "cvt.rn.f64.u32" => (x as u32).into());

instruction!(fast_cosf(x: f32 in reg32) -> f32 in reg32, "cos.approx.f32" => crate::trigonometry::cos(x));
instruction!(fast_sinf(x: f32 in reg32) -> f32 in reg32, "sin.approx.f32" => crate::trigonometry::sin(x));
instruction!(fast_log2f(x: f32 in reg32) -> f32 in reg32, "lg2.approx.f32" => libm::log2f(x));
instruction!(fast_fdividef(x: f32 in reg32, y: f32 in reg32) -> f32 in reg32,
    "div.approx.f32" => rounded::approximate_quotient(x, y));

/// 2 to the power of `x`, approximately (PTX 9.7.3.20, `ex2`).
///
/// # Safety
///
/// None is needed.
#[gpu_only(sim = { libm::exp2f(x) })]
#[inline(always)]
unsafe fn fast_exp2f(x: f32) -> f32 {
    let result;
    // SAFETY: the instruction calculates with registers alone.
    unsafe {
        asm!("ex2.approx.f32 {}, {};", out(reg32) result, in(reg32) x, options(pure, nomem, nostack, preserves_flags))
    };
    result
}

/// Approximations that are calculated from the instructions.
macro_rules! approximations {
    ($($name:ident($($parameter:ident),*) = $calculation:expr;)*) => {$(
        #[doc = concat!("`__nv_", stringify!($name), "` of libdevice.")]
        #[inline(always)]
        pub unsafe fn $name($($parameter: f32),*) -> f32 {
            // SAFETY: the functions ask for nothing.
            unsafe { $calculation }
        }
    )*};
}

approximations! {
    fast_tanf(x) = fast_fdividef(fast_sinf(x), fast_cosf(x));
    fast_expf(x) = fast_exp2f(x * core::f32::consts::LOG2_E);
    fast_exp10f(x) = fast_exp2f(x * core::f32::consts::LOG2_10);
    fast_logf(x) = fast_log2f(x) * core::f32::consts::LN_2;
    fast_log10f(x) = fast_log2f(x) * core::f32::consts::LOG10_2;
    fast_powf(x, y) = fast_exp2f(y * fast_log2f(x));
}

/// Writes approximations of sine and cosine of `x` (`__nv_fast_sincosf` of libdevice).
///
/// # Safety
///
/// Both pointers must be valid for a write.
#[inline(always)]
pub unsafe fn fast_sincosf(x: f32, sine: *mut f32, cosine: *mut f32) {
    // SAFETY: as the caller promises.
    unsafe {
        sine.write(fast_sinf(x));
        cosine.write(fast_cosf(x));
    }
}

/// The reciprocal of the square root, rounded to the nearest number (`__nv_frsqrt_rn` of libdevice).
#[inline(always)]
pub unsafe fn frsqrt_rn(x: f32) -> f32 {
    // The GPU's own instruction is an approximation. Twice the digits round to the right number but for a few ties in
    // 2^29.
    (1.0 / crate::GpuFloat::sqrt(f64::from(x))) as f32
}
