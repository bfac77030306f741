//! Which baseline is taken, what is checked and in which order things are timed.

use tilewright::ErrorKind;
use tilewright_contract::{DType, Family};

use super::*;

#[test]
fn the_peer_is_the_fastest_candidate_that_is_right() {
    let peers = vec![made("slow", 120.0), made("fast", 80.0), made("near", 85.0)];
    let log = Log::default();
    let results = measured(&[row("a")], &options(), &ours(100.0), Device::new(peers, &log));
    let measured = results[0].measured().expect("measured");
    assert_eq!(peer_of(measured), Some("fast"));
    assert!(measured.passed_over.is_empty());
    // Ours was checked first; the one that is 50 % slower than the fastest was not tried again; both were timed in
    // turns, then alone.
    let expected = [
        "check ours",
        "baselines of a",
        "try slow",
        "try slow",
        "try fast",
        "try fast",
        "try near",
        "try near",
        "try fast",
        "try near",
        "check fast",
        "time ours fast",
        "lone ours fast",
    ];
    assert_eq!(*log.borrow(), expected);
    // The device of the test slows both sides down alike: the ratios have no spread, the times have.
    let ratio = measured.ratio.expect("has a peer");
    assert!(
        [ratio.q1, ratio.median, ratio.q3]
            .iter()
            .all(|ratio| (ratio - 0.8).abs() < 1e-12),
        "{ratio:?}"
    );
    assert_eq!(measured.ours.speed.us.median, 102.0);
    assert!(measured.ours.speed.us.q1 < measured.ours.speed.us.q3);
    // 2 x 256^3 operations in 102 us.
    assert!(
        (measured.ours.speed.tflops - 0.329).abs() < 1e-3,
        "{}",
        measured.ours.speed.tflops
    );
    assert_eq!((measured.rounds, measured.launches, measured.sets), (5, 1, 7));
}

#[test]
fn a_candidate_that_fails_is_named_and_the_next_is_taken() {
    let is_wrong = |name, us| Made {
        error: None,
        ..made(name, us)
    };
    let is_refused = |name, us| Made {
        fails: Some(refused),
        ..made(name, us)
    };
    let is_coarse = |name, us| Made {
        error: Some(0.25 * 16.5),
        ..made(name, us)
    };
    // The last is far from the fastest, but the first that is right.
    let peers = vec![
        is_refused("refused", 10.0),
        is_wrong("wrong", 70.0),
        is_coarse("coarse", 75.0),
        made("right", 200.0),
        made("slower", 300.0),
    ];
    let measured = one(peers, &options());
    assert_eq!(peer_of(&measured), Some("right"));
    assert_eq!(measured.ratio.map(|ratio| ratio.median), Some(2.0));
    let names: Vec<_> = measured
        .passed_over
        .iter()
        .map(|passed_over| passed_over.name.as_str())
        .collect();
    assert_eq!(names, ["refused", "wrong", "coarse"]);
    let problem = |at: usize| measured.passed_over[at].problem.as_str();
    assert_eq!(
        problem(0),
        "cuBLAS: cublasLtMatmul returned 15 (CUBLAS_STATUS_NOT_SUPPORTED)"
    );
    assert_eq!(problem(1), wrong().to_string());
    assert!(
        problem(2).starts_with("computes with less precision: "),
        "{}",
        problem(2)
    );
}

#[test]
fn without_a_peer_that_is_right_ours_is_timed_alone() {
    let failing = Made {
        fails: Some(refused),
        ..made("a", 10.0)
    };
    for peers in [Vec::new(), vec![failing]] {
        let count = peers.len();
        let measured = one(peers, &options());
        assert!(measured.peer.is_none() && measured.ratio.is_none() && measured.lone_ratio.is_none());
        assert_eq!(measured.ours.speed.us.median, 102.0);
        assert_eq!(measured.passed_over.len(), count);
    }
}

#[test]
fn a_device_that_is_gone_ends_the_row_and_no_other_candidate_is_tried() {
    let gone = Made {
        fails: Some(|| Error::Unavailable("no usable CUDA device".to_owned())),
        ..made("a", 10.0)
    };
    let log = Log::default();
    let device = Device::new(vec![gone, made("b", 10.0)], &log);
    let results = measured(&[row("a")], &options(), &ours(100.0), device);
    assert!(
        matches!(
            &results[0].outcome,
            Outcome::Failed {
                kind: ErrorKind::Unavailable,
                ..
            }
        ),
        "{:?}",
        results[0].outcome
    );
    assert!(!log.borrow().iter().any(|entry| entry.contains("try b")));
}

#[test]
fn ours_is_not_timed_when_it_is_wrong() {
    let subject = Made {
        error: None,
        ..ours(1.0)
    };
    let log = Log::default();
    let results = measured(
        &[row("a")],
        &options(),
        &subject,
        Device::new(vec![made("b", 1.0)], &log),
    );
    assert!(
        matches!(
            &results[0].outcome,
            Outcome::Failed {
                kind: ErrorKind::Wrong,
                ..
            }
        ),
        "{:?}",
        results[0].outcome
    );
    assert_eq!(results[0].kernel, Some("simt_f32"));
    assert_eq!(*log.borrow(), ["check ours"]);
}

#[test]
fn a_lone_launch_has_a_time_of_its_own_where_caches_can_be_emptied() {
    let measured_one = one(vec![made("b", 50.0)], &options());
    let of = |side: &Side| side.lone_us.map(|us| us.median);
    assert_eq!(of(&measured_one.ours), Some(306.0));
    assert_eq!(measured_one.peer.as_ref().and_then(of), Some(153.0));
    assert_eq!(measured_one.lone_ratio.map(|ratio| ratio.median), Some(0.5));
    let mut device = Device::new(vec![made("b", 50.0)], &Log::default());
    device.can_flush = false;
    let results = measured(&[row("a")], &options(), &ours(100.0), device);
    let without = results[0].measured().expect("measured");
    assert!(without.ours.lone_us.is_none() && without.lone_ratio.is_none() && without.ratio.is_some());
    assert_eq!((measured_one.lone_rounds, without.lone_rounds), (Some(5), None));
}

#[test]
fn a_quick_row_warms_up_for_a_quarter_of_the_time() {
    let took = |pace| {
        let with_pace = Options { pace, ..options() };
        let device = Device::new(vec![made("b", 50.0)], &Log::default());
        let clock = Rc::clone(&device.clock);
        let results = measured(&[row("a")], &with_pace, &ours(100.0), device);
        let measured = results[0].measured().expect("measured");
        (clock.get().as_secs_f64(), measured.rounds, measured.lone_rounds)
    };
    let (full_s, ..) = took(Pace::FULL.with_rounds(Some(9)));
    let (quick_s, rounds, lone_rounds) = took(Pace::QUICK);
    assert_eq!((rounds, lone_rounds), (9, Some(5)));
    assert!((0.05..0.1).contains(&quick_s), "{quick_s}");
    assert!((0.2..0.25).contains(&full_s), "{full_s}");
}

#[test]
fn zeros_are_a_second_run_beside_the_random_one() {
    let with_zeros = Options {
        zeros: true,
        ..options()
    };
    assert!(one(vec![made("b", 50.0)], &options()).zeros.is_none());
    let log = Log::default();
    let rows = [
        row("a"),
        Row {
            baseline: Baseline::Kernel(Subject::Auto),
            ..row("b")
        },
    ];
    let results = measured(
        &rows,
        &with_zeros,
        &ours(100.0),
        Device::new(vec![made("b", 50.0)], &log),
    );
    let first = results[0].measured().expect("measured");
    let zeros = first.zeros.as_ref().expect("asked for");
    // A tenth faster, at a clock of its own; what was measured on random numbers stays what it is.
    assert!((zeros.ours.us.median - 91.8).abs() < 1e-9, "{}", zeros.ours.us.median);
    assert_eq!(zeros.peer.map(|peer| peer.us.median), Some(45.9));
    assert_eq!(
        zeros.telemetry.as_ref().and_then(|telemetry| telemetry.clock_mhz),
        Some(1980.0)
    );
    assert_eq!(first.ours.speed.us.median, 102.0);
    assert_eq!(
        first.telemetry.as_ref().and_then(|telemetry| telemetry.clock_mhz),
        Some(1500.0)
    );
    // The next row of the product finds random numbers again.
    let log = log.borrow();
    let steps: Vec<_> = log
        .iter()
        .filter(|step| !step.starts_with("try"))
        .map(String::as_str)
        .collect();
    let of_a_row = |peer: &str| {
        [
            format!("time ours {peer}"),
            format!("lone ours {peer}"),
            "fill Zeros".into(),
            format!("time ours {peer}"),
            "fill Random".into(),
        ]
    };
    let mut expected = vec![
        "check ours".to_owned(),
        "baselines of a".to_owned(),
        "check b".to_owned(),
    ];
    expected.extend(of_a_row("b"));
    expected.extend([
        "check ours".to_owned(),
        "baselines of b".to_owned(),
        "check other kernel".to_owned(),
    ]);
    expected.extend(of_a_row("other kernel"));
    assert_eq!(steps, expected);
}

#[test]
fn rows_of_one_product_share_the_library_but_no_other_baseline() {
    let log = Log::default();
    let of = |baseline, name| Row { baseline, ..row(name) };
    let kernel = Baseline::Kernel(Subject::Family(Family::SIMT));
    let rows = [
        of(Baseline::Library, "a"),
        of(kernel, "b"),
        of(Baseline::Twin, "c"),
        of(Baseline::Library, "d"),
        of(kernel, "e"),
    ];
    let results = measured(
        &rows,
        &options(),
        &ours(100.0),
        Device::new(vec![made("library", 90.0)], &log),
    );
    let peers: Vec<_> = results
        .iter()
        .map(|result| result.measured().and_then(peer_of))
        .collect();
    assert_eq!(
        peers,
        [
            Some("library"),
            Some("other kernel"),
            None,
            Some("library"),
            Some("other kernel")
        ]
    );
    let asked: Vec<_> = log
        .borrow()
        .iter()
        .filter(|step| step.starts_with("baselines"))
        .cloned()
        .collect();
    assert_eq!(
        asked,
        ["baselines of a", "baselines of b", "baselines of c", "baselines of e"]
    );
    // What the user has to settle fails the row.
    assert!(
        matches!(
            &results[2].outcome,
            Outcome::Failed {
                kind: ErrorKind::Input,
                ..
            }
        ),
        "{:?}",
        results[2].outcome
    );
}

#[test]
fn a_row_that_cannot_run_fails_alone_and_costs_no_operands() {
    let refuse = |row: &Row| match row.name.as_str() {
        "bad" => Err(Error::InvalidArgument("does not fit".to_owned())),
        _ => Ok(ours(100.0)),
    };
    let device = || Device::new(Vec::new(), &Log::default());
    let results = rows_of_product(
        &[row("bad"), row("good")],
        &options(),
        refuse,
        |_| Ok(device()),
        &mut |_| {},
    );
    assert!(
        matches!(&results[0].outcome, Outcome::Failed { problem, kind: ErrorKind::Input } if problem == "does not fit")
    );
    assert_eq!((results[0].kernel, results[1].kernel), (None, Some("simt_f32")));
    assert!(results[1].measured().is_some());

    let never = |_: &Row| -> Result<Device> { panic!("no row can run") };
    let results = rows_of_product(&[row("bad"), row("bad")], &options(), refuse, never, &mut |_| {});
    assert!(
        results
            .iter()
            .all(|result| matches!(&result.outcome, Outcome::Failed { problem, .. } if problem == "does not fit"))
    );

    let no_room = |_: &Row| -> Result<Device> { Err(Error::InvalidArgument("A, B and C take 9 GiB".to_owned())) };
    let results = rows_of_product(&[row("good"), row("good")], &options(), refuse, no_room, &mut |_| {});
    assert_eq!(results.len(), 2);
    for result in &results {
        assert!(matches!(&result.outcome, Outcome::Failed { problem, .. } if problem.contains("9 GiB")));
        assert_eq!(result.kernel, Some("simt_f32"));
    }
}

#[test]
fn progress_counts_rows_across_products() {
    let of = |m, dtype| Row { m, dtype, ..row("x") };
    let rows = [
        of(1, DType::F32),
        of(1, DType::F32),
        of(1, DType::F16),
        of(2, DType::F16),
    ];
    let mut seen = Vec::new();
    let results = run(
        &rows,
        |Progress { done, total, .. }| seen.push((done, total)),
        |rows, on_row| {
            let fails = |_: &Row| -> Result<Made> { Err(Error::InvalidArgument("no".to_owned())) };
            rows_of_product(
                rows,
                &options(),
                fails,
                |_| Ok(Device::new(Vec::new(), &Log::default())),
                on_row,
            )
        },
    );
    assert_eq!(results.len(), 4);
    seen.dedup();
    assert_eq!(seen, [(0, 4), (1, 4), (2, 4), (3, 4)]);
}
