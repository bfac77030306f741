//! Kernels with one mistake each, under the simulator: every mistake is reported as what it is, and nothing is reported
//! of the kernels as they are. `sim/mutants` has the table.

use std::collections::HashSet;
use std::path::Path;

use cuda_sim::Schedule;
use mutants::table::{self, Device, Expect, Module, Row, Task};
use mutants::{Subject, all, traffic, verdict};
use tilewright::KERNELS;
use tilewright_harness::inspect::Ptxas;

// Empty without the feature `mutants-ptx`.
const GENERAL_PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/mutants.ptx"));
const WGMMA_PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/mutants_wgmma.ptx"));

/// Whether the row breaks its kernel; others only cost time, or nothing.
fn is_wrong(row: &&Row) -> bool {
    !matches!(row.expect, Expect::Clean | Expect::Slower)
}

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

/// Mistakes whose wrong result depends on the order of threads, which a schedule of several orders says besides.
const DEPEND_ON_ORDER: [&str; 1] = ["slices_own_sums_twice"];

/// The orders of the default are among those of [`Schedule::All`], as a test of `Schedule` says: what the default
/// reports, all orders report, too. Tests above run the kernels without a mistake in all orders.
#[test]
fn every_mistake_is_reported_by_the_default_schedule() {
    judge(
        |subject| subject.row.is_some() && !DEPEND_ON_ORDER.contains(&subject.id),
        Schedule::default(),
    );
}

#[test]
fn all_schedules_report_no_fault_that_the_default_does_not() {
    judge(
        |subject| matches!(subject.expect(), Expect::Mismatch) && !DEPEND_ON_ORDER.contains(&subject.id),
        Schedule::All,
    );
}

#[test]
fn several_orders_show_what_depends_on_them() {
    for id in DEPEND_ON_ORDER {
        let subject = all()
            .into_iter()
            .find(|subject| subject.id == id)
            .expect("in the table");
        for schedule in [Schedule::default(), Schedule::All] {
            let verdict = verdict::of(&subject, schedule);
            assert_eq!(verdict.kinds(), ["ScheduleDependent"].into(), "{id}: {schedule}");
            assert!(verdict.difference.is_some(), "{id}: {schedule}");
        }
    }
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
        match row.expect {
            Expect::Faults { all, also } => {
                assert!(!all.is_empty(), "{} expects no fault", row.id);
                assert!(all.iter().all(|kind| !also.contains(kind)), "{}", row.id);
            }
            Expect::Any(any) => assert!(any.len() > 1, "{} is to be reported in one way", row.id),
            Expect::Clean | Expect::Slower | Expect::Mismatch => {}
        }
    }
    for kernel in table::KERNELS {
        let mutants = table::rows().filter(is_wrong).filter(|row| row.kernel == kernel.name);
        assert!(mutants.count() > 0, "no mutant of {}", kernel.name);
    }
}

#[test]
fn every_family_and_the_copies_of_operands_have_mutants() {
    let has_mutants = |which: &dyn Fn(&table::Kernel) -> bool| {
        let kernels: Vec<_> = table::KERNELS.iter().filter(|kernel| which(kernel)).collect();
        table::rows()
            .filter(is_wrong)
            .any(|row| kernels.iter().any(|kernel| kernel.name == row.kernel))
    };
    for family in KERNELS.iter().map(|kernel| kernel.family).collect::<HashSet<_>>() {
        let of_family = |symbol| {
            KERNELS
                .iter()
                .any(|kernel| kernel.family == family && kernel.symbol == symbol)
        };
        assert!(has_mutants(&|kernel| of_family(kernel.symbol)), "no mutant of {family}");
    }
    assert!(has_mutants(&|kernel| matches!(kernel.task, Task::PadRows(_))));
    assert!(has_mutants(&|kernel| matches!(kernel.task, Task::SplitRows(_))));
    assert!(has_mutants(&|kernel| matches!(kernel.task, Task::TransposeRows(_))));
}

/// A file of the repository.
fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_simulator_s_page_quotes_the_lines_of_the_race() {
    let (path, page) = ("kernels-gpu/src/gemm/tiled.rs", read("docs/simulator.md"));
    let kernel = read(path);
    // The accesses that race without the second barrier, which follows both.
    for access in ["a_s.set(", "a_s.get("] {
        let (line, column) = kernel
            .lines()
            .enumerate()
            .find_map(|(line, text)| Some((line + 1, text.find(access)? + "a_s.".len() + 1)))
            .unwrap_or_else(|| panic!("no {access}..) in {path}"));
        let place = format!("    at {path}:{line}:{column}\n");
        assert!(page.contains(&place), "docs/simulator.md does not say: {place}");
    }
}

#[test]
fn the_readme_counts_the_mutants() {
    let one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = format!(
        "It finds all {} seeded bugs in copies of the kernels.",
        table::rows().filter(is_wrong).count(),
    );
    let readme = one_line(read("README.md"));
    assert!(readme.contains(&expected), "README.md does not say: {expected}");
}

/// What a module of PTX must have: the entry point of every subject that gets to a GPU.
fn assembles(ptx: &str, module: Module, arch: &str) {
    let ptxas = Ptxas::in_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("target/cuda-tools/bin"));
    let ptxas = ptxas.unwrap_or_else(|error| panic!("{error}"));
    let assembled = ptxas.assemble(ptx, arch, &[]).unwrap_or_else(|error| panic!("{error}"));
    let on_device =
        |subject: &Subject| subject.kernel.module == module && !matches!(subject.device(), Device::Refused(_));
    let missing: Vec<_> = all()
        .into_iter()
        .filter(on_device)
        .filter(|subject| assembled.report.kernel(subject.symbol).is_none())
        .map(|subject| subject.symbol)
        .collect();
    assert!(missing.is_empty(), "not in the object for {arch}: {missing:?}");
}

#[test]
#[cfg_attr(
    not(feature = "mutants-ptx"),
    ignore = "the mutants' PTX takes minutes: --features mutants-ptx"
)]
fn the_mutants_assemble() {
    assembles(GENERAL_PTX, Module::General, "sm_90a");
}

#[test]
#[cfg_attr(
    not(feature = "mutants-ptx"),
    ignore = "the mutants' PTX takes minutes: --features mutants-ptx"
)]
fn the_mutants_that_multiply_by_wgmma_assemble() {
    assembles(WGMMA_PTX, Module::Wgmma, "sm_90a");
}

#[test]
fn padding_removes_the_transpose_s_bank_conflicts() {
    let loads = |name: &str| {
        let counted = traffic::transposes()
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
#[cfg_attr(
    not(feature = "mutants-ptx"),
    ignore = "the mutants' PTX takes minutes: --features mutants-ptx"
)]
fn asynchronous_copies_are_instructions_on_a_gpu() {
    let ptx = GENERAL_PTX;
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
