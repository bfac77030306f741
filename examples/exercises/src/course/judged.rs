//! What is said of a version of an exercise.

use std::fmt::Write as _;
use std::path::Path;

use super::{Exercise, Verdict, Version, cost};

/// Lines of a file that are shown around the one at fault.
const AROUND: usize = 2;

/// What is to be said of an exercise, and whether it is solved.
pub fn judged(exercise: &Exercise, version: Version, hint: bool) -> (String, bool) {
    let outcome = (exercise.run)(version);
    let verdict = outcome.verdict();
    let (name, path) = (exercise.name(), exercise.path(version));
    let mut text = format!("exercise {name}: {}\n  {path}\n", exercise.title);
    let is_right = matches!(verdict, Verdict::Right);
    let report = match verdict {
        Verdict::Fault(report, fault) => {
            let _ = writeln!(text, "not yet: {}\n  {fault}", fault.kind.name());
            if let Some(location) = &fault.location {
                text.push_str(&around(location.file, location.line));
            }
            Some(report)
        }
        Verdict::WrongResult(wrong) => {
            let _ = writeln!(text, "not yet: no fault, but a wrong result: {wrong}");
            outcome.reports.last()
        }
        Verdict::TooCostly => {
            text.push_str("not yet: the result is right, and costs too much\n");
            outcome.reports.last()
        }
        Verdict::Right => {
            text.push_str("right: no fault, and the expected result\n");
            outcome.reports.last()
        }
    };
    if let Some(report) = report.filter(|report| !report.lines.is_empty()) {
        let bytes = report.shared.high_water_bytes;
        let _ = write!(
            text,
            "counts, with {bytes} bytes of shared memory per CTA:\n{}",
            cost::table(report)
        );
    }
    for goal in &outcome.goals {
        let _ = writeln!(text, "goal: {goal}");
    }
    if hint {
        let _ = writeln!(text, "hint: {}", exercise.hint);
    } else if !is_right {
        let _ = writeln!(text, "stuck? cargo xtask exercise {name} --hint, then --solution");
    }
    (text, is_right)
}

/// The lines of a file around one, which is marked.
fn around(file: &str, line: u32) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let Ok(source) = std::fs::read_to_string(path) else {
        return String::new();
    };
    let at = line as usize;
    let mut text = String::new();
    for (content, number) in source.lines().zip(1..) {
        if number + AROUND >= at && number <= at + AROUND {
            let mark = if number == at { '>' } else { ' ' };
            let _ = writeln!(text, "{}", format!("  {mark} {number:>3} | {content}").trim_end());
        }
    }
    text
}
