//! The phases of an mbarrier.

use crate::analysis::mbarrier::{Mbarrier, Missing};
use crate::analysis::sync_vars::Publication;
use crate::fault::MbarrierProblem;

fn mbarrier(count: u32) -> Mbarrier {
    Mbarrier::new(0, count).expect("allowed")
}

fn arrive(mbarrier: &mut Mbarrier) -> bool {
    mbarrier.arrive(&Publication::default()).expect("expected")
}

#[test]
fn a_phase_needs_all_arrivals_and_all_bytes() {
    let mut mbarrier = mbarrier(2);
    assert!(mbarrier.completed(1).is_some() && mbarrier.completed(0).is_none());
    mbarrier.expect(100).expect("counted");
    assert!(!arrive(&mut mbarrier));
    assert!(!arrive(&mut mbarrier));
    let missing = Missing {
        phase: 0,
        arrivals: 0,
        expected: 2,
        bytes: 100,
    };
    assert_eq!(mbarrier.missing(), missing);
    assert_eq!(missing.to_string(), "phase 0 lacks 0 of 2 arrivals and 100 bytes");
    let problem = MbarrierProblem::TooManyArrivals { expected: 2, phase: 0 };
    assert_eq!(mbarrier.arrive(&Publication::default()), Err(problem));
    assert!(mbarrier.completed(0).is_none());
}

#[test]
fn bytes_may_come_before_they_are_expected() {
    let (mut sync, mut agents) = (
        crate::analysis::sync_vars::Synchronization::new(),
        crate::analysis::agents::Agents::default(),
    );
    sync.start_block(0, 32);
    agents.start_block(sync.clocks.first_agent());
    let operation = agents.start(&mut sync, std::iter::once(0));
    let mut mbarrier = mbarrier(1);
    assert_eq!(mbarrier.complete(64, operation), Ok(false));
    assert_eq!(mbarrier.missing().bytes, -64);
    mbarrier.expect(64).expect("counted");
    assert!(arrive(&mut mbarrier));
    let released = mbarrier.completed(0).expect("complete");
    assert_eq!(released.operations, [operation]);
    // The next phase expects as many arrivals, and has released nothing of its own.
    assert!(arrive(&mut mbarrier));
    assert!(mbarrier.completed(0).is_none());
    assert!(mbarrier.completed(1).expect("complete").operations.is_empty());
}

#[test]
fn bytes_are_counted_in_both_directions_up_to_the_limit() {
    let mut up = mbarrier(1);
    up.expect(Mbarrier::MOST).expect("counted");
    assert!(matches!(
        up.expect(1),
        Err(MbarrierProblem::Bytes { bytes: 0x10_0000, .. })
    ));
    assert!(Mbarrier::new(0, 0).is_err() && Mbarrier::new(0, Mbarrier::MOST + 1).is_err());
    assert!(Mbarrier::new(0, Mbarrier::MOST).is_ok());
}

#[test]
fn a_fence_counts_if_the_initializing_thread_executes_it() {
    let mut mbarrier = Mbarrier::new(7, 1).expect("allowed");
    mbarrier.fence(8);
    assert!(!mbarrier.is_fenced());
    mbarrier.fence(7);
    assert!(mbarrier.is_fenced());
}
