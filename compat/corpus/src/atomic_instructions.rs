//! `atomic::mid` and `atomic::intrinsics`: every function, by one thread, each result checked on the spot.
//!
//! Each kernel writes how many calls gave something unexpected, which must be 0, and how many it made.

use crate::tally::Tally;
use core::sync::atomic::Ordering::{self, *};
use cuda_std::atomic::{intrinsics, mid};
use cuda_std::prelude::*;
use pastey::paste;

/// Calls `$make!` for each scope.
macro_rules! every_scope {
    ($make:ident!($($arguments:tt)*)) => {
        $make!(block $($arguments)*);
        $make!(device $($arguments)*);
        $make!(system $($arguments)*);
    };
}

/// Calls `$make!` for each scope and ordering of a read-modify-write.
macro_rules! every_scope_and_ordering {
    ($make:ident!($($arguments:tt)*)) => {
        every_scope!($make!(relaxed $($arguments)*));
        every_scope!($make!(acquire $($arguments)*));
        every_scope!($make!(release $($arguments)*));
        every_scope!($make!(acqrel $($arguments)*));
        every_scope!($make!(volatile $($arguments)*));
    };
}

/// The bitwise operations, additions and exchanges, which all types have. `$number` makes a value of the type from
/// small bits, so that floating-point numbers are tried on bits that no rounding disturbs.
macro_rules! common_operations {
    ($scope:ident $order:ident $type:ident $tally:ident $cell:ident $number:ident) => {
        paste! {
            *$cell = $number(12);
            $tally.expect(intrinsics::[<atomic_fetch_and_ $order _ $type _ $scope>]($cell, $number(10)) == $number(12));
            $tally.expect(intrinsics::[<atomic_fetch_or_ $order _ $type _ $scope>]($cell, $number(3)) == $number(8));
            $tally.expect(intrinsics::[<atomic_fetch_xor_ $order _ $type _ $scope>]($cell, $number(5)) == $number(11));
            let old = intrinsics::[<atomic_fetch_exch_ $order _ $type _ $scope>]($cell, 20 as $type);
            $tally.expect(old == $number(14));
            $tally.expect(intrinsics::[<atomic_fetch_add_ $order _ $type _ $scope>]($cell, 7 as $type) == 20 as $type);
            $tally.expect(intrinsics::[<atomic_fetch_sub_ $order _ $type _ $scope>]($cell, 1 as $type) == 27 as $type);
            let old = intrinsics::[<atomic_fetch_cas_ $order _ $type _ $scope>]($cell, 25 as $type, 0 as $type);
            $tally.expect(old == 26 as $type);
            let old = intrinsics::[<atomic_fetch_cas_ $order _ $type _ $scope>]($cell, 26 as $type, 99 as $type);
            $tally.expect(old == 26 as $type);
            $tally.expect(*$cell == 99 as $type);
        }
    };
}

/// The operations of integers.
macro_rules! integer_operations {
    ($scope:ident $order:ident $type:ident $tally:ident $cell:ident) => {
        paste! {
            *$cell = $type::MAX;
            $tally.expect(intrinsics::[<atomic_fetch_min_ $order _ $type _ $scope>]($cell, 5) == $type::MAX);
            $tally.expect(intrinsics::[<atomic_fetch_min_ $order _ $type _ $scope>]($cell, $type::MIN) == 5);
            $tally.expect(intrinsics::[<atomic_fetch_max_ $order _ $type _ $scope>]($cell, 9) == $type::MIN);
            $tally.expect(*$cell == 9);
        }
    };
}

/// `inc` and `dec`, which the published crate declares but which its own toolchain does not assemble: its instructions
/// lack an operand.
macro_rules! steps {
    ($scope:ident $order:ident $type:ident $tally:ident $cell:ident) => {
        paste! {
            *$cell = 9;
            $tally.expect(intrinsics::[<atomic_fetch_inc_ $order _ $type _ $scope>]($cell) == 9);
            $tally.expect(intrinsics::[<atomic_fetch_dec_ $order _ $type _ $scope>]($cell) == 10);
            $tally.expect(*$cell == 9);
        }
    };
}

/// The functions of [`mid`] for a type; the orderings are run-time values.
macro_rules! mid_operations {
    ($scope:ident $type:ident $tally:ident $cell:ident $number:ident) => {
        for order in ORDERINGS {
            paste! {
                *$cell = $number(12);
                $tally.expect(mid::[<atomic_fetch_and_ $type _ $scope>]($cell, order, $number(10)) == $number(12));
                $tally.expect(mid::[<atomic_fetch_or_ $type _ $scope>]($cell, order, $number(3)) == $number(8));
                $tally.expect(mid::[<atomic_fetch_xor_ $type _ $scope>]($cell, order, $number(5)) == $number(11));
                $tally.expect(mid::[<atomic_fetch_exch_ $type _ $scope>]($cell, order, 20 as $type) == $number(14));
                $tally.expect(mid::[<atomic_fetch_add_ $type _ $scope>]($cell, order, 7 as $type) == 20 as $type);
                $tally.expect(mid::[<atomic_fetch_sub_ $type _ $scope>]($cell, order, 1 as $type) == 27 as $type);
                $tally.expect(*$cell == 26 as $type);
            }
        }
    };
}

/// The functions of [`mid`] that integers have.
macro_rules! mid_integer_operations {
    ($scope:ident $type:ident $tally:ident $cell:ident) => {
        for order in ORDERINGS {
            paste! {
                *$cell = $type::MAX;
                $tally.expect(mid::[<atomic_fetch_min_ $type _ $scope>]($cell, order, $type::MIN) == $type::MAX);
                $tally.expect(mid::[<atomic_fetch_max_ $type _ $scope>]($cell, order, 9) == $type::MIN);
                $tally.expect(*$cell == 9);
            }
        }
    };
}

const ORDERINGS: [Ordering; 5] = [Relaxed, Acquire, Release, AcqRel, SeqCst];

/// One kernel for a type.
macro_rules! instruction_kernel {
    ($kernel:ident, $type:ident, |$bits:ident| $number:expr, $only_integers:tt) => {
        #[doc = concat!("Every read-modify-write function on `", stringify!($type), "`. One thread; `cell` is any one")]
        #[doc = "element."]
        #[kernel]
        pub unsafe fn $kernel(cell: *mut $type, out: *mut u32) {
            fn number($bits: u8) -> $type {
                $number
            }
            let mut tally = Tally::new();
            every_scope_and_ordering!(common_operations!($type tally cell number));
            every_scope!(mid_operations!($type tally cell number));
            instruction_kernel!(@integers $only_integers $type tally cell);
            tally.write(out);
        }
    };
    (@integers true $type:ident $tally:ident $cell:ident) => {
        every_scope_and_ordering!(integer_operations!($type $tally $cell));
        every_scope_and_ordering!(steps!($type $tally $cell));
        every_scope!(mid_integer_operations!($type $tally $cell));
    };
    (@integers false $type:ident $tally:ident $cell:ident) => {};
}

instruction_kernel!(instructions_u32, u32, |bits| bits.into(), true);
instruction_kernel!(instructions_u64, u64, |bits| bits.into(), true);
instruction_kernel!(instructions_i32, i32, |bits| bits.into(), true);
instruction_kernel!(instructions_i64, i64, |bits| bits.into(), true);
instruction_kernel!(instructions_f32, f32, |bits| f32::from_bits(bits.into()), false);
instruction_kernel!(instructions_f64, f64, |bits| f64::from_bits(bits.into()), false);

macro_rules! loads_and_stores {
    ($scope:ident $width:literal $tally:ident $cell:ident) => {
        paste! {
            intrinsics::[<atomic_store_relaxed_ $width _ $scope>]($cell, 1);
            $tally.expect(intrinsics::[<atomic_load_relaxed_ $width _ $scope>]($cell) == 1);
            intrinsics::[<atomic_store_release_ $width _ $scope>]($cell, 2);
            $tally.expect(intrinsics::[<atomic_load_acquire_ $width _ $scope>]($cell) == 2);
            intrinsics::[<atomic_store_volatile_ $width _ $scope>]($cell, 3);
            $tally.expect(intrinsics::[<atomic_load_volatile_ $width _ $scope>]($cell) == 3);
            for (order, value) in [(Relaxed, 4), (Release, 5), (SeqCst, 6)] {
                mid::[<atomic_store_ $width _ $scope>]($cell, order, value);
                let order = if let Release = order { Acquire } else { order };
                $tally.expect(mid::[<atomic_load_ $width _ $scope>]($cell, order) == value);
            }
        }
    };
}

macro_rules! fences {
    ($scope:ident $tally:ident) => {
        paste! {
            intrinsics::[<membar_ $scope>]();
            intrinsics::[<fence_sc_ $scope>]();
            intrinsics::[<fence_acqrel_ $scope>]();
            for order in ORDERINGS {
                mid::[<$scope _thread_fence>](order);
            }
            $tally.expect(true);
        }
    };
}

/// Every load, store and fence. One thread.
#[kernel]
pub unsafe fn loads_stores_fences(cell32: *mut u32, cell64: *mut u64, out: *mut u32) {
    let mut tally = Tally::new();
    every_scope!(loads_and_stores!(32 tally cell32));
    every_scope!(loads_and_stores!(64 tally cell64));
    every_scope!(fences!(tally));
    tally.write(out);
}

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case, Data};

    // 3 scopes, 5 orderings of each.
    let (common, integer) = (15 * 9 + 15 * 7, 15 * 4 + 15 * 3 + 15 * 3);
    let case = |kernel, cell, calls| {
        Case::new(
            kernel,
            1,
            1,
            vec![Argument::Pointer(cell), Argument::out_u32([0, calls])],
        )
    };
    vec![
        case(entry!(instructions_u32(_, _)), Data::U32(vec![0]), common + integer),
        case(entry!(instructions_u64(_, _)), Data::U64(vec![0]), common + integer),
        case(entry!(instructions_i32(_, _)), Data::U32(vec![0]), common + integer),
        case(entry!(instructions_i64(_, _)), Data::U64(vec![0]), common + integer),
        case(entry!(instructions_f32(_, _)), Data::F32(vec![0.0]), common),
        case(entry!(instructions_f64(_, _)), Data::F64(vec![0.0]), common),
        Case::new(
            entry!(loads_stores_fences(_, _, _)),
            1,
            1,
            vec![
                Argument::Pointer(Data::U32(vec![0])),
                Argument::Pointer(Data::U64(vec![0])),
                Argument::out_u32([0, 2 * 3 * 6 + 3]),
            ],
        ),
    ]
}
