//! The kernels over lengths, block sizes and orders of threads that proptest draws. A failing case shrinks to the
//! smallest one that still fails, and keeps the order of threads that failed.

use cuda_sim::strategies::{LaunchCase, lengths, schedules};
use cuda_sim::{Dim3, GlobalBuffer};
use kernels::reverse_dynamic;
use proptest::prelude::*;

/// A length, and a launch with a thread for each element.
fn cases() -> impl Strategy<Value = (usize, LaunchCase)> {
    // Lengths next to multiples of a warp, among others; blocks of 1 to 256 threads.
    (lengths(32, 500), 1..=256_u32, schedules()).prop_map(|(len, threads, schedule)| {
        // A launch of no blocks is none.
        let len = len.max(1);
        let (grid, block) = (Dim3::from((len as u32).div_ceil(threads)), Dim3::from(threads));
        (len, LaunchCase { grid, block, schedule })
    })
}

proptest! {
    #[test]
    fn each_piece_is_reversed((len, case) in cases()) {
        let values: Vec<u32> = (0..len as u32).collect();
        let data = GlobalBuffer::from_slice(&values).named("data");
        let threads = case.block.count() as usize;
        let launch = case.launch().dynamic_shared_bytes(4 * threads as u32);
        // SAFETY: `len` elements, and an element of shared memory for each thread.
        let report = launch.run(|| unsafe { reverse_dynamic(data.as_mut_ptr(), len as u32) });
        prop_assert!(report.is_clean(), "{report}");
        let reversed = values.chunks(threads).flat_map(|piece| piece.iter().rev().copied());
        prop_assert_eq!(data.to_vec(), reversed.collect::<Vec<_>>());
    }
}
