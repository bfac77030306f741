//! One minimal program for each kind of fault, and the text that it must be reported with, which stands beside it.
//!
//! `BLESS=1 cargo test -p cuda_sim --test faults` writes the texts anew.

use std::collections::BTreeSet;
use std::path::Path;

use cuda_sim::{FaultKind, Report};

/// Declares each program's module and lists it with the kind of fault that it must show.
macro_rules! programs {
    ($($module:ident: $kind:ident;)*) => {
        $(mod $module;)*

        /// Name, kind and program.
        const PROGRAMS: &[(&str, &str, fn() -> Report)] = &[
            $((stringify!($module), stringify!($kind), $module::run)),*
        ];

        /// A kind without a program does not compile here.
        const fn _has_a_program(kind: &FaultKind) {
            match kind {
                $(FaultKind::$kind { .. } => {})*
                // No program's doing: a machine without threads, as in the tests of the command line.
                FaultKind::Resources { .. } => {}
            }
        }
    };
}

programs! {
    absent_lane: AbsentLane;
    atomic_scope: AtomicScope;
    async_pending: AsyncPending;
    bad_address: BadAddress;
    barrier_divergence: BarrierDivergence;
    barrier_mismatch: BarrierMismatch;
    budget: Budget;
    bulk_copy: BulkCopy;
    cluster: Cluster;
    cross_proxy_war: CrossProxyWar;
    deadlock: Deadlock;
    declared_alignment: DeclaredAlignment;
    dynamic_shared_too_small: DynamicSharedTooSmall;
    exit_during_copy: ExitDuringCopy;
    global_race: GlobalRace;
    launch_shape: LaunchShape;
    mbarrier: Mbarrier;
    misaligned: Misaligned;
    missing_proxy_fence: MissingProxyFence;
    named_barrier: NamedBarrier;
    out_of_bounds: OutOfBounds;
    overrun: Overrun;
    panic: Panic;
    red_zone: RedZone;
    schedule_dependent: ScheduleDependent;
    shared_limit: SharedLimit;
    shared_race: SharedRace;
    stack_overflow: StackOverflow;
    tensor_map_fence: TensorMapFence;
    time_limit: TimeLimit;
    uninitialized_read: UninitializedRead;
    view_overlap: ViewOverlap;
    warp_mask: WarpMask;
    warp_mismatch: WarpMismatch;
    warpgroup: Warpgroup;
}

/// The texts of faults and warnings, as a report shows them.
fn text(report: &Report) -> String {
    let mut faults = [&report.faults[..], &report.warnings].concat();
    for fault in &mut faults {
        // Their lines come from debug information, which a build may leave out.
        if matches!(
            fault.kind,
            FaultKind::BadAddress { .. } | FaultKind::StackOverflow { .. } | FaultKind::TimeLimit { .. }
        ) {
            fault.location = None;
        }
        // So do call stacks.
        fault.stack.clear();
        if let Some(other) = &mut fault.other {
            other.stack.clear();
        }
    }
    faults.iter().map(|fault| format!("{fault}\n")).collect()
}

#[test]
fn every_fault_has_its_text() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults");
    let bless = std::env::var_os("BLESS").is_some_and(|value| value == "1");
    let mut problems = Vec::new();
    for (name, kind, program) in PROGRAMS {
        let report = program();
        let found = report.faults.iter().chain(&report.warnings);
        let kinds: BTreeSet<_> = found.map(|fault| fault.kind.name()).collect();
        let found = text(&report);
        if kinds != BTreeSet::from([*kind]) {
            problems.push(format!("{name} is reported as {kinds:?} instead of {kind}:\n{found}"));
            continue;
        }
        let golden = folder.join(format!("{name}.txt"));
        if bless {
            std::fs::write(&golden, &found).expect("the folder of the tests can be written");
            continue;
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        if found != expected {
            problems.push(format!("{name}:\n{found}instead of\n{expected}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn texts_are_the_same_in_every_run() {
    for (name, _, program) in PROGRAMS {
        assert_eq!(text(&program()), text(&program()), "{name}");
    }
}
