//! `examples/hello-shared`, `examples/smem-spilling` and `examples/candle` as their readers meet them: workspaces of
//! their own, built and started. And the example `ndarray` of the library.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The exit status that the examples document for "no driver or no GPU".
const UNAVAILABLE: i32 = 3;

/// Runs cargo in the folder of an example: its exit status, what it prints, what it complains of. What the example has
/// in common with this workspace is not compiled again.
fn cargo(example: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut command = Command::new(env!("CARGO"));
    match example {
        // On a GPU it would measure for minutes in a debug build.
        "smem-spilling" => command.env("CUDA_VISIBLE_DEVICES", ""),
        // The kernels' PTX takes minutes, and is tested elsewhere.
        "candle" => command.env("TILEWRIGHT_WITHOUT_PTX", "1"),
        _ => &mut command,
    };
    run(command
        .args(arguments)
        .current_dir(examples.join(example))
        .env("CARGO_TARGET_DIR", in_target("")))
}

/// A path in the target folder of this workspace.
fn in_target(path: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name(path)
}

/// Runs a program: its exit status, what it prints, what it complains of.
fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn the_kernels_of_hello_shared_are_tested_in_the_simulator() {
    let (status, stdout, stderr) = cargo("hello-shared", &["test", "--quiet", "--locked", "--test", "simulator"]);
    assert!(status == Some(0) && stdout.contains("3 passed"), "{stdout}\n{stderr}");
}

#[test]
fn the_kernels_of_hello_shared_have_the_property_that_their_test_states() {
    let (status, stdout, stderr) = cargo("hello-shared", &["test", "--quiet", "--locked", "--test", "property"]);
    assert!(status == Some(0) && stdout.contains("1 passed"), "{stdout}\n{stderr}");
}

#[test]
fn hello_shared_builds_and_either_runs_or_says_what_is_missing() {
    let (status, stdout, stderr) = cargo("hello-shared", &["run", "--quiet", "--locked"]);
    match status {
        Some(0) => assert_eq!(stdout.matches("as expected").count(), 2, "{stdout}"),
        Some(UNAVAILABLE) => assert_eq!(
            stdout.trim().lines().count(),
            1,
            "one line says what is missing: {stdout}"
        ),
        _ => panic!("{status:?}\n{stdout}\n{stderr}"),
    }
}

#[test]
fn products_of_ndarray_matrices_are_those_of_ndarray() {
    // Readers call `cargo run -p tilewright`. That selects features for one package, with which dozens of crates would
    // be compiled once more; that the library builds by itself is the subject of your_project.rs.
    let (status, _, stderr) = cargo(
        "..",
        &["build", "--quiet", "--locked", "--workspace", "--example", "ndarray"],
    );
    assert_eq!(status, Some(0), "{stderr}");
    let (status, stdout, stderr) = run(&mut Command::new(in_target("debug/examples/ndarray")));
    assert_eq!(
        (status, stdout.matches("equal to").count()),
        (Some(0), 5),
        "{stdout}\n{stderr}"
    );
}

#[test]
fn the_tests_of_smem_spilling_pass() {
    let (status, stdout, stderr) = cargo("smem-spilling", &["test", "--quiet", "--locked", "--workspace"]);
    assert!(status == Some(0), "{stdout}\n{stderr}");
    // In the library, on the PTX, in the simulator; the program has none.
    assert!(stdout.matches("test result: ok. ").count() >= 4, "{stdout}");
}

#[test]
fn smem_spilling_without_a_gpu_shows_the_record_and_says_what_is_missing() {
    let (status, stdout, stderr) = cargo("smem-spilling", &["run", "--quiet", "--locked"]);
    assert_eq!(status, Some(UNAVAILABLE), "{stdout}\n{stderr}");
    assert!(stdout.starts_with("sm_90, by ptxas"), "{stdout}");
    assert_eq!(stdout.matches("| inverse8_128_72_shared_f32 ").count(), 2, "{stdout}");
    let last = stdout.lines().last().unwrap_or_default();
    assert!(last.starts_with("Nothing was launched: "), "{stdout}");
}

#[test]
fn the_tests_of_candle_pass() {
    let (status, stdout, stderr) = cargo("candle", &["test", "--quiet", "--locked", "--tests"]);
    assert!(status == Some(0), "{stdout}\n{stderr}");
    // Of the block and of the op; library and program have none.
    assert!(stdout.matches("test result: ok. ").count() >= 4, "{stdout}");
}

#[test]
fn a_block_of_candle_without_a_gpu_agrees_and_says_where_it_ran() {
    let (status, stdout, stderr) = cargo("candle", &["run", "--quiet", "--locked"]);
    assert_eq!(status, Some(0), "{stdout}\n{stderr}");
    assert!(stdout.starts_with("The products run on the CPU: "), "{stdout}");
    // Six products of three types, and what becomes of each type.
    assert_eq!(stdout.matches(" cpu_tiled ").count(), 18, "{stdout}");
    let readme = include_str!("../examples/candle/README.md");
    for line in stdout.lines().filter(|line| line.contains(" cpu_tiled ")) {
        assert!(readme.contains(line), "the README lacks: {line}");
    }
    assert_eq!(stdout.matches(" within |").count(), 3, "{stdout}");
}
