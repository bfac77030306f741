//! The strategies for property tests: their ranges, and that a failing case shrinks under its own schedule.

use cuda_sim::strategies::{LaunchCase, extents, launches, lengths, matrices, schedules};
use cuda_sim::{GlobalBuffer, Schedule};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Global, GlobalMut, Shared};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestError, TestRunner};

/// Reverses each block's elements of `from` through shared memory, which takes blocks of at most 256 threads.
///
/// # Safety
/// Both have `len` elements.
#[kernel]
unsafe fn reverse_blocks(from: *const u32, to: *mut u32, len: usize, has_barrier: bool) {
    let (t, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let first = thread::block_idx_x() as usize * threads;
    // SAFETY: every index is tested, and the barrier separates writers from readers, or that is the fault.
    unsafe {
        let (from, to) = (Global::new(from, len), GlobalMut::new(to, len));
        let tile = Shared::new(shared_array![u32; 256], 256);
        let end = threads.min(len.saturating_sub(first));
        if t < end {
            tile.set(t, from.get(first + t));
        }
        if has_barrier {
            thread::sync_threads();
        }
        if t < end {
            to.set(first + t, tile.get(end - 1 - t));
        }
    }
}

/// Whether the kernel is right for a launch and a length.
fn check(case: LaunchCase, len: usize, has_barrier: bool) -> Result<(), TestCaseError> {
    let values: Vec<u32> = (0..len as u32).collect();
    let (from, to) = (
        GlobalBuffer::from_slice(&values),
        GlobalBuffer::from_slice(&vec![u32::MAX; len]),
    );
    // SAFETY: both have `len` elements.
    let kernel = || unsafe { reverse_blocks(from.as_ptr(), to.as_mut_ptr(), len, has_barrier) };
    let report = case.launch().run(kernel);
    prop_assert!(report.is_clean(), "{report}");
    let covered = len.min((case.grid.count() * case.block.count()) as usize);
    let threads = case.block.count() as usize;
    let reversed = values[..covered]
        .chunks(threads)
        .flat_map(|block| block.iter().rev().copied());
    prop_assert_eq!(&to.to_vec()[..covered], reversed.collect::<Vec<_>>());
    Ok(())
}

fn cases() -> impl Strategy<Value = (LaunchCase, usize)> {
    (
        launches(extents([4, 1, 1], 4), extents([96, 1, 1], 96)),
        lengths(32, 300),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_right_kernel_is_right_for_every_launch((case, len) in cases()) {
        check(case, len, true)?;
    }

    #[test]
    fn extents_keep_to_their_bounds(dim in extents([64, 8, 4], 96)) {
        prop_assert!((1..=64).contains(&dim.x) && (1..=8).contains(&dim.y) && (1..=4).contains(&dim.z));
        prop_assert!(dim.count() <= 96);
    }

    #[test]
    fn matrices_have_rows_that_fit(matrix in matrices(16, 40, 70)) {
        prop_assert!(matrix.rows <= 40 && matrix.columns <= 70 && matrix.ld >= matrix.columns);
        let span = GlobalBuffer::<u8>::matrix_uninit(matrix.rows, matrix.columns, matrix.ld).len();
        prop_assert!(span <= matrix.rows * matrix.ld);
    }
}

#[test]
fn a_wrong_kernel_shrinks_to_two_threads_and_two_elements() {
    let mut runner = TestRunner::deterministic();
    let result = runner.run(&cases(), |(case, len)| check(case, len, false));
    let Err(TestError::Fail(reason, (case, len))) = result else {
        panic!("{result:?}")
    };
    assert!(reason.message().contains("race in shared memory"), "{reason}");
    assert_eq!((case.grid.count(), case.block.count(), len), (1, 2, 2), "{case:?}");
}

#[test]
fn shrinking_keeps_the_schedule() {
    let mut runner = TestRunner::deterministic();
    let mut random = 0;
    for _ in 0..50 {
        let mut tree = cases().new_tree(&mut runner).expect("nothing is rejected");
        let (first, _) = tree.current();
        random += u32::from(matches!(first.schedule, Schedule::Random(_)));
        while tree.simplify() {
            assert_eq!(tree.current().0.schedule, first.schedule);
        }
        let (last, len) = tree.current();
        assert_eq!((last.grid.count(), last.block.count(), len), (1, 1, 0));
    }
    assert!((10..40).contains(&random), "{random} of 50");
}

#[test]
fn lengths_are_often_at_the_edges_of_tiles() {
    let mut runner = TestRunner::deterministic();
    let mut edges = 0;
    for _ in 0..200 {
        let len = lengths(32, 1000)
            .new_tree(&mut runner)
            .expect("nothing is rejected")
            .current();
        assert!(len <= 1000);
        edges += u32::from(matches!(len % 32, 31 | 0 | 1));
    }
    assert!(edges > 80, "{edges} of 200");
    // All kinds of schedules, and no `All`, which has five.
    let schedules: Vec<Schedule> = (0..50)
        .map(|_| {
            schedules()
                .new_tree(&mut runner)
                .expect("nothing is rejected")
                .current()
        })
        .collect();
    assert!(schedules.contains(&Schedule::Forward) && schedules.contains(&Schedule::Reverse));
    assert!(!schedules.contains(&Schedule::All));
}
