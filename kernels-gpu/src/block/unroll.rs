//! Unrolled loops.

/// `for $i in 0..$count`, at most 40, fully unrolled: an array that is indexed by `$i` then stays in registers. A loop
/// that the compiler does not unroll would index it at run time, which moves it to local memory.
///
/// `const $count`, at most 8, or `at most 16` or `40`: iterations past a constant count are not even compiled.
/// Otherwise they are dropped after everything in them has been inlined, which takes minutes for large bodies and
/// nested loops.
///
/// On the host it is a plain loop: unrolled, the simulator's kernels would take many minutes to compile.
#[macro_export]
#[doc(hidden)]
macro_rules! unrolled {
    (const $count:expr, |$i:ident| $body:expr) => {
        $crate::unrolled!(@constant $count, $i, $body, 8: 0 1 2 3 4 5 6 7)
    };
    (const $count:expr, at most 16, |$i:ident| $body:expr) => {
        $crate::unrolled!(@constant $count, $i, $body, 16: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (const $count:expr, at most 40, |$i:ident| $body:expr) => {
        $crate::unrolled!(@constant $count, $i, $body, 40:
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19
            20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39)
    };
    ($count:expr, |$i:ident| $body:expr) => {
        $crate::unrolled!(@iterations $count, $i, $body,
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19
            20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39)
    };
    ($count:expr, at most 16, |$i:ident| $body:expr) => {
        $crate::unrolled!(@iterations $count, $i, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    ($count:expr, at most 8, |$i:ident| $body:expr) => {
        $crate::unrolled!(@iterations $count, $i, $body, 0 1 2 3 4 5 6 7)
    };
    ($count:expr, at most 4, |$i:ident| $body:expr) => {
        $crate::unrolled!(@iterations $count, $i, $body, 0 1 2 3)
    };
    ($count:expr, at most 2, |$i:ident| $body:expr) => {
        $crate::unrolled!(@iterations $count, $i, $body, 0 1)
    };
    (@constant $count:expr, $i:ident, $body:expr, $most:literal: $($iteration:literal)*) => {{
        const { assert!($count <= $most) };
        #[cfg(target_arch = "nvptx64")]
        {$(
            if const { $iteration < $count } {
                let $i = $iteration;
                $body;
            }
        )*}
        #[cfg(not(target_arch = "nvptx64"))]
        for $i in 0..const { $count } {
            $body;
        }
    }};
    (@iterations $count:expr, $i:ident, $body:expr, $($iteration:literal)*) => {{
        #[cfg(target_arch = "nvptx64")]
        {$(
            if $iteration < $count {
                let $i = $iteration;
                $body;
            }
        )*}
        #[cfg(not(target_arch = "nvptx64"))]
        for $i in 0..$count {
            $body;
        }
    }};
}

pub use crate::unrolled;
