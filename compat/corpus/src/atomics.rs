//! The atomic floating-point types, under contention and one operation at a time.

use core::sync::atomic::Ordering::*;
use cuda_std::atomic::{AtomicF32, AtomicF64, BlockAtomicF32, BlockAtomicF64, SystemAtomicF32, SystemAtomicF64};
use cuda_std::prelude::*;

/// Every thread adds 1 to each of the numbers of larger scope, and to the pair of its block. All totals are exact.
#[kernel]
pub unsafe fn atomic_counts(
    device32: &AtomicF32,
    device64: &AtomicF64,
    system32: &SystemAtomicF32,
    system64: &SystemAtomicF64,
    block32: *const BlockAtomicF32,
    block64: *const BlockAtomicF64,
) {
    let block = thread::block_idx_x() as usize;
    device32.fetch_add(1.0, Relaxed);
    device64.fetch_add(1.0, AcqRel);
    system32.fetch_sub(-1.0, Release);
    system64.fetch_sub(-1.0, SeqCst);
    (*block32.add(block)).fetch_add(1.0, Acquire);
    (*block64.add(block)).fetch_sub(-1.0, Relaxed);
}

/// One kernel for each atomic type.
macro_rules! every_operation {
    ($($kernel:ident: $atomic:ident over $float:ident;)*) => {$(
        #[doc = concat!("Performs every operation of [`", stringify!($atomic), "`] once. One thread.")]
        ///
        /// Element i of `numbers` is operated on and gets the new value, element 7 + i the old one; element 14 the
        /// value of a local atomic.
        #[kernel]
        #[allow(unused_unsafe)]
        pub unsafe fn $kernel(numbers: *mut $float) {
            let at = |i: usize| &*(numbers.add(i) as *const $atomic);
            at(0).store(1.5, Relaxed);
            at(1).store(2.5, Release);
            at(2).store(3.5, SeqCst);
            for i in 3..7 {
                at(i).store(-6.0, Relaxed);
            }
            *numbers.add(7) = at(0).fetch_add(0.25, SeqCst);
            *numbers.add(8) = at(1).fetch_sub(0.25, AcqRel);
            *numbers.add(9) = at(2).load(SeqCst);
            // The sign bit goes, comes, and flips.
            *numbers.add(10) = at(3).fetch_and($float::from_bits(!(-0.0 as $float).to_bits()), Acquire);
            *numbers.add(11) = at(4).fetch_or(-0.0, Release);
            *numbers.add(12) = at(5).fetch_xor(-0.0, Relaxed);
            *numbers.add(13) = at(6).load(Acquire) + at(6).load(Relaxed);
            let local = $atomic::new(10.0);
            local.fetch_add(0.5, Relaxed);
            *numbers.add(14) = local.into_inner();
        }
    )*};
}

every_operation! {
    atomic_f32: AtomicF32 over f32;
    atomic_f64: AtomicF64 over f64;
    block_atomic_f32: BlockAtomicF32 over f32;
    block_atomic_f64: BlockAtomicF64 over f64;
    system_atomic_f32: SystemAtomicF32 over f32;
    system_atomic_f64: SystemAtomicF64 over f64;
}

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case};

    let (blocks, threads) = (50, 96);
    let all = (blocks * threads) as f32;
    let mut cases = vec![Case::new(
        entry!(atomic_counts(_, _, _, _, _, _)),
        blocks,
        threads,
        vec![
            Argument::out_f32([all], 0.0),
            Argument::out_f64([all.into()], 0.0),
            Argument::out_f32([all], 0.0),
            Argument::out_f64([all.into()], 0.0),
            Argument::out_f32(vec![threads as f32; blocks as usize], 0.0),
            Argument::out_f64(vec![threads.into(); blocks as usize], 0.0),
        ],
    )];
    // `and` with all bits but the sign makes -6 a 6.
    let expected = [
        1.75, 2.25, 3.5, 6.0, -6.0, 6.0, -6.0, 1.5, 2.5, 3.5, -6.0, -6.0, -6.0, -12.0, 10.5f32,
    ];
    for kernel in [
        entry!(atomic_f32(_)),
        entry!(block_atomic_f32(_)),
        entry!(system_atomic_f32(_)),
    ] {
        cases.push(Case::new(kernel, 1, 1, vec![Argument::out_f32(expected, 0.0)]));
    }
    for kernel in [
        entry!(atomic_f64(_)),
        entry!(block_atomic_f64(_)),
        entry!(system_atomic_f64(_)),
    ] {
        cases.push(Case::new(
            kernel,
            1,
            1,
            vec![Argument::out_f64(expected.map(f64::from), 0.0)],
        ));
    }
    cases
}
