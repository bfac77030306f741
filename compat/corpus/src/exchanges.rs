//! What `atomic::mid` has beyond 0.2.2: compare-and-swap by ordering, and the bounded steps.

use crate::tally::Tally;
use core::sync::atomic::Ordering::{self, *};
use cuda_std::atomic::mid;
use cuda_std::prelude::*;
use pastey::paste;

const ORDERINGS: [Ordering; 5] = [Relaxed, Acquire, Release, AcqRel, SeqCst];

/// One kernel for each type: every scope and ordering, one swap that fails and one that succeeds. One thread.
macro_rules! every_exchange {
    ($($type:ident)*) => {$(paste! {
        #[doc = concat!("Compares and swaps a `", stringify!($type), "` in every scope with every ordering.")]
        #[kernel]
        pub unsafe fn [<exchanges_ $type>](cell: *mut $type, out: *mut u32) {
            let mut tally = Tally::new();
            for order in ORDERINGS {
                every_exchange!(@scope block $type tally cell order);
                every_exchange!(@scope device $type tally cell order);
                every_exchange!(@scope system $type tally cell order);
            }
            tally.write(out);
        }
    })*};
    (@scope $scope:ident $type:ident $tally:ident $cell:ident $order:ident) => {
        paste! {
            *$cell = 5 as $type;
            let failed = mid::[<atomic_compare_and_swap_ $type _ $scope>]($cell, 4 as $type, 9 as $type, $order);
            $tally.expect(failed == 5 as $type && *$cell == 5 as $type);
            let swapped = mid::[<atomic_compare_and_swap_ $type _ $scope>]($cell, 5 as $type, 9 as $type, $order);
            $tally.expect(swapped == 5 as $type && *$cell == 9 as $type);
        }
    };
}

every_exchange! { u32 u64 i32 i64 f32 f64 }

/// All threads take steps of two counters that wrap: up, from 0 to 6 and to 0 again, and down, from 0 to 9 and back.
#[kernel]
pub unsafe fn bounded_steps(up: *mut u32, down: *mut u32) {
    mid::atomic_inc_bounded_relaxed_u32_device(up, 6);
    mid::atomic_dec_bounded_relaxed_u32_device(down, 9);
}

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case, Data};

    let exchanges = |kernel, cell| {
        let out = Argument::out_u32([0, 5 * 3 * 2]);
        Case::new(kernel, 1, 1, vec![Argument::Pointer(cell), out])
    };
    let threads = 4 * 50;
    vec![
        exchanges(entry!(exchanges_u32(_, _)), Data::U32(vec![0])),
        exchanges(entry!(exchanges_u64(_, _)), Data::U64(vec![0])),
        exchanges(entry!(exchanges_i32(_, _)), Data::U32(vec![0])),
        exchanges(entry!(exchanges_i64(_, _)), Data::U64(vec![0])),
        exchanges(entry!(exchanges_f32(_, _)), Data::F32(vec![0.0])),
        exchanges(entry!(exchanges_f64(_, _)), Data::F64(vec![0.0])),
        Case::new(
            entry!(bounded_steps(_, _)),
            4,
            50,
            // Up a cycle of 7 values, down one of 10.
            vec![
                Argument::out_u32([threads % 7]),
                Argument::out_u32([(10 - threads % 10) % 10]),
            ],
        ),
    ]
}
