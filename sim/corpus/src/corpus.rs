//! The corpus: small kernels after the patterns of public suites for checkers of GPU programs, and after bugs of
//! published Hopper kernels, each with a mistake and without. The simulator must report every mistake as the fault that
//! it is, at its line, and nothing else.
//!
//! Both twins are one source with a flag, `wrong`, that switches the mistake on. A comment on the line that must be
//! reported says so:
//!
//! ```text
//! data.set(i, 1); // expect: missing_guard OutOfBounds
//! ```
//!
//! and, for a race, `// against: missing_guard` on the line of the other access. Marks are separated by `;`, and a
//! comment of its own is about the next line of code. `// expect without line: NAME KIND` is a fault that no single
//! line has. `EXCEPTIONS` in `verdict.rs` lists the deviations with their reasons.
//!
//! # Safety
//!
//! *Kernels*: each is launched by its own pair alone, with the grid, the block, the buffers and the dynamic shared
//! memory that it is written for. Half of them break a rule on purpose, and not beyond this: the simulator checks
//! accesses through views, atomics and copies before it makes them, and does not make what it refuses; a bare pointer
//! stays within the red zone of its buffer or the canary of its array.
//!
//! *Launches*: buffers outlive the launch, and are as long as the kernel takes them to be.
//!
//! `BLESS=1 cargo test -p simulator_corpus` writes `docs/simulator-corpus.md`, which is compared otherwise.

mod page;
mod pair;
mod patterns;
mod verdict;

mod algorithms;
mod alignment;
mod async_copies;
mod barriers;
mod bounds;
mod clusters;
mod distributed;
mod global_races;
mod graphs;
mod hopper;
mod initialization;
mod launches;
mod locks;
mod messages;
mod named_barriers;
mod overlaps;
mod pipelines;
mod progress;
mod scopes;
mod shared_races;
mod tensor_maps;
mod tiles;
mod warpgroups;
mod warps;

use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::Instant;

use cuda_sim::Schedule;
use pair::Family;
use verdict::{Finding, Verdict};

/// The kernels, by subject.
const FAMILIES: &[Family] = &[
    bounds::FAMILY,
    alignment::FAMILY,
    initialization::FAMILY,
    shared_races::FAMILY,
    overlaps::FAMILY,
    algorithms::FAMILY,
    tiles::FAMILY,
    global_races::FAMILY,
    graphs::FAMILY,
    scopes::FAMILY,
    messages::FAMILY,
    locks::FAMILY,
    progress::FAMILY,
    barriers::FAMILY,
    named_barriers::FAMILY,
    warps::FAMILY,
    async_copies::FAMILY,
    pipelines::FAMILY,
    clusters::FAMILY,
    distributed::FAMILY,
    hopper::FAMILY,
    tensor_maps::FAMILY,
    warpgroups::FAMILY,
    launches::FAMILY,
];

/// The judgments under the default schedule.
static BY_DEFAULT: LazyLock<Vec<Verdict>> = LazyLock::new(|| verdict::all(Schedule::default()));

#[test]
fn every_mistake_is_reported_and_nothing_else() {
    let verdicts = &*BY_DEFAULT;
    let problems: Vec<&str> = verdicts.iter().filter_map(Verdict::problem).collect();
    assert!(
        problems.is_empty(),
        "{} pairs:\n{}",
        problems.len(),
        problems.join("\n")
    );
    page::compare(verdicts);
}

#[test]
fn right_twins_are_silent_under_every_schedule() {
    let alarms: Vec<String> = verdict::false_alarms(Schedule::All);
    assert!(alarms.is_empty(), "{}", alarms.join("\n"));
}

/// All orders begin with the first of the default, as a test of `Schedule` says, so a fault of that one is found by
/// both. The others, found later or not at all, are compared here; `schedules_compared` compares every mistake.
#[test]
fn the_default_schedule_finds_what_all_schedules_find() {
    let later: Vec<&Verdict> = BY_DEFAULT
        .iter()
        .filter(|verdict| !verdict.is_found_forward())
        .collect();
    assert!(!later.is_empty());
    for default in later {
        let all = verdict::judge(default.family, default.pair, Schedule::All);
        assert_eq!(default.kind(), all.kind(), "{}", default.pair.name);
    }
}

/// Mistakes that one order without pre-emption does not show: between two atomics of a thread, of launches that
/// overlap, and results that depend on the order of atomics.
const NEED_A_SECOND_ORDER: [&str; 6] = [
    "lost_update",
    "locks_in_opposite_orders",
    "grid_barrier_not_reset",
    "order_of_additions",
    "order_of_arrival",
    "counter_before_wait",
];

#[test]
fn mistakes_are_found_in_reverse_too() {
    let is_known = |name: &str| verdict::EXCEPTIONS.iter().any(|exception| exception.pair == name);
    let verdicts = verdict::all(Schedule::Reverse);
    let missed = verdicts.iter().filter(|verdict| verdict.finding == Finding::Missed);
    let missed: Vec<&str> = missed
        .map(|verdict| verdict.pair.name)
        .filter(|name| !is_known(name))
        .collect();
    assert_eq!(missed, NEED_A_SECOND_ORDER);
}

/// Prints how many mistakes each choice of schedules finds, and how long the right twins take under it.
#[test]
#[ignore = "it measures: cargo test -p simulator_corpus -- --ignored --nocapture"]
fn schedules_compared() {
    println!("| schedule | mistakes found | right twins, seconds |\n|---|--:|--:|");
    for schedule in [Schedule::Forward, Schedule::Standard, Schedule::All] {
        let verdicts = verdict::all(schedule);
        if schedule == Schedule::All {
            let kinds = |verdicts: &[Verdict]| verdicts.iter().map(Verdict::kind).collect::<Vec<_>>();
            assert_eq!(kinds(&verdicts), kinds(&BY_DEFAULT));
        }
        let found = verdicts
            .iter()
            .filter(|verdict| verdict.finding != Finding::Missed)
            .count();
        let started = Instant::now();
        let alarms = verdict::false_alarms(schedule);
        let seconds = started.elapsed().as_secs_f64();
        assert!(alarms.is_empty(), "{}", alarms.join("\n"));
        println!("| `{schedule}` | {found} of {} | {seconds:.2} |", verdicts.len());
    }
}

#[test]
fn the_corpus_is_sound() {
    let mut names = HashSet::new();
    for family in FAMILIES {
        for pair in family.pairs {
            assert!(names.insert(pair.name), "two pairs are {}", pair.name);
        }
        for mark in family.marks() {
            assert!(
                family.pairs.iter().any(|pair| pair.name == mark.pair),
                "{}: no pair is {}",
                family.name,
                mark.pair
            );
        }
    }
    for pair in patterns::PATTERNS.iter().flat_map(|pattern| pattern.pairs) {
        assert!(names.contains(pair), "no pair is {pair}");
    }
    for exception in verdict::EXCEPTIONS {
        assert!(names.contains(exception.pair), "no pair is {}", exception.pair);
    }
}
