//! Random programs of a fixed seed, and every finding that was kept: host and device must agree.

use std::env;

use device_fuzz::compare::{Finding, compare};
use device_fuzz::device::Options;
use device_fuzz::findings;
use device_fuzz::generator::{Program, generate};
use device_fuzz::inputs::inputs;

const SEED: u64 = 16;
const PROGRAMS: u64 = 300;
/// Crates that are compiled at the same time.
const JOBS: u64 = 2;

/// Each test has a folder of its own; `DEVICE_FUZZ_TOOLCHAIN` names another toolchain than the repository's.
fn options(name: &str) -> Options {
    let mut options = Options {
        toolchain: env::var("DEVICE_FUZZ_TOOLCHAIN").ok(),
        ..Options::default()
    };
    options.folder.push(name);
    options
}

fn text(findings: &[Finding]) -> String {
    let lines = findings.iter().map(|finding| {
        format!(
            "{} ({}): {}",
            finding.program.name,
            finding.program.features.join(", "),
            finding.difference
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn random_programs_agree() {
    let found: Vec<Finding> = std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..JOBS)
            .map(|job| {
                scope.spawn(move || {
                    let numbers = (0..PROGRAMS).filter(|number| number % JOBS == job);
                    let (programs, inputs): (Vec<Program>, Vec<Vec<u64>>) = numbers
                        .map(|number| (generate(SEED, number, &[]), inputs(SEED, number)))
                        .unzip();
                    compare(&programs, &inputs, &options(&format!("test{job}"))).unwrap()
                })
            })
            .collect();
        jobs.into_iter().flat_map(|job| job.join().unwrap()).collect()
    });
    assert!(
        found.is_empty(),
        "{}\nReduce one: cargo run -p device_fuzz -- --seed {SEED} --first NUMBER --programs 1",
        text(&found)
    );
}

#[test]
fn kept_findings_agree() {
    let kept = findings::read(&findings::folder()).unwrap();
    assert!(!kept.is_empty());
    let programs: Vec<Program> = kept.iter().map(|kept| kept.program.clone()).collect();
    let inputs: Vec<Vec<u64>> = kept.iter().map(|kept| kept.inputs.clone()).collect();
    let found = compare(&programs, &inputs, &options("findings")).unwrap();
    for kept in &kept {
        let finding = found.iter().find(|finding| finding.program.name == kept.program.name);
        match (&kept.open, finding) {
            (None, None) | (Some(_), Some(_)) => {}
            (None, Some(finding)) => panic!("{}: {}", kept.program.name, finding.difference),
            (Some(why), None) => panic!("{} agrees; remove its line `//! Open: {why}`", kept.program.name),
        }
    }
}

#[test]
fn a_seed_gives_the_same_programs() {
    let program = generate(SEED, 7, &[]);
    assert_eq!(program, generate(SEED, 7, &[]));
    assert_ne!(program.tree, generate(SEED, 8, &[]).tree);
    assert_eq!(inputs(SEED, 7), inputs(SEED, 7));
}
