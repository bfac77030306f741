//! `examples/hello-shared` as its reader meets it: a workspace of its own, built and started.

use std::path::Path;
use std::process::{Command, ExitStatus, Output};

/// The exit status that the example documents for "no driver or no GPU".
const UNAVAILABLE: i32 = 3;

/// Runs cargo in the example's folder. What it has in common with this workspace is not compiled again.
fn cargo(arguments: &[&str]) -> (ExitStatus, String, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/hello-shared"))
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name(""),
        )
        .output()
        .expect("cargo starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status, text(stdout), text(stderr))
}

#[test]
fn its_kernels_are_tested_in_the_simulator() {
    let (status, stdout, stderr) = cargo(&["test", "--quiet", "--locked", "--test", "simulator"]);
    assert!(status.success() && stdout.contains("2 passed"), "{stdout}\n{stderr}");
}

#[test]
fn the_example_builds_and_either_runs_or_says_what_is_missing() {
    let (status, stdout, stderr) = cargo(&["run", "--quiet", "--locked"]);
    match status.code() {
        Some(0) => assert_eq!(stdout.matches("as expected").count(), 2, "{stdout}"),
        Some(UNAVAILABLE) => assert_eq!(
            stdout.trim().lines().count(),
            1,
            "one line says what is missing: {stdout}"
        ),
        _ => panic!("{status}\n{stdout}\n{stderr}"),
    }
}
