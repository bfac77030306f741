//! `examples/hello-shared` as its reader meets it: a workspace of its own, built and started.

use std::path::Path;
use std::process::{Command, Output};

/// The exit status that the example documents for "no driver or no GPU".
const UNAVAILABLE: i32 = 3;

#[test]
fn the_example_builds_and_either_runs_or_says_what_is_missing() {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--locked"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/hello-shared"))
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("hello-shared"),
        )
        .output()
        .expect("cargo starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
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
