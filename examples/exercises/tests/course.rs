//! Every solution is right, and every file, as it is handed out, does what its exercise promises.

use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Output};

use exercises::course::{EXERCISES, Verdict, Version, named};

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_solution_is_right() {
    for exercise in EXERCISES {
        let outcome = (exercise.run)(Version::Solution);
        let verdict = outcome.verdict();
        assert!(matches!(verdict, Verdict::Right), "{}: {outcome:#?}", exercise.name());
        for report in &outcome.reports {
            assert!(report.warnings.is_empty(), "{}:\n{report}", exercise.name());
        }
    }
}

#[test]
fn every_file_is_broken_as_promised() {
    let mut broken = Vec::new();
    for exercise in EXERCISES {
        let outcome = (exercise.run)(Version::Yours);
        let verdict = outcome.verdict();
        if !verdict.keeps(exercise.promise) {
            let said = match verdict {
                Verdict::Fault(_, fault) => fault.to_string(),
                other => format!("{other:?}"),
            };
            broken.push(format!("{}: {:?}, but {said}", exercise.name(), exercise.promise));
        }
        // A fault is shown at a line of the reader's file, or of no file.
        if let Verdict::Fault(_, fault) = outcome.verdict() {
            let path = exercise.path(Version::Yours);
            assert!(
                fault.location.as_ref().is_none_or(|location| location.file == path),
                "{}: {fault}",
                exercise.name()
            );
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_file_belongs_to_an_exercise_and_differs_from_its_solution() {
    let files = |version: Version| -> HashSet<String> {
        let entries = std::fs::read_dir(folder().join(version.folder())).expect("in the repository");
        let names = entries.map(|entry| entry.expect("a file").file_name().into_string().expect("a name"));
        names.filter(|name| name.starts_with("ch")).collect()
    };
    let expected: HashSet<String> = EXERCISES
        .iter()
        .map(|exercise| format!("{}.rs", exercise.file))
        .collect();
    assert_eq!(expected.len(), EXERCISES.len());
    for version in [Version::Yours, Version::Solution] {
        assert_eq!(files(version), expected);
    }
    for exercise in EXERCISES {
        let [yours, solution] = [Version::Yours, Version::Solution].map(|version| {
            let path = folder().join("../..").join(exercise.path(version));
            std::fs::read_to_string(path).expect("in the repository")
        });
        assert_ne!(yours, solution);
        let documentation = |text: &str| -> String {
            let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
            lines.collect::<Vec<_>>().concat()
        };
        let title = format!(" Exercise {}: {}", exercise.name(), exercise.title);
        assert!(documentation(&yours).starts_with(&title), "{title}");
        assert!(documentation(&solution).contains(exercise.hint), "{title}");
    }
}

#[test]
fn each_chapter_has_two_or_three() {
    for chapter in 1..=17 {
        let exercises = named(&chapter.to_string()).expect("a chapter");
        assert!((2..=3).contains(&exercises.len()), "chapter {chapter}");
        assert!(
            exercises
                .iter()
                .zip(1..)
                .all(|(exercise, number)| exercise.number == number)
        );
    }
}

fn exercise(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_exercises");
    Command::new(program).args(arguments).output().expect("it starts")
}

#[test]
fn the_program_says_fault_line_counts_and_hint() {
    let output = exercise(&["2.1", "--hint"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(4), "{said}");
    for part in [
        "exercise 2.1: read a tile before it is filled",
        "not yet: SharedRace",
        "examples/exercises/src/ch02_filled.rs",
        "  > ",
        "wavefronts",
        "hint: RAW",
    ] {
        assert!(said.contains(part), "{part}:\n{said}");
    }
    let solved = exercise(&["2", "--solution"]);
    let said = String::from_utf8_lossy(&solved.stdout).into_owned();
    assert_eq!(
        (solved.status.code(), said.matches("right: ").count()),
        (Some(0), 3),
        "{said}"
    );
    assert!(exercise(&[]).status.success());
}

#[test]
fn a_wrong_name_is_one_line_and_exit_code_2() {
    for arguments in [&["99"][..], &["3.9"], &["x"], &["1", "--hints"], &["3.1.1"], &[""]] {
        let output = exercise(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.starts_with("error: ") && said.lines().count() == 1, "{said}");
    }
}
