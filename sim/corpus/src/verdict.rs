//! What the simulator says of the corpus, and whether that is what it must say.

use std::path::Path;
use std::thread;

use cuda_sim::{FaultKind, Report, Schedule, SimFault};

use crate::pair::{Family, Mark, Pair};
use crate::{FAMILIES, first, run};

/// A pair that the simulator does not judge as it should, and why.
pub struct Exception {
    /// The pair's name.
    pub pair: &'static str,
    /// How the simulator judges its wrong twin.
    pub wrong: Finding,
    /// The reason.
    pub reason: &'static str,
}

/// Every deviation. One that has gone fails the test.
pub const EXCEPTIONS: &[Exception] = &[];

/// How a mistake is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// Not at all.
    Missed,
    /// First as another kind of fault.
    OtherKind,
    /// As the right kind, at another line.
    OtherLine,
    /// As what it is, where it is.
    Right,
}

/// The judgment on a pair.
pub struct Verdict {
    pub family: &'static Family,
    pub pair: &'static Pair,
    pub mark: Mark,
    /// How the mistake is reported.
    pub finding: Finding,
    /// The first fault or warning of the wrong twin.
    first: Option<SimFault>,
    /// Whether something is reported of the right twin.
    pub is_false_alarm: bool,
    problem: Option<String>,
}

impl Verdict {
    /// The kind of the first fault or warning of the wrong twin.
    pub fn kind(&self) -> Option<&'static str> {
        self.first.as_ref().map(|fault| fault.kind.name())
    }

    /// Whether the first order of the default schedule shows it.
    pub fn is_found_forward(&self) -> bool {
        let schedule = self.first.as_ref().and_then(|fault| fault.schedule.as_deref());
        schedule == Some("forward")
    }

    /// The deviation from what is expected, exceptions included.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }
}

/// How the report of the wrong twin names the mistake.
fn finding(family: &Family, mark: &Mark, report: &Report) -> Finding {
    let Some(fault) = first(report) else {
        return Finding::Missed;
    };
    if fault.kind.name() != mark.kind {
        return Finding::OtherKind;
    }
    let path = family.path();
    let other = fault.other.as_ref().map(|other| &other.location);
    let reported = fault.location.iter().chain(other);
    let of_family = reported.filter(|location| Path::new(location.file).ends_with(&path));
    let mut lines: Vec<u32> = of_family.map(|location| location.line).collect();
    if let FaultKind::Deadlock { waiting } = &fault.kind {
        // It names every line at which threads wait.
        let start = format!("{path}:");
        let places = waiting.split(&start).skip(1);
        lines.extend(places.filter_map(|place| place.split(':').next()?.parse::<u32>().ok()));
    }
    let mut expected = mark.line.iter().chain(&mark.against);
    // Which access of a race comes second is the schedule's choice. A fault without a line has one where the program
    // has debug information.
    if expected.all(|line| lines.contains(line)) {
        Finding::Right
    } else {
        Finding::OtherLine
    }
}

/// Whether there are neither faults nor warnings.
fn is_silent(report: &Report) -> bool {
    report.is_clean() && report.warnings.is_empty()
}

/// The texts of faults and warnings.
fn faults(report: &Report) -> String {
    let found = report.faults.iter().chain(&report.warnings);
    found.map(|fault| format!("  {fault}\n")).collect()
}

/// The judgment on a pair under a schedule.
pub fn judge(family: &'static Family, pair: &'static Pair, schedule: Schedule) -> Verdict {
    let mark = family.mark(pair);
    let (wrong, right) = (run(pair, true, schedule), run(pair, false, schedule));
    let finding = finding(family, &mark, &wrong);
    let known = EXCEPTIONS.iter().find(|exception| exception.pair == pair.name);
    let expected = known.map_or(Finding::Right, |exception| exception.wrong);
    let mut problem = String::new();
    if finding != expected {
        let place = mark
            .line
            .map_or("no line".to_owned(), |line| format!("{}:{line}", family.path()));
        problem = format!(
            "{}: {finding:?} in place of {expected:?}: {} at {place} is expected of\n{}",
            pair.name,
            mark.kind,
            faults(&wrong)
        );
    }
    if !is_silent(&right) {
        problem += &format!("{}: a false alarm:\n{}", pair.name, faults(&right));
    }
    Verdict {
        family,
        pair,
        mark,
        finding,
        first: first(&wrong).cloned(),
        is_false_alarm: !is_silent(&right),
        problem: (!problem.is_empty()).then_some(problem),
    }
}

/// The judgment on every pair under a schedule. Families run at the same time: some kernels wait for a watchdog.
pub fn all(schedule: Schedule) -> Vec<Verdict> {
    let judge_family = |family: &'static Family| -> Vec<Verdict> {
        let pairs = family.pairs.iter();
        pairs.map(|pair| judge(family, pair, schedule)).collect()
    };
    thread::scope(|scope| {
        let families: Vec<_> = FAMILIES
            .iter()
            .map(|family| scope.spawn(|| judge_family(family)))
            .collect();
        let verdicts = families
            .into_iter()
            .map(|family| family.join().expect("its kernels are judged"));
        verdicts.flatten().collect()
    })
}

/// The reports of right twins that are not clean under a schedule.
pub fn false_alarms(schedule: Schedule) -> Vec<String> {
    let pairs = FAMILIES.iter().flat_map(|family| family.pairs);
    let reports = pairs.map(|pair| (pair.name, run(pair, false, schedule)));
    reports
        .filter(|(_, report)| !is_silent(report))
        .map(|(name, report)| format!("{name}:\n{}", faults(&report)))
        .collect()
}
