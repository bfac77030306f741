//! Every test, and an account of those that did not run.

mod programs;

use std::collections::BTreeMap;
use std::ffi::OsString;

use anyhow::{Context, bail};
use programs::Program;
use xshell::{Shell, cmd};

use crate::{browser, build, c_compiler, device_toolchain, root, wheel};

/// What compiles and checks Rust for the GPU, whatever the kernels are: the longer half of all tests, which changes to
/// kernels, planner, simulator and host cannot break.
const COMPILER: [&str; 4] = ["cuda_builder", "device_rust", "device_fuzz", "ptx_interpreter"];

/// Test programs of other packages that belong to them, or build what an outside project would.
const OF_COMPILER: [&str; 3] = [
    "kernels-gpu/tests/device.rs",
    "tests/examples.rs",
    "tests/your_project.rs",
];

/// Runs the tests, several programs at a time, with `all` those of [`COMPILER`] too; or with arguments `cargo test
/// --workspace ARGS`.
pub fn run(sh: &Shell, all: bool, args: &[OsString]) -> anyhow::Result<()> {
    device_toolchain::ensure(sh)?;
    wheel::ensure(sh)?;
    c_compiler::ensure(sh)?;
    browser::ensure(sh);
    if !args.is_empty() {
        return Ok(cmd!(sh, "cargo test --workspace --no-fail-fast {args...}").run()?);
    }
    if all {
        corpus_elsewhere(sh)?;
    }
    let excluded: Vec<&str> = match all {
        true => Vec::new(),
        false => COMPILER.iter().flat_map(|package| ["--exclude", package]).collect(),
    };
    eprintln!("$ cargo test --workspace {}", excluded.join(" "));
    let built = build::cargo(sh, &[&["test", "--workspace", "--no-run"], &excluded[..]].concat())?;
    let mut skipped = Skipped::default();
    let mut failed = Vec::new();
    let mut programs = programs::of(sh, &built)?;
    programs.retain(|program| all || !OF_COMPILER.contains(&program.name()));
    if all {
        programs.extend(faults_with_older_toolchain(sh, &programs, &mut skipped)?);
    }
    for ended in programs::run(programs)? {
        ended.output.lines().for_each(|line| skipped.note(line));
        if !ended.passed {
            failed.push(ended.name);
        }
    }
    // Rustdoc would read the mutants' generated sources for long, and finds no example there.
    if cmd!(
        sh,
        "cargo test --workspace --doc --no-fail-fast --exclude mutants {excluded...}"
    )
    .run()
    .is_err()
    {
        failed.push("documentation".to_owned());
    }
    skipped.report();
    if !all {
        println!(
            "\nnot asked for: the compiler's tests ({}, {}): cargo xtask test --all",
            COMPILER.join(", "),
            OF_COMPILER.join(", ")
        );
    }
    if !failed.is_empty() {
        bail!("tests failed, as shown above: {}", failed.join(", "));
    }
    Ok(())
}

/// The corpus of kernels that our `cuda_std` compiles, with the published one and with the interface of its main
/// branch.
fn corpus_elsewhere(sh: &Shell) -> anyhow::Result<()> {
    // Workspaces of their own, but what they have in common with ours is compiled once.
    let target = root().join("target");
    let published = "compat/corpus-published/Cargo.toml";
    cmd!(
        sh,
        "cargo check --locked --manifest-path {published} --target-dir {target}"
    )
    .run()?;
    let main = "compat/corpus-main/Cargo.toml";
    cmd!(sh, "cargo test --locked --manifest-path {main} --target-dir {target}").run()?;
    Ok(())
}

/// The reduced faults of LLVM once more, with the older toolchain; none where it cannot be installed.
fn faults_with_older_toolchain(
    sh: &Shell,
    programs: &[Program],
    skipped: &mut Skipped,
) -> anyhow::Result<Option<Program>> {
    if let Err(error) = device_toolchain::ensure_older(sh) {
        let reason = format!("Rust {} cannot be installed ({error:#})", device_toolchain::OLDER);
        *skipped.by_reason.entry(reason).or_default() += 1;
        return Ok(None);
    }
    let has_faults = |program: &&Program| program.name() == "compat/cuda_builder/src/lib.rs";
    let program = programs
        .iter()
        .find(has_faults)
        .context("cuda_builder has unit tests")?;
    let again = program.again(
        &format!("faults with Rust {}", device_toolchain::OLDER),
        &["faults"],
        &[("CUDA_BUILDER_TOOLCHAIN", device_toolchain::OLDER)],
    );
    Ok(Some(again))
}

/// Tests that reported themselves as skipped, counted by their reason.
#[derive(Default)]
struct Skipped {
    by_reason: BTreeMap<String, usize>,
    /// Why the test program that is speaking skips all of its tests: `GPU tests skipped: 62 (no CUDA driver: ...)`.
    common_reason: Option<String>,
}

impl Skipped {
    /// Reads one line of a test program's output: `test NAME ... ignored, REASON`, the reason perhaps said before in
    /// common.
    fn note(&mut self, line: &str) {
        if let Some((_, reason)) = line
            .split_once(" tests skipped: ")
            .and_then(|(_, rest)| rest.split_once(" ("))
        {
            self.common_reason = Some(reason.strip_suffix(')').unwrap_or(reason).to_owned());
        } else if line.starts_with("test result: ") {
            self.common_reason = None;
        }
        let Some((name, outcome)) = line.split_once(" ... ") else {
            return;
        };
        let Some(reason) = outcome.trim_start().strip_prefix("ignored") else {
            return;
        };
        // An ignored documentation test is an illustration, not a test that could not run.
        if name.starts_with("test ") && !name.contains(" (line ") {
            let own_reason = Some(reason.trim_start_matches([',', ' ']).trim_end()).filter(|reason| !reason.is_empty());
            let reason = own_reason
                .or(self.common_reason.as_deref())
                .unwrap_or("no reason given");
            *self.by_reason.entry(reason.to_owned()).or_default() += 1;
        }
    }

    fn report(&self) {
        if self.by_reason.is_empty() {
            println!("\nskipped: none");
        }
        for (reason, count) in &self.by_reason {
            println!("\nskipped: {count} test(s): {reason}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Skipped;

    #[test]
    fn skipped_tests_are_counted_by_reason() {
        let mut skipped = Skipped::default();
        for line in [
            "test a ... ignored, too slow",
            "test b   ... ignored",
            "test c ... ok",
            "test src/lib.rs - f (line 3) ... ignored",
            "noise ... ignored, not a test",
            "GPU tests skipped: 2 (no CUDA driver (libcuda.so.1))",
            "test d ... ignored",
            "test e ... ignored",
            "test result: ok. 0 passed; 0 failed; 2 ignored",
            "page tests skipped: 1 (no browser)",
            "test p ... ignored",
            "test result: ok. 0 passed; 0 failed; 1 ignored",
            "test f ... ignored",
        ] {
            skipped.note(line);
        }
        let counts: Vec<_> = skipped
            .by_reason
            .iter()
            .map(|(reason, count)| (reason.as_str(), *count))
            .collect();
        assert_eq!(
            counts,
            [
                ("no CUDA driver (libcuda.so.1)", 2),
                ("no browser", 1),
                ("no reason given", 2),
                ("too slow", 1)
            ]
        );
    }
}
