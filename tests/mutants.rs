//! Kernels with one mistake each, under the simulator: every mistake is reported as what it is, and nothing is reported of the
//! kernels as they are. `sim/mutants` has the table.

use std::collections::HashSet;

use cuda_sim::Schedule;
use mutants::table::{self, Expect};
use mutants::{Subject, all, traffic, verdict};

/// Judges every subject that `which` picks under one schedule.
fn judge(which: impl Fn(&Subject) -> bool, schedule: Schedule) {
    let subjects: Vec<Subject> = all().into_iter().filter(which).collect();
    assert!(!subjects.is_empty());
    let problems: Vec<String> = subjects
        .iter()
        .filter_map(|subject| verdict::judge(subject, &verdict::of(subject, schedule)).err())
        .collect();
    assert!(
        problems.is_empty(),
        "{} of {}:\n{}",
        problems.len(),
        subjects.len(),
        problems.join("\n")
    );
}

#[test]
fn the_kernels_themselves_are_clean_under_every_schedule() {
    judge(|subject| subject.row.is_none(), Schedule::All);
}

#[test]
fn harmless_changes_are_clean_under_every_schedule() {
    judge(
        |subject| subject.row.is_some() && matches!(subject.expect(), Expect::Clean | Expect::Slower),
        Schedule::All,
    );
}

#[test]
fn every_mistake_is_reported_running_forward() {
    judge(|subject| subject.row.is_some(), Schedule::Forward);
}

#[test]
fn every_mistake_is_reported_running_in_reverse() {
    judge(|subject| subject.row.is_some(), Schedule::Reverse);
}

#[test]
fn every_mistake_is_reported_running_in_random_order() {
    judge(|subject| subject.row.is_some(), Schedule::Random(7));
}

#[test]
fn the_table_is_sound() {
    let mut ids = HashSet::new();
    for row in table::rows() {
        assert!(ids.insert(row.id), "two rows are {}", row.id);
        assert!(
            !row.edits.is_empty() || row.launch != table::Launch::Unchanged,
            "{} changes nothing",
            row.id
        );
        if let Expect::Faults { all, also } = row.expect {
            assert!(!all.is_empty(), "{} expects no fault", row.id);
            assert!(all.iter().all(|kind| !also.contains(kind)), "{}", row.id);
        }
    }
    let wrong = table::rows().filter(|row| !matches!(row.expect, Expect::Clean | Expect::Slower));
    assert!(wrong.count() >= 40);
    for kernel in table::KERNELS {
        let mutants = table::rows().filter(|row| row.kernel == kernel.name);
        assert!(mutants.count() > 0, "no mutant of {}", kernel.name);
    }
}

#[test]
fn padding_removes_the_transpose_s_bank_conflicts() {
    let loads = |name: &str| {
        let launches = traffic::launches();
        let counted = launches
            .iter()
            .find(|counted| counted.name == name)
            .expect("a counted launch");
        counted.predict().expect("a clean kernel").shared_load
    };
    // Each of the warps' 8 x 8 x 32 requests goes along a column of 32 rows.
    let (conflicting, padded) = (loads("transpose_tile, 256 x 256"), loads("transpose_padded, 256 x 256"));
    assert_eq!(
        (conflicting.requests, conflicting.actual, conflicting.ideal),
        (2048, 65536, 2048)
    );
    assert_eq!((padded.requests, padded.actual, padded.ideal), (2048, 2048, 2048));
}

#[test]
fn asynchronous_copies_are_instructions_on_a_gpu() {
    let ptx = include_str!(concat!(env!("OUT_DIR"), "/mutants.ptx"));
    let start = ptx.find(".entry stencil_pipelined_original(").expect("the kernel");
    let kernel = ptx[start..].split("\n}\n").next().expect("a kernel has an end");
    for instruction in [
        "cp.async.cg.shared.global [",
        "cp.async.ca.shared.global [",
        "cp.async.commit_group;",
        "cp.async.wait_group 1;",
    ] {
        assert!(kernel.contains(instruction), "no {instruction} in\n{kernel}");
    }
    // The address of a stage is one of shared memory from the start: nothing converts it, in a loop least of all.
    for conversion in ["cvta.shared", "cvta.to.shared"] {
        assert!(!kernel.contains(conversion), "{conversion} in\n{kernel}");
    }
}
