//! What the simulator says of the corpus is what the corpus expects.

use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::Instant;

use cuda_sim::Schedule;

use crate::verdict::{self, Finding, Verdict};
use crate::{FAMILIES, page, patterns};

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
