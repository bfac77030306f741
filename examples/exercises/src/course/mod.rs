//! What an exercise is, and how a kernel is judged.

mod cost;
mod judged;
mod launches;
mod table;

use std::fmt;

use cuda_sim::access::{AccessKind, Space};
use cuda_sim::{Report, SimFault};

pub use judged::judged;
pub use table::EXERCISES;

/// Which kernel is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The file in `src`, which the reader edits.
    Yours,
    /// The file in `solutions`.
    Solution,
}

impl Version {
    /// Its folder, below `examples/exercises`.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Yours => "src",
            Self::Solution => "solutions",
        }
    }
}

/// What the file does as it is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// The simulator reports a fault of this kind first ([`cuda_sim::FaultKind::name`]).
    Fault(&'static str),
    /// No fault, and a wrong result.
    WrongResult,
    /// No fault, the right result, and more traffic than it needs.
    TooCostly,
}

/// A kernel to mend or to finish.
pub struct Exercise {
    /// The chapter of the guide.
    pub chapter: u32,
    /// Its number within the chapter, from 1.
    pub number: u32,
    /// The file's name without its extension.
    pub file: &'static str,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// How to go about it.
    pub hint: &'static str,
    /// What it does as it is handed out.
    pub promise: Promise,
    /// Runs one of the versions.
    pub run: fn(Version) -> Outcome,
}

impl Exercise {
    /// Its number with the chapter's: `3.1`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.chapter, self.number)
    }

    /// The path of a version from the repository's root.
    pub fn path(&self, version: Version) -> String {
        format!("examples/exercises/{}/{}.rs", version.folder(), self.file)
    }
}

/// A number that must not be exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// What is counted.
    pub what: &'static str,
    /// The count.
    pub found: u64,
    /// The most that there may be.
    pub most: u64,
}

impl Goal {
    /// Whether the goal is met.
    pub fn is_met(&self) -> bool {
        self.found <= self.most
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, found, most } = self;
        match self.is_met() {
            true => write!(f, "{found} {what}, at most {most}"),
            false => write!(f, "{found} {what}, at most {most}: too many"),
        }
    }
}

/// What the launches of an exercise came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// A report for each launch.
    pub reports: Vec<Report>,
    /// Where a result is not the expected one.
    pub wrong: Option<String>,
    /// What is counted.
    pub goals: Vec<Goal>,
}

impl Outcome {
    /// Adds a launch, and compares its result where it has no fault.
    fn launch<T: PartialEq + fmt::Debug>(mut self, report: Report, found: &[T], expected: &[T]) -> Self {
        if report.is_clean() && self.wrong.is_none() {
            self.wrong = difference(found, expected);
        }
        self.reports.push(report);
        self
    }

    /// Adds a goal for the traffic of the latest launch.
    fn at_most(mut self, what: &'static str, space: Space, access: AccessKind, most: u64) -> Self {
        let found = self.reports.last().map_or(0, |report| report.traffic(space, access).0);
        self.goals.push(Goal { what, found, most });
        self
    }

    /// The verdict: the first fault, else the wrong result, else what is too costly.
    pub fn verdict(&self) -> Verdict<'_> {
        let fault = self
            .reports
            .iter()
            .find_map(|report| Some((report, report.faults.first()?)));
        if let Some((report, fault)) = fault {
            return Verdict::Fault(report, fault);
        }
        if let Some(wrong) = &self.wrong {
            return Verdict::WrongResult(wrong);
        }
        match self.goals.iter().all(Goal::is_met) {
            true => Verdict::Right,
            false => Verdict::TooCostly,
        }
    }
}

/// The first element that differs.
fn difference<T: PartialEq + fmt::Debug>(found: &[T], expected: &[T]) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} elements instead of {}", found.len(), expected.len()));
    }
    let at = found.iter().zip(expected).position(|(one, other)| one != other)?;
    Some(format!("element {at} is {:?}, not {:?}", found[at], expected[at]))
}

/// What is to be said of an outcome.
#[derive(Debug)]
pub enum Verdict<'a> {
    /// The first fault, and the report that it is of.
    Fault(&'a Report, &'a SimFault),
    /// The first element that differs.
    WrongResult(&'a str),
    /// A goal is missed.
    TooCostly,
    /// Nothing is left to do.
    Right,
}

impl Verdict<'_> {
    /// Whether it is what an exercise promises.
    pub fn keeps(&self, promise: Promise) -> bool {
        match (self, promise) {
            (Self::Fault(_, fault), Promise::Fault(name)) => fault.kind.name() == name,
            (Self::WrongResult(_), Promise::WrongResult) | (Self::TooCostly, Promise::TooCostly) => true,
            _ => false,
        }
    }
}

/// The exercises that an argument names: `3` those of chapter 3, `3.1` the first of them.
///
/// # Errors
/// There is none of that name.
pub fn named(argument: &str) -> Result<Vec<&'static Exercise>, String> {
    let (chapter, number) = match argument.split_once('.') {
        Some((chapter, number)) => (chapter, Some(number)),
        None => (argument, None),
    };
    let is_named = |exercise: &&Exercise| {
        exercise.chapter.to_string() == chapter && number.is_none_or(|number| exercise.number.to_string() == number)
    };
    let found: Vec<_> = EXERCISES.iter().filter(is_named).collect();
    if found.is_empty() {
        let last = EXERCISES
            .iter()
            .map(|exercise| exercise.chapter)
            .max()
            .unwrap_or_default();
        return Err(format!(
            "there is no exercise `{argument}`: name a chapter from 1 to {last}, such as 3, or one exercise of it, 3.1"
        ));
    }
    Ok(found)
}
