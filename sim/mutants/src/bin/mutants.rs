//! The simulator's verdicts, for tables that compare them with a GPU's tools: JSON on standard output.
//!
//!     mutants verdicts     the verdict on every mutant and unchanged kernel
//!     mutants traffic      wavefronts and sectors of the counted launches
//!     mutants schedules    how many mutants each choice of schedules finds, and its time, as a table; with the path of
//!                          a page, there, after the line `<!-- mutants schedules -->`
//!     mutants try PART     verdicts and times of subjects with PART in their name, under three schedules, as text

use std::process::ExitCode;
use std::time::Instant;

use cuda_sim::Schedule;
use mutants::table::{Device, Expect, Tool};
use mutants::{Subject, all, traffic, verdict};
use serde::Serialize;

#[derive(Serialize)]
struct Line {
    id: &'static str,
    kernel: &'static str,
    what: &'static str,
    /// The kinds of the faults, `wrong result` or `clean`.
    simulator: String,
    /// The first fault and its source line.
    first: Option<String>,
    /// Whether anything is reported.
    reported: bool,
    /// Whether the verdict is the expected one.
    as_expected: bool,
    /// Whether the table calls it wrong.
    wrong: bool,
    /// The tools that the table expects to see it.
    seen_by: Vec<&'static str>,
    /// Why it cannot run on a GPU.
    refused: Option<&'static str>,
    hangs: bool,
}

fn line(subject: &Subject) -> Line {
    let verdict = verdict::of(subject, Schedule::Forward);
    let summary = verdict.summary();
    let first = verdict.report.faults.first().map(|fault| {
        let place = fault.location.as_ref().map(|location| {
            // The copies keep names and line numbers of the kernels' own files, each below the mutant's name.
            let below = location.file.rsplit_once(&format!("/{}/", subject.symbol));
            let name = || location.file.rsplit('/').next().unwrap_or(location.file);
            let file = below.map_or_else(name, |(_, file)| file);
            format!(", {file}:{}", location.line)
        });
        format!("{}{}", fault.kind, place.unwrap_or_default())
    });
    Line {
        id: subject.id,
        kernel: subject.kernel.name,
        what: subject.what(),
        reported: summary != "clean",
        wrong: !matches!(subject.expect(), Expect::Clean | Expect::Slower),
        simulator: summary,
        first,
        as_expected: verdict::judge(subject, &verdict).is_ok(),
        seen_by: subject.seen_by().iter().copied().map(Tool::name).collect(),
        refused: match subject.device() {
            Device::Refused(reason) => Some(reason),
            Device::Runs | Device::Hangs => None,
        },
        hangs: subject.device() == Device::Hangs,
    }
}

/// The line of a page that the table of the schedules follows.
const MARK: &str = "<!-- mutants schedules -->\n";

/// The table of the schedules. Every mutant that is wrong counts as found if anything is reported of it or its result
/// is wrong; the times are those of the right kernels, unchanged or changed without harm, and of the wrong ones.
fn schedules() -> String {
    let is_wrong = |subject: &&Subject| !matches!(subject.expect(), Expect::Clean | Expect::Slower);
    let subjects = all();
    let (wrong, right): (Vec<&Subject>, Vec<&Subject>) = subjects.iter().partition(is_wrong);
    let run = |subjects: &[&Subject], schedule| {
        let started = Instant::now();
        let reported = subjects
            .iter()
            .filter(|subject| verdict::of(subject, schedule).summary() != "clean");
        (reported.count(), started.elapsed().as_secs_f64())
    };
    let mut table = format!(
        "| schedule | mutants found | false alarms | {} right kernels, seconds | mutants, seconds |\n\
         |---|--:|--:|--:|--:|\n",
        right.len()
    );
    for schedule in [Schedule::Forward, Schedule::Standard, Schedule::All] {
        let ((alarms, of_right), (found, of_wrong)) = (run(&right, schedule), run(&wrong, schedule));
        let mutants = wrong.len();
        table += &format!("| `{schedule}` | {found} of {mutants} | {alarms} | {of_right:.1} | {of_wrong:.1} |\n");
    }
    table
}

/// Puts a table into a page, in place of the one that follows the mark.
fn put(table: &str, path: &str) -> Result<(), String> {
    let page = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let (before, after) = page
        .split_once(MARK)
        .ok_or_else(|| format!("{path} has no line {MARK}"))?;
    let rest: String = after
        .split_inclusive('\n')
        .skip_while(|line| line.starts_with('|'))
        .collect();
    std::fs::write(path, format!("{before}{MARK}{table}{rest}")).map_err(|error| format!("{path}: {error}"))
}

/// Prints the verdicts on the subjects with `part` in their name, for authors of table rows.
fn try_out(part: &str) -> ExitCode {
    let mut unexpected = 0;
    for subject in all().iter().filter(|subject| subject.id.contains(part)) {
        for schedule in [Schedule::Forward, Schedule::Reverse, Schedule::Random(7)] {
            let started = Instant::now();
            let verdict = verdict::of(subject, schedule);
            let seconds = started.elapsed().as_secs_f64();
            let judged = verdict::judge(subject, &verdict);
            unexpected += usize::from(judged.is_err());
            println!("{} {schedule} {seconds:.2} s: {}", subject.id, verdict.summary());
            if let Err(problem) = judged {
                println!("{problem}");
            }
        }
    }
    ExitCode::from(u8::from(unexpected > 0))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, part] = &arguments[..]
        && command == "try"
    {
        return try_out(part);
    }
    if arguments.first().is_some_and(|command| command == "schedules") {
        let table = schedules();
        let written = arguments.get(1).map_or(Ok(()), |path| put(&table, path));
        print!("{table}");
        return match written {
            Ok(()) => ExitCode::SUCCESS,
            Err(problem) => {
                eprintln!("{problem}");
                ExitCode::FAILURE
            }
        };
    }
    let text = match arguments.first().map(String::as_str) {
        Some("verdicts") => {
            let lines: Vec<Line> = all().iter().map(line).collect();
            serde_json::to_string_pretty(&lines)
        }
        Some("traffic") => {
            let predictions: Result<Vec<_>, String> =
                traffic::launches().iter().map(traffic::Counted::predict).collect();
            match predictions {
                Ok(predictions) => serde_json::to_string_pretty(&predictions),
                Err(problem) => {
                    eprintln!("{problem}");
                    return ExitCode::FAILURE;
                }
            }
        }
        _ => {
            eprintln!("usage: mutants verdicts | traffic | schedules [PAGE] | try PART");
            return ExitCode::from(2);
        }
    };
    match text {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
