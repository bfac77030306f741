//! Loops whose turns are written out.

/// `for $i in 0..$count`, at most 40, every turn written out: an array that is indexed by `$i` then stays in registers.
/// A loop that the compiler does not unroll by itself would index it at run time, which moves it to local memory.
///
/// `const $count`, at most 8: of a constant, the turns behind it are not even compiled. Otherwise they are thrown away
/// after everything in them is inlined, which for large bodies, or loops within loops, takes minutes.
///
/// On the host it is a plain loop: for the simulator the kernels would be compiled for many minutes.
#[macro_export]
#[doc(hidden)]
macro_rules! unrolled {
    (const $count:expr, |$i:ident| $body:expr) => {{
        #[cfg(target_arch = "nvptx64")]
        $crate::unrolled!(@constant $count, $i, $body, 0 1 2 3 4 5 6 7);
        #[cfg(not(target_arch = "nvptx64"))]
        for $i in 0..const { $count } {
            $body;
        }
    }};
    ($count:expr, |$i:ident| $body:expr) => {
        $crate::unrolled!(@turns $count, $i, $body,
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19
            20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39)
    };
    ($count:expr, at most 16, |$i:ident| $body:expr) => {
        $crate::unrolled!(@turns $count, $i, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    ($count:expr, at most 8, |$i:ident| $body:expr) => {
        $crate::unrolled!(@turns $count, $i, $body, 0 1 2 3 4 5 6 7)
    };
    (@constant $count:expr, $i:ident, $body:expr, $($turn:literal)*) => {
        const { assert!($count <= 8) };
        $(
            if const { $turn < $count } {
                let $i = $turn;
                $body;
            }
        )*
    };
    ($count:expr, at most 4, |$i:ident| $body:expr) => {
        $crate::unrolled!(@turns $count, $i, $body, 0 1 2 3)
    };
    ($count:expr, at most 2, |$i:ident| $body:expr) => {
        $crate::unrolled!(@turns $count, $i, $body, 0 1)
    };
    (@turns $count:expr, $i:ident, $body:expr, $($turn:literal)*) => {{
        #[cfg(target_arch = "nvptx64")]
        {$(
            if $turn < $count {
                let $i = $turn;
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
